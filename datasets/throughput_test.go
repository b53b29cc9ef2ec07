package datasets

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// throughputs returns a small valid table with every column in use.
func throughputs() *ThroughputTable {
	return &ThroughputTable{
		Name: "t.parquet",
		Meta: Meta{
			SchemaVersion: ThroughputVersion, Source: "made up", Licence: "CC0-1.0", SourceSHA256: strings.Repeat("cd", 32),
			Filters: []string{"dropped 1 row: not measured"}, RowsIn: 5,
		},
		Rows: []ThroughputRow{
			{
				Source: "a", Model: "LM", Dataset: "WikiText-2", GPUType: "V100", GPUs: 1, Nodes: 1, Placement: "1", Batch: 20, GlobalBatch: 20,
				Plan: env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 20}, StepsPerSecond: 60.5, MemGiB: 3.25, Quality: Measured,
			},
			{Source: "a", Model: "LM", GPUType: "V100", GPUs: 16, Nodes: 4, Placement: "4+4+4+4", Quality: Measured, OutOfMemory: true},
			{
				Source: "b", Model: "größer", GPUType: "GH200", GPUs: 8, GlobalBatch: 4,
				Plan: env.Plan{Data: 2, Tensor: 2, Pipeline: 2, ZeRO: 3, Checkpoint: true}, Offload: true, StepsPerSecond: 1e-3, Quality: Modelled,
			},
			{Source: "b", Model: "LM", GPUType: "K80", GPUs: 1_000_000, Nodes: 1_000_000, Batch: 5, GlobalBatch: 5_000_000, StepsPerSecond: 1, Quality: Measured},
		},
	}
}

// throughputTables generates valid tables with any combination of nulls.
func throughputTables(most int) *rapid.Generator[*ThroughputTable] {
	name := rapid.SampledFrom([]string{"LM", "größe", strings.Repeat("x", MaxName), "a\x00b"})
	maybe := rapid.SampledFrom([]string{"", "x", "größe"})
	row := rapid.Custom(func(t *rapid.T) ThroughputRow {
		r := ThroughputRow{
			Source: name.Draw(t, "source"), Model: name.Draw(t, "model"), GPUType: name.Draw(t, "gpu"), Dataset: maybe.Draw(t, "dataset"),
			Quality: rapid.SampledFrom([]Quality{Measured, Modelled}).Draw(t, "quality"),
			MemGiB:  rapid.Float64Range(0, maxMemoryGiB).Draw(t, "mem"),
		}
		if r.OutOfMemory = rapid.Bool().Draw(t, "oom"); !r.OutOfMemory {
			r.StepsPerSecond = rapid.Float64Range(math.SmallestNonzeroFloat64, maxRate).Draw(t, "rate")
		}
		degree := rapid.IntRange(1, 40)
		p := env.Plan{Data: degree.Draw(t, "d"), Tensor: degree.Draw(t, "t"), Pipeline: degree.Draw(t, "p")}
		r.GPUs = int32(p.Data * p.Tensor * p.Pipeline)
		if rapid.Bool().Draw(t, "planned") {
			p.MicroBatch, p.ZeRO = rapid.IntRange(0, maxPlanned).Draw(t, "micro"), rapid.IntRange(0, 3).Draw(t, "zero")
			p.Checkpoint, r.Offload = rapid.Bool().Draw(t, "checkpoint"), rapid.Bool().Draw(t, "offload")
			r.Plan = p
		}
		switch rapid.IntRange(0, 2).Draw(t, "place") {
		case 1:
			r.Nodes = rapid.Int32Range(1, r.GPUs).Draw(t, "nodes")
		case 2:
			r.Nodes, r.Placement = int32(p.Data), strings.TrimSuffix(strings.Repeat(strconv.Itoa(p.Tensor*p.Pipeline)+"+", p.Data), "+")
		}
		if r.Batch = rapid.Int32Range(0, int32(min(MaxBatch, MaxGlobalBatch/int64(r.GPUs)))).Draw(t, "batch"); r.Batch > 0 {
			r.GlobalBatch = int64(r.Batch) * int64(r.GPUs)
		} else {
			r.GlobalBatch = rapid.Int64Range(0, MaxGlobalBatch).Draw(t, "global")
		}
		return r
	})
	return rapid.Custom(func(t *rapid.T) *ThroughputTable {
		return &ThroughputTable{Meta: Meta{SchemaVersion: ThroughputVersion}, Rows: rapid.SliceOfN(row, 1, most).Draw(t, "rows")}
	})
}

func encodedThroughput(t testing.TB, table *ThroughputTable) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encodeTable(&b, &throughputLayout, table.Meta, table.records(), (*throughputRecord).written); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readThroughputBytes(b []byte) (*ThroughputTable, error) {
	return ReadThroughputFrom(bytes.NewReader(b), int64(len(b)), "t.parquet")
}

func TestThroughputRoundTrip(t *testing.T) {
	want := throughputs()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := WriteThroughput(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadThroughput(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Name = path
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThroughputRoundTripOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := throughputTables(30).Draw(t, "table")
		if err := want.Validate(); err != nil {
			t.Fatal(err)
		}
		var b, again bytes.Buffer
		if err := encodeTable(&b, &throughputLayout, want.Meta, want.records(), (*throughputRecord).written); err != nil {
			t.Fatal(err)
		}
		got, err := readThroughputBytes(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Rows, got.Rows); diff != "" || got.Hash() != want.Hash() {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if err := encodeTable(&again, &throughputLayout, got.Meta, got.records(), (*throughputRecord).written); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Fatal("the same table gave two files")
		}
	})
}

func TestThroughputRoundTripAcrossRowGroups(t *testing.T) {
	want := &ThroughputTable{Meta: Meta{SchemaVersion: ThroughputVersion}}
	for i := range rowsPerGroup + 100 {
		want.Rows = append(want.Rows, ThroughputRow{Source: "s", Model: "LM", GPUType: "V100", GPUs: int32(1 + i%9), StepsPerSecond: float64(i) + 0.5, Quality: Measured})
	}
	got, err := readThroughputBytes(encodedThroughput(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash() != want.Hash() {
		t.Error("the rows changed on the way")
	}
}

// Version 1 must be readable forever: this file is never written again.
func TestReadThroughputVersion1(t *testing.T) {
	got, err := ReadThroughput("testdata/throughput_v1.parquet")
	if err != nil {
		t.Fatal(err)
	}
	want := throughputs()
	want.Name = got.Name
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThroughputValidateNamesRowColumnAndFix(t *testing.T) {
	planned := env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 20}
	tests := []struct {
		name string
		edit func(r *ThroughputRow)
		want RowError // Value and Fix: parts
	}{
		{"no source", func(r *ThroughputRow) { r.Source = "" }, RowError{Column: "source", Value: "null", Fix: "name it"}},
		{"no model", func(r *ThroughputRow) { r.Model = "" }, RowError{Column: "model", Value: "null", Fix: "name it"}},
		{"no GPU type", func(r *ThroughputRow) { r.GPUType = "" }, RowError{Column: "gpu_type", Value: "null", Fix: "name it"}},
		{"huge name", func(r *ThroughputRow) { r.Dataset = strings.Repeat("x", MaxName+1) }, RowError{Column: "dataset", Value: "xxx", Fix: "256 bytes"}},
		{"not UTF-8", func(r *ThroughputRow) { r.Model = "\xff" }, RowError{Column: "model", Fix: "UTF-8"}},
		{"no quality", func(r *ThroughputRow) { r.Quality = "" }, RowError{Column: "quality", Fix: "modelled"}},
		{"no GPUs", func(r *ThroughputRow) { r.GPUs = 0 }, RowError{Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		{"more nodes than GPUs", func(r *ThroughputRow) { r.Nodes = 2 }, RowError{Column: "nodes", Value: "2", Fix: "1 to gpus"}},
		{"negative nodes", func(r *ThroughputRow) { r.Nodes = -1 }, RowError{Column: "nodes", Value: "-1", Fix: "1 to gpus"}},
		{"placement of more GPUs", func(r *ThroughputRow) { r.Placement = "2" }, RowError{Column: "placement", Fix: "1 in all"}},
		{"placement as a number", func(r *ThroughputRow) { r.GPUs, r.Nodes, r.Placement, r.Batch = 16, 4, "4444", 0 }, RowError{Column: "placement", Value: `"4444"`, Fix: "4 nodes"}},
		{"placement of more nodes", func(r *ThroughputRow) { r.Placement, r.Nodes = "1", 0 }, RowError{Column: "placement", Fix: "0 nodes"}},
		{"negative batch", func(r *ThroughputRow) { r.Batch = -1 }, RowError{Column: "batch", Value: "-1", Fix: "or null"}},
		{"batches that disagree", func(r *ThroughputRow) { r.GlobalBatch = 21 }, RowError{Column: "global_batch", Value: "21", Fix: "= 20"}},
		{"huge global batch", func(r *ThroughputRow) { r.Batch, r.GlobalBatch = 0, MaxGlobalBatch+1 }, RowError{Column: "global_batch", Fix: "2^40"}},
		{"half a plan", func(r *ThroughputRow) { r.Plan.Tensor = 0 }, RowError{Column: "tensor", Value: "0", Fix: "all three"}},
		{"no degrees", func(r *ThroughputRow) { r.Plan = env.Plan{ZeRO: 1} }, RowError{Column: "data", Value: "null", Fix: "set the degrees"}},
		{"offload without a plan", func(r *ThroughputRow) { r.Plan, r.Offload = env.Plan{}, true }, RowError{Column: "data", Value: "null", Fix: "set the degrees"}},
		{"degrees of other GPUs", func(r *ThroughputRow) { r.GPUs, r.Batch, r.Nodes, r.Placement = 2, 0, 0, "" }, RowError{Column: "data", Value: "1 × 1 × 1", Fix: "gpus, 2"}},
		{"negative micro-batch", func(r *ThroughputRow) { r.Plan.MicroBatch = -1 }, RowError{Column: "micro_batch", Value: "-1", Fix: "null"}},
		{"ZeRO stage 4", func(r *ThroughputRow) { r.Plan.ZeRO = 4 }, RowError{Column: "zero", Value: "4", Fix: "stage 1 to 3"}},
		{"no speed", func(r *ThroughputRow) { r.StepsPerSecond = 0 }, RowError{Column: "steps_per_s", Value: "null", Fix: "leave out what was not measured"}},
		{"speed without memory", func(r *ThroughputRow) { r.OutOfMemory = true }, RowError{Column: "steps_per_s", Value: "60.5", Fix: "want null"}},
		{"NaN speed", func(r *ThroughputRow) { r.StepsPerSecond = math.NaN() }, RowError{Column: "steps_per_s", Value: "NaN", Fix: "> 0"}},
		{"endless memory", func(r *ThroughputRow) { r.MemGiB = math.Inf(1) }, RowError{Column: "mem_gib", Value: "+Inf", Fix: "GiB"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := throughputs()
			if table.Rows[0].Plan != planned {
				t.Fatal("the tests want another first row")
			}
			test.edit(&table.Rows[0])
			test.want.Row = 1
			checkRowError(t, table.Validate(), "t.parquet", test.want)
			if err := table.Rows[0].Validate(); err == nil {
				t.Error("the row by itself was accepted")
			}
			path := filepath.Join(t.TempDir(), "bad.parquet")
			if err := WriteThroughput(path, table); err == nil {
				t.Error("a bad table was written")
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("left a file behind (%v)", err)
			}
		})
	}
	checkRowError(t, (&ThroughputTable{Name: "t.parquet"}).Validate(), "t.parquet", RowError{Value: "no rows", Fix: "filters"})
	many := &ThroughputTable{Rows: make([]ThroughputRow, 1000)}
	if got := strings.Count(many.Validate().Error(), "\n") + 1; got != maxReported {
		t.Errorf("got %d lines for 1000 bad rows, want %d", got, maxReported)
	}
	if err := throughputs().Rows[0].Validate(); err != nil {
		t.Errorf("a good row: %v", err)
	}
}

func TestParsePlacement(t *testing.T) {
	for s, want := range map[string][2]int32{"1": {1, 1}, "4+4": {8, 2}, "1+12+3": {16, 3}} {
		if gpus, nodes, ok := ParsePlacement(s); !ok || gpus != want[0] || nodes != want[1] {
			t.Errorf("%q: got %d GPUs on %d nodes, %v, want %v", s, gpus, nodes, ok, want)
		}
	}
	for _, s := range []string{"", "+", "4+", "0", "4+0", "-1", "+4", "4 + 4", "04", "1000001", "999999+2", "x"} {
		if _, _, ok := ParsePlacement(s); ok {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestThroughputHashDependsOnEveryField(t *testing.T) {
	want := throughputs().Hash()
	same := throughputs()
	same.Name, same.Meta = "other", Meta{}
	if same.Hash() != want {
		t.Error("metadata changed the hash")
	}
	edits := []func(*ThroughputRow){
		func(r *ThroughputRow) { r.Source += "x" }, func(r *ThroughputRow) { r.Model += "x" }, func(r *ThroughputRow) { r.Dataset += "x" },
		func(r *ThroughputRow) { r.GPUType += "x" }, func(r *ThroughputRow) { r.GPUs++ }, func(r *ThroughputRow) { r.Nodes++ },
		func(r *ThroughputRow) { r.Placement += "x" }, func(r *ThroughputRow) { r.Batch++ }, func(r *ThroughputRow) { r.GlobalBatch++ },
		func(r *ThroughputRow) { r.Plan.Data++ }, func(r *ThroughputRow) { r.Plan.Tensor++ }, func(r *ThroughputRow) { r.Plan.Pipeline++ },
		func(r *ThroughputRow) { r.Plan.MicroBatch++ }, func(r *ThroughputRow) { r.Plan.ZeRO++ }, func(r *ThroughputRow) { r.Plan.Checkpoint = true },
		func(r *ThroughputRow) { r.Offload = true }, func(r *ThroughputRow) { r.StepsPerSecond++ }, func(r *ThroughputRow) { r.MemGiB++ },
		func(r *ThroughputRow) { r.Quality = Modelled }, func(r *ThroughputRow) { r.OutOfMemory = true },
		func(r *ThroughputRow) { r.Model, r.Dataset = "", r.Model+r.Dataset },
	}
	for i, edit := range edits {
		table := throughputs()
		edit(&table.Rows[0])
		if table.Hash() == want {
			t.Errorf("edit %d did not change the hash", i)
		}
	}
}

// minimalThroughput is a table as another program may write it.
type minimalThroughput struct {
	Source  string   `parquet:"source"`
	Model   string   `parquet:"model"`
	GPUType string   `parquet:"gpu_type,optional"`
	GPUs    int32    `parquet:"gpus"`
	Rate    *float64 `parquet:"steps_per_s,optional"`
	Quality string   `parquet:"quality"`
	OOM     int32    `parquet:"oom"`
}

func goodThroughput() minimalThroughput {
	return minimalThroughput{"s", "LM", "V100", 2, new(1.5), "measured", 0}
}

func TestReadThroughputTakesOtherWritersLayouts(t *testing.T) {
	want := []ThroughputRow{{Source: "s", Model: "LM", GPUType: "V100", GPUs: 2, StepsPerSecond: 1.5, Quality: Measured}}
	for name, options := range map[string][]parquet.WriterOption{
		"default": nil, "pages v1": {parquet.DataPageVersion(1)}, "snappy": {parquet.Compression(&parquet.Snappy)},
		"table named": {parquet.KeyValueMetadata(keyTable, "throughput")},
	} {
		got, err := readThroughputBytes(foreign(t, []minimalThroughput{goodThroughput()}, options...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReadThroughputRefusesBadInput(t *testing.T) {
	edited := func(edit func(*minimalThroughput), options ...parquet.WriterOption) []byte {
		bad := goodThroughput()
		edit(&bad)
		return foreign(t, []minimalThroughput{goodThroughput(), bad}, options...)
	}
	none := func(*minimalThroughput) {}
	jobs := encoded(t, example())
	tests := []struct {
		name string
		file []byte
		want RowError
	}{
		{"empty", nil, RowError{Value: "empty", Fix: "import"}},
		{"text", []byte("model,gpus\nLM,1\n"), RowError{Value: "not a Parquet file", Fix: "import"}},
		{"a table of jobs", jobs, RowError{Value: `"jobs"`, Fix: "want a throughput table"}},
		{"a newer version", edited(none, parquet.KeyValueMetadata(keyVersion, "2")), RowError{Value: "is 2", Fix: "up to 1"}},
		{"a version in words", edited(none, parquet.KeyValueMetadata(keyVersion, "one")), RowError{Value: `"one"`, Fix: "whole number"}},
		{"filters that are no list", edited(none, parquet.KeyValueMetadata(keyFilters, "x")), RowError{Value: `"x"`, Fix: "JSON"}},
		{"a missing column", foreign(t, []struct {
			Source string `parquet:"source"`
		}{{"s"}}), RowError{Column: "model", Value: "missing", Fix: "string"}},
		{"another type", foreign(t, []struct {
			Source int32 `parquet:"source"`
		}{{1}}), RowError{Column: "source", Value: "int32", Fix: "want string"}},
		{"an unknown column", foreign(t, []struct {
			minimalThroughput
			Speed float64 `parquet:"speed"`
		}{{goodThroughput(), 1}}), RowError{Column: `"speed"`, Value: "unknown", Fix: "mem_gib"}},
		{"a nested column", foreign(t, []struct {
			minimalThroughput
			Plan struct {
				Data int32 `parquet:"data"`
			} `parquet:"plan"`
		}{{minimalThroughput: goodThroughput()}}), RowError{Column: `"plan"`, Value: "a group", Fix: "a throughput table has no nested columns"}},
		{"a zero for a null", edited(func(r *minimalThroughput) { r.Rate = new(0.0) }), RowError{Row: 2, Column: "steps_per_s", Value: "0", Fix: "null"}},
		{"a flag of 2", edited(func(r *minimalThroughput) { r.OOM = 2 }), RowError{Row: 2, Column: "oom", Value: "2", Fix: "0 or 1"}},
		{"no GPU type", edited(func(r *minimalThroughput) { r.GPUType = "" }), RowError{Row: 2, Column: "gpu_type", Value: "null", Fix: "set it"}},
		{"a huge name", edited(func(r *minimalThroughput) { r.Model = strings.Repeat("x", 300) }), RowError{Row: 2, Column: "model", Fix: "256 bytes"}},
		{"a bad value", edited(func(r *minimalThroughput) { r.GPUs = -1 }), RowError{Row: 2, Column: "gpus", Value: "-1", Fix: "1 to 1000000"}},
		{"another quality", edited(func(r *minimalThroughput) { r.Quality = "guessed" }), RowError{Row: 2, Column: "quality", Value: "guessed", Fix: "modelled"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := readThroughputBytes(test.file)
			checkRowError(t, err, "t.parquet", test.want)
		})
	}
	// The other way round, a reader of jobs refuses a throughput table.
	_, err := readBytes(encodedThroughput(t, throughputs()))
	checkRowError(t, err, "t.parquet", RowError{Value: "throughput", Fix: "jobs table"})
	if _, err := ReadThroughput(t.TempDir()); err == nil {
		t.Error("a folder was read")
	}
	if _, err := ReadThroughput(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v of a file that is not there", err)
	}
	_, err = ReadThroughputFrom(panicReader{bytes.NewReader(jobs)}, int64(len(jobs)), "t.parquet")
	checkRowError(t, err, "t.parquet", RowError{Value: "boom", Fix: "again"})
}

func TestReadThroughputRefusesEveryTruncation(t *testing.T) {
	whole := encodedThroughput(t, throughputs())
	for n := 0; n < len(whole); n += 1 + n/200 {
		if _, err := readThroughputBytes(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were read without an error", n, len(whole))
		}
	}
}

// A flipped byte gives an error or, in what is only information, the same rows.
func TestReadThroughputSurvivesFlippedBytes(t *testing.T) {
	whole := encodedThroughput(t, throughputs())
	want := throughputs().Hash()
	refused, tried := 0, 0
	for i := 0; i < len(whole); i += 3 {
		bad := bytes.Clone(whole)
		bad[i] ^= 1 << (i % 8)
		table, err := readThroughputBytes(bad)
		tried++
		if err != nil {
			refused++
			if _, ok := errors.AsType[*RowError](err); !ok || strings.Contains(err.Error(), "\n") {
				t.Errorf("byte %d: got %v, want a RowError of one line", i, err)
			}
			continue
		}
		if table.Hash() != want {
			t.Errorf("byte %d: other rows without an error", i)
		}
	}
	if refused < tried/4 {
		t.Errorf("only %d of %d damaged files were refused", refused, tried)
	}
}

func FuzzReadThroughput(f *testing.F) {
	whole := encodedThroughput(f, throughputs())
	f.Add([]byte("PAR1"))
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add(foreign(f, []minimalThroughput{goodThroughput()}))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := readThroughputBytes(b)
		if err != nil {
			if _, ok := errors.AsType[*RowError](err); !ok || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want a RowError of one line", err)
			}
			return
		}
		again, err := readThroughputBytes(encodedThroughput(t, table))
		if err != nil || again.Hash() != table.Hash() {
			t.Fatalf("the table does not survive a round trip: %v", err)
		}
	})
}
