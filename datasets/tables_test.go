package datasets

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// Small valid tables with every column in use, and null where it may be.

func colocations() *ColocationTable {
	return &ColocationTable{
		Name: "t.parquet",
		Meta: Meta{SchemaVersion: ColocationVersion, Source: "made up", Licence: "CC0-1.0", SourceSHA256: strings.Repeat("cd", 32), RowsIn: 5},
		Rows: []ColocationRow{
			{
				Source: "a", GPUType: "V100", GPUs: 2, Nodes: 1, Quality: Measured,
				A: Tenancy{Model: "LM", Batch: 20, StepsPerSecond: 60.5, Isolated: 120, MemGiB: 3.25},
				B: Tenancy{Model: "größer", Batch: 128, StepsPerSecond: 1e-3, Isolated: 2, MemGiB: 12},
			},
			{Source: "b", GPUType: "K80", GPUs: 1, Quality: Modelled, A: Tenancy{Model: "LM"}, B: Tenancy{Model: "LM", StepsPerSecond: 1}},
		},
	}
}

func nodes() *NodeTable {
	return &NodeTable{
		Name: "t.parquet",
		Meta: Meta{SchemaVersion: NodesVersion, Source: "made up", Licence: "CC0-1.0", Filters: []string{"dropped 1 row: sum"}, RowsIn: 6},
		Rows: []NodeRow{
			{Source: "a", Cluster: "west", Node: "n1", GPUType: "V100", Nodes: 1, GPUs: 8, CPUs: 96, MemGiB: 384},
			{Source: "a", Cluster: "west", GPUType: "T4", Nodes: 3, GPUs: 6, CPUs: 0.5},
			{Source: "a", Cluster: "west", Node: "n5", Nodes: 1, CPUs: 32, MemGiB: 0.25},
			{Source: "b", Cluster: "östlich", GPUs: 1022},
		},
	}
}

func quotas() *QuotaTable {
	return &QuotaTable{
		Name: "t.parquet",
		Meta: Meta{
			SchemaVersion: QuotasVersion, Source: "made up", Licence: "CC0-1.0", RowsIn: 9, Zone: "Asia/Shanghai (assumed)",
			Epoch: time.Date(2020, 4, 1, 0, 0, 0, 0, time.FixedZone("", 8*3600)),
		},
		Rows: []QuotaRow{
			{Source: "a", Tenant: "x", GPUs: 16},
			{Source: "a", Cluster: "west", Tenant: "x", GPUs: 8},
			{Source: "a", Cluster: "west", Tenant: "x", GPUType: "V100", GPUs: 4},
			{Source: "a", Cluster: "west", Tenant: "x", From: 24 * time.Hour},
			{Source: "a", Tenant: "x", From: 48 * time.Hour, GPUs: MaxGPUs},
		},
	}
}

// kind is what the tests of a table need of it.
type kind struct {
	table Table // small and valid
	file  string
	// read reads a table of this kind and no other.
	read func(r io.ReaderAt, size int64, name string) (Table, error)
}

func kinds() []kind {
	return []kind{
		{colocations(), "colocation_v1.parquet", func(r io.ReaderAt, size int64, name string) (Table, error) {
			return asTable(ReadColocationFrom(r, size, name))
		}},
		{nodes(), "cluster_nodes_v1.parquet", func(r io.ReaderAt, size int64, name string) (Table, error) {
			return asTable(ReadNodesFrom(r, size, name))
		}},
		{quotas(), "quotas_v1.parquet", func(r io.ReaderAt, size int64, name string) (Table, error) {
			return asTable(ReadQuotasFrom(r, size, name))
		}},
		{decisions(), "decisions_v1.parquet", func(r io.ReaderAt, size int64, name string) (Table, error) {
			return asTable(ReadDecisionsFrom(r, size, name))
		}},
	}
}

// fileOf returns the file that a table is written to.
func fileOf(t testing.TB, table Table) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := table.Write(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func (k *kind) bytes(b []byte) (Table, error) {
	return k.read(bytes.NewReader(b), int64(len(b)), "t.parquet")
}

func TestTablesRoundTrip(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.table.Kind(), func(t *testing.T) {
			file := fileOf(t, k.table)
			got, err := k.bytes(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(k.table, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Hash() != k.table.Hash() || !bytes.Equal(file, fileOf(t, got)) {
				t.Error("the same table gave another hash or file")
			}
			if got.Kind() != k.table.Kind() || got.Len() != k.table.Len() || got.Metadata().Source != "made up" {
				t.Errorf("got a %s table of %d rows", got.Kind(), got.Len())
			}
		})
	}
}

// Version 1 must be readable forever: these files are never written again.
func TestReadVersion1OfTables(t *testing.T) {
	for _, k := range kinds() {
		path := filepath.Join("testdata", k.file)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.bytes(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(k.table, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", k.file, diff)
		}
		if again, err := ReadTable(path); err != nil || again.Hash() != got.Hash() || again.Kind() != k.table.Kind() {
			t.Errorf("%s: ReadTable gives %v, %v", k.file, again, err)
		}
	}
}

func TestReadTableTellsKinds(t *testing.T) {
	for path, want := range map[string]string{"jobs_v1.parquet": KindJobs, "throughput_v1.parquet": KindThroughput, "duckdb.parquet": KindJobs} {
		table, err := ReadTable(filepath.Join("testdata", path))
		if err != nil || table.Kind() != want {
			t.Errorf("%s: got %v, %v, want a %s table", path, table, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, bytes.ReplaceAll(fileOf(t, quotas()), []byte("\x06quotas"), []byte("\x06quotes")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ReadTable(path)
	checkRowError(t, err, path, RowError{Value: `"quotes"`, Fix: "want one of jobs, throughput, colocation, cluster_nodes, quotas, decisions"})
	for _, bad := range []string{filepath.Join("testdata", "none"), "testdata"} {
		if table, err := ReadTable(bad); err == nil || table != nil {
			t.Errorf("%s: got %v, %v", bad, table, err)
		}
	}
}

// Each reader refuses the other tables by name.
func TestReadersRefuseOtherTables(t *testing.T) {
	jobs := encoded(t, example())
	for _, k := range kinds() {
		_, err := k.bytes(jobs)
		checkRowError(t, err, "t.parquet", RowError{Value: `"jobs"`, Fix: "want a " + k.table.Kind() + " table"})
		_, err = readBytes(fileOf(t, k.table))
		checkRowError(t, err, "t.parquet", RowError{Value: k.table.Kind(), Fix: "want a jobs table"})
		_, err = k.bytes([]byte("a,b\n"))
		checkRowError(t, err, "t.parquet", RowError{Value: "not a Parquet file", Fix: "import"})
	}
}

// Times of a data frame are not taken for nanoseconds.
func TestTablesRefuseOtherUnits(t *testing.T) {
	file := foreign(t, []struct {
		Source string `parquet:"source"`
		Tenant string `parquet:"tenant"`
		From   int64  `parquet:"from_ns,timestamp(microsecond)"`
		GPUs   int32  `parquet:"gpus"`
	}{{"s", "t", 1, 1}})
	_, err := ReadQuotasFrom(bytes.NewReader(file), int64(len(file)), "t.parquet")
	checkRowError(t, err, "t.parquet", RowError{Column: "from_ns", Value: "annotated TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)", Fix: "plain whole numbers"})
}

func TestTablesRefuseEveryTruncationAndFlippedByte(t *testing.T) {
	for _, k := range kinds() {
		whole, want := fileOf(t, k.table), k.table.Hash()
		for n := 0; n < len(whole); n += 1 + n/200 {
			if _, err := k.bytes(whole[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were read", k.table.Kind(), n, len(whole))
			}
		}
		for i := 0; i < len(whole); i += 3 {
			bad := bytes.Clone(whole)
			bad[i] ^= 1 << (i % 8)
			table, err := k.bytes(bad)
			if err == nil && table.Hash() != want {
				t.Errorf("%s: byte %d: other rows without an error", k.table.Kind(), i)
			}
			if _, ok := errors.AsType[*RowError](err); err != nil && (!ok || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: byte %d: got %v, want a RowError of one line", k.table.Kind(), i, err)
			}
		}
	}
}

func TestTablesValidateNamesRowColumnAndFix(t *testing.T) {
	pair := func(edit func(*ColocationRow)) Table { x := colocations(); edit(&x.Rows[0]); return x }
	node := func(edit func(*NodeRow)) Table { x := nodes(); edit(&x.Rows[0]); return x }
	quota := func(edit func(*QuotaRow)) Table { x := quotas(); edit(&x.Rows[0]); return x }
	long := strings.Repeat("x", MaxName+1)
	for name, test := range map[string]struct {
		table Table
		want  RowError
	}{
		"pair without a source":     {pair(func(r *ColocationRow) { r.Source = "" }), RowError{Column: "source", Value: "null", Fix: "name it"}},
		"pair without a model":      {pair(func(r *ColocationRow) { r.B.Model = "" }), RowError{Column: "model_b", Value: "null", Fix: "name it"}},
		"pair with a long name":     {pair(func(r *ColocationRow) { r.GPUType = long }), RowError{Column: "gpu_type", Fix: "256 bytes"}},
		"pair on no GPU":            {pair(func(r *ColocationRow) { r.GPUs = 0 }), RowError{Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		"pair on more nodes":        {pair(func(r *ColocationRow) { r.Nodes = 3 }), RowError{Column: "nodes", Value: "3", Fix: "1 to gpus"}},
		"pair of no quality":        {pair(func(r *ColocationRow) { r.Quality = "" }), RowError{Column: "quality", Fix: "modelled"}},
		"pair with a bad batch":     {pair(func(r *ColocationRow) { r.A.Batch = -1 }), RowError{Column: "batch_a", Value: "-1", Fix: "null"}},
		"pair with a bad speed":     {pair(func(r *ColocationRow) { r.B.StepsPerSecond = math.NaN() }), RowError{Column: "steps_per_s_b", Value: "NaN", Fix: "out of memory"}},
		"pair isolated for ever":    {pair(func(r *ColocationRow) { r.A.Isolated = math.Inf(1) }), RowError{Column: "isolated_steps_per_s_a", Value: "+Inf", Fix: "null"}},
		"pair with negative memory": {pair(func(r *ColocationRow) { r.B.MemGiB = -1 }), RowError{Column: "mem_gib_b", Value: "-1", Fix: "GiB"}},

		"node without a cluster":     {node(func(r *NodeRow) { r.Cluster = "" }), RowError{Column: "cluster", Value: "null", Fix: "name it"}},
		"negative nodes":             {node(func(r *NodeRow) { r.Nodes = -1 }), RowError{Column: "nodes", Value: "-1", Fix: "null"}},
		"negative GPUs":              {node(func(r *NodeRow) { r.GPUs = -1 }), RowError{Column: "gpus", Value: "-1", Fix: "0 to 1000000"}},
		"nodes that are not alike":   {node(func(r *NodeRow) { r.Node, r.Nodes = "", 3 }), RowError{Column: "gpus", Value: "8", Fix: "multiple"}},
		"a name for two nodes":       {node(func(r *NodeRow) { r.Nodes = 2 }), RowError{Column: "nodes", Value: "2", Fix: "want 1"}},
		"a GPU type without GPUs":    {node(func(r *NodeRow) { r.GPUs = 0 }), RowError{Column: "gpu_type", Value: "V100", Fix: "null"}},
		"node with bad cores":        {node(func(r *NodeRow) { r.CPUs = math.NaN() }), RowError{Column: "cpus", Value: "NaN", Fix: "cores"}},
		"node with negative memory":  {node(func(r *NodeRow) { r.MemGiB = -1 }), RowError{Column: "mem_gib", Value: "-1", Fix: "GiB"}},
		"node with a name not UTF-8": {node(func(r *NodeRow) { r.Node = "\xff" }), RowError{Column: "node", Fix: "UTF-8"}},

		"quota without a tenant":   {quota(func(r *QuotaRow) { r.Tenant = "" }), RowError{Column: "tenant", Value: "null", Fix: "name it"}},
		"quota before the epoch":   {quota(func(r *QuotaRow) { r.From = -1 }), RowError{Column: "from_ns", Value: "-1", Fix: "100 years"}},
		"quota of too many GPUs":   {quota(func(r *QuotaRow) { r.GPUs = MaxGPUs + 1 }), RowError{Column: "gpus", Fix: "0 to 1000000"}},
		"quotas that are no order": {&QuotaTable{Rows: []QuotaRow{{Source: "a", Tenant: "y"}, {Source: "a", Tenant: "x"}}}, RowError{Row: 2, Column: "from_ns", Fix: "sort the rows"}},
		"a quota there twice":      {&QuotaTable{Rows: []QuotaRow{{Source: "a", Tenant: "x"}, {Source: "b", Tenant: "x"}}}, RowError{Row: 2, Column: "from_ns", Fix: "each once"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.want.Row == 0 {
				test.want.Row = 1
			}
			file := "t.parquet"
			if strings.HasPrefix(name, "quotas that") || strings.HasPrefix(name, "a quota there") {
				file = ""
			}
			checkRowError(t, test.table.Validate(), file, test.want)
			path := filepath.Join(t.TempDir(), "bad.parquet")
			if err := test.table.Write(path); err == nil {
				t.Error("a bad table was written")
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("left a file behind (%v)", err)
			}
		})
	}
	for _, empty := range []Table{&ColocationTable{Name: "e"}, &NodeTable{Name: "e"}, &QuotaTable{Name: "e"}, &DecisionTable{Name: "e"}} {
		checkRowError(t, empty.Validate(), "e", RowError{Value: "no rows", Fix: "filters"})
	}
	for _, err := range []error{colocations().Rows[0].Validate(), nodes().Rows[0].Validate(), quotas().Rows[0].Validate()} {
		if err != nil {
			t.Errorf("a good row: %v", err)
		}
	}
}

func TestTableHashesDependOnEveryField(t *testing.T) {
	edits := 0
	check := func(want string, table Table) {
		t.Helper()
		if edits++; table.Hash() == want {
			t.Errorf("%s: edit %d did not change the hash", table.Kind(), edits)
		}
	}
	for _, edit := range []func(*ColocationRow){
		func(r *ColocationRow) { r.Source += "x" }, func(r *ColocationRow) { r.GPUType += "x" }, func(r *ColocationRow) { r.GPUs++ },
		func(r *ColocationRow) { r.Nodes++ }, func(r *ColocationRow) { r.Quality = Modelled }, func(r *ColocationRow) { r.A, r.B = r.B, r.A },
		func(r *ColocationRow) { r.A.Model += "x" }, func(r *ColocationRow) { r.B.Batch++ }, func(r *ColocationRow) { r.A.StepsPerSecond++ },
		func(r *ColocationRow) { r.B.Isolated++ }, func(r *ColocationRow) { r.A.MemGiB++ }, func(r *ColocationRow) { r.B.MemGiB++ },
	} {
		x := colocations()
		edit(&x.Rows[0])
		check(colocations().Hash(), x)
	}
	for _, edit := range []func(*NodeRow){
		func(r *NodeRow) { r.Source += "x" }, func(r *NodeRow) { r.Cluster += "x" }, func(r *NodeRow) { r.Node += "x" }, func(r *NodeRow) { r.GPUType += "x" },
		func(r *NodeRow) { r.Nodes++ }, func(r *NodeRow) { r.GPUs++ }, func(r *NodeRow) { r.CPUs++ }, func(r *NodeRow) { r.MemGiB++ },
	} {
		x := nodes()
		edit(&x.Rows[0])
		check(nodes().Hash(), x)
	}
	for _, edit := range []func(*QuotaRow){
		func(r *QuotaRow) { r.Source += "x" }, func(r *QuotaRow) { r.Cluster += "x" }, func(r *QuotaRow) { r.Tenant += "x" }, func(r *QuotaRow) { r.GPUType += "x" },
		func(r *QuotaRow) { r.From++ }, func(r *QuotaRow) { r.GPUs++ },
	} {
		x := quotas()
		edit(&x.Rows[0])
		check(quotas().Hash(), x)
	}
	seen := make(map[string]string)
	for _, empty := range []Table{&Jobs{}, &ThroughputTable{}, &ColocationTable{}, &NodeTable{}, &QuotaTable{}, &DecisionTable{}} {
		if other, ok := seen[empty.Hash()]; ok {
			t.Errorf("an empty %s table has the hash of an empty %s table", empty.Kind(), other)
		}
		seen[empty.Hash()] = empty.Kind()
	}
}

func TestNodeTableCluster(t *testing.T) {
	table := nodes()
	got, err := table.Cluster("west")
	if err != nil {
		t.Fatal(err)
	}
	want := env.Cluster{
		Types: []env.GPUType{{Name: "T4"}, {Name: "V100"}},
		Nodes: []env.Node{{Type: 1, GPUs: 8}, {Type: 0, GPUs: 2}, {Type: 0, GPUs: 2}, {Type: 0, GPUs: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = table.Cluster("")
	checkRowError(t, err, "t.parquet", RowError{Column: "cluster", Value: `""`, Fix: "want one of west, östlich"})
	_, err = table.Cluster("östlich")
	checkRowError(t, err, "t.parquet", RowError{Row: 4, Value: "does not say what its nodes are", Fix: "gpu_type and nodes"})
	table.Rows = []NodeRow{{Source: "a", Cluster: "c", GPUType: "T4", Nodes: env.MaxNodes + 1, GPUs: env.MaxNodes + 1}}
	_, err = table.Cluster("")
	checkRowError(t, err, "t.parquet", RowError{Value: "too many nodes", Fix: "at most"})
}

func TestQuotasAtAnInstant(t *testing.T) {
	table := quotas()
	day := 24 * time.Hour
	gpus := func(at time.Duration) []int32 {
		var all []int32
		for _, r := range table.At(at) {
			all = append(all, r.GPUs)
		}
		return all
	}
	for at, want := range map[time.Duration][]int32{
		-1: nil, 0: {16, 8, 4}, day - 1: {16, 8, 4}, day: {16, 0, 4}, 2*day - 1: {16, 0, 4}, 2 * day: {MaxGPUs, 0, 4}, 100 * day: {MaxGPUs, 0, 4},
	} {
		if diff := cmp.Diff(want, gpus(at)); diff != "" {
			t.Errorf("at %v (-want +got):\n%s", at, diff)
		}
	}
	if diff := cmp.Diff([]time.Duration{0, day, 2 * day}, table.Changes()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// slowAt looks at every row.
func slowAt(t *QuotaTable, at time.Duration) map[[3]string]int32 {
	holds := make(map[[3]string]int32)
	for _, r := range t.Rows {
		if r.From <= at {
			holds[[3]string{r.Cluster, r.Tenant, r.GPUType}] = r.GPUs
		}
	}
	return holds
}

func TestQuotasRoundTripOfAnyTable(t *testing.T) {
	name := rapid.SampledFrom([]string{"x", "größe", strings.Repeat("x", MaxName), "a\x00b"})
	maybe := rapid.SampledFrom([]string{"", "V100", "größe"})
	k := kinds()[2]
	rapid.Check(t, func(t *rapid.T) {
		table := &QuotaTable{Name: "t.parquet", Meta: Meta{SchemaVersion: 1}}
		seen := make(map[QuotaRow]bool)
		for range rapid.IntRange(1, 30).Draw(t, "rows") {
			r := QuotaRow{
				Cluster: maybe.Draw(t, "cluster"), Tenant: name.Draw(t, "tenant"), GPUType: maybe.Draw(t, "type"),
				From: time.Duration(rapid.Int64Range(0, 5).Draw(t, "from")),
			}
			if seen[r] {
				continue
			}
			seen[r] = true
			r.Source, r.GPUs = "s", rapid.Int32Range(0, MaxGPUs).Draw(t, "gpus")
			table.Rows = append(table.Rows, r)
		}
		table.Sort()
		var b bytes.Buffer
		if err := encodeTable(&b, &quotaLayout, table.Meta, table.Rows, (*QuotaRow).written); err != nil {
			t.Fatal(err)
		}
		got, err := k.bytes(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Table(table), got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		at := time.Duration(rapid.Int64Range(-1, 6).Draw(t, "at"))
		want, now := slowAt(table, at), table.At(at)
		if len(now) != len(want) {
			t.Fatalf("%d quotas hold, want %d", len(now), len(want))
		}
		for _, r := range now {
			if want[[3]string{r.Cluster, r.Tenant, r.GPUType}] != r.GPUs {
				t.Fatalf("at %v: %+v holds", at, r)
			}
		}
	})
}

func FuzzReadTables(f *testing.F) {
	for i, k := range kinds() {
		whole := fileOf(f, k.table)
		f.Add(i, whole)
		f.Add(i, whole[:len(whole)-20])
	}
	f.Fuzz(func(t *testing.T, i int, b []byte) {
		k := kinds()[uint(i)%4]
		table, err := k.bytes(b)
		if err != nil {
			if _, ok := errors.AsType[*RowError](err); !ok || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want a RowError of one line", err)
			}
			return
		}
		again, err := k.bytes(fileOf(t, table))
		if err != nil || again.Hash() != table.Hash() {
			t.Fatalf("the table does not survive a round trip: %v", err)
		}
	})
}
