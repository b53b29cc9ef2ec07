package datasets

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// example returns a small valid table with every column in use.
func example() *Jobs {
	return &Jobs{
		Name: "example",
		Meta: Meta{
			SchemaVersion: SchemaVersion, Source: "made up", Licence: "CC0-1.0", SourceSHA256: strings.Repeat("ab", 32),
			Epoch: time.Date(2017, 10, 1, 0, 0, 0, 0, time.FixedZone("", -7*3600)), Zone: "America/Los_Angeles (assumed)",
			Filters: []string{"dropped 2 rows: test", "a, b; \"c\""}, RowsIn: 6, Generator: "by hand", Seed: 1<<64 - 1,
		},
		Rows: []Row{
			{ID: 7, GPUs: 1, Duration: time.Hour, Tenant: "a"},
			{ID: -3, Submit: time.Second, GPUs: 8, Duration: time.Minute, Model: "LM", Batch: 5, ReferenceGPU: "V100", Status: "Pass"},
			{ID: 1, Submit: time.Minute, GPUs: 2, Steps: 1e6, Model: "LM", Batch: 10, Weight: 2.5, Deadline: time.Hour},
			{ID: 2, Submit: time.Minute, GPUs: 1_000_000, Duration: 1, Steps: 0.5, Model: "ResNet-18"},
		},
	}
}

// tables generates valid tables with any combination of nulls.
func tables(most int) *rapid.Generator[*Jobs] {
	name := rapid.SampledFrom([]string{"", "V100", "größe", strings.Repeat("x", MaxName), "a\x00b"})
	return rapid.Custom(func(t *rapid.T) *Jobs {
		ids := rapid.SliceOfNDistinct(rapid.Int64(), 1, most, rapid.ID).Draw(t, "ids")
		j := &Jobs{Meta: Meta{SchemaVersion: SchemaVersion, RowsIn: rapid.Int64().Draw(t, "in")}}
		for _, id := range ids {
			r := Row{
				ID: id, Submit: time.Duration(rapid.Int64Range(0, int64(MaxTime)).Draw(t, "submit")),
				GPUs:     rapid.Int32Range(1, MaxGPUs).Draw(t, "gpus"),
				Duration: time.Duration(rapid.Int64Range(0, int64(MaxTime)).Draw(t, "duration")),
				Model:    name.Draw(t, "model"), ReferenceGPU: name.Draw(t, "reference"), Tenant: name.Draw(t, "tenant"), Status: name.Draw(t, "status"),
				Batch: rapid.Int32Range(0, MaxBatch).Draw(t, "batch"), Weight: rapid.Float64Range(0, maxScale).Draw(t, "weight"),
			}
			if r.Model != "" {
				r.Steps = rapid.Float64Range(0, maxSteps).Draw(t, "steps")
			}
			if r.Steps == 0 && r.Duration == 0 {
				r.Duration = 1
			}
			if rapid.Bool().Draw(t, "deadline") {
				r.Deadline = r.Submit + 1
			}
			j.Rows = append(j.Rows, r)
		}
		j.Sort()
		return j
	})
}

func TestValidateNamesRowColumnAndFix(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Jobs)
		want RowError // Value and Fix: parts
	}{
		{"no rows", func(j *Jobs) { j.Rows = nil }, RowError{Value: "no rows", Fix: "at least one job"}},
		{"negative submission", func(j *Jobs) { j.Rows[0].Submit = -1 }, RowError{Row: 1, Column: "submit_ns", Value: "-1", Fix: "want 0"}},
		{"no GPU", func(j *Jobs) { j.Rows[1].GPUs = 0 }, RowError{Row: 2, Column: "gpus", Value: "0", Fix: "1 to 1000000"}},
		{"too many GPUs", func(j *Jobs) { j.Rows[3].GPUs++ }, RowError{Row: 4, Column: "gpus", Value: "1000001", Fix: "1 to 1000000"}},
		{"negative duration", func(j *Jobs) { j.Rows[0].Duration = -5 }, RowError{Row: 1, Column: "duration_ns", Value: "-5", Fix: "> 0"}},
		{"no work", func(j *Jobs) { j.Rows[0].Duration = 0 }, RowError{Row: 1, Column: "duration_ns", Value: "null and so is steps", Fix: "set one"}},
		{"steps without model", func(j *Jobs) { j.Rows[0].Steps = 1 }, RowError{Row: 1, Column: "model", Value: "null", Fix: "name the model"}},
		{"negative batch", func(j *Jobs) { j.Rows[2].Batch = -1 }, RowError{Row: 3, Column: "batch", Value: "-1", Fix: "want 1"}},
		{"late deadline", func(j *Jobs) { j.Rows[2].Deadline = time.Minute }, RowError{Row: 3, Column: "deadline_ns", Value: "60000000000", Fix: "after submission"}},
		{"huge name", func(j *Jobs) { j.Rows[1].Tenant = strings.Repeat("x", MaxName+1) }, RowError{Row: 2, Column: "tenant", Value: "xxx", Fix: "256 bytes"}},
		{"not UTF-8", func(j *Jobs) { j.Rows[1].Model = "\xff" }, RowError{Row: 2, Column: "model", Fix: "UTF-8"}},
		{"out of order", func(j *Jobs) { j.Rows[0], j.Rows[1] = j.Rows[1], j.Rows[0] }, RowError{Row: 2, Column: "submit_ns", Fix: "sort the rows"}},
		{"tie out of order", func(j *Jobs) { j.Rows[2], j.Rows[3] = j.Rows[3], j.Rows[2] }, RowError{Row: 4, Column: "submit_ns", Fix: "sort the rows"}},
		{"id twice", func(j *Jobs) { j.Rows[3].ID = 7 }, RowError{Row: 4, Column: "job_id", Value: "7, as in row 1", Fix: "id of its own"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := example()
			test.edit(j)
			checkRowError(t, j.Validate(), "example", test.want)
		})
	}
}

// checkRowError checks that err is one line with the file, row, column, value
// and fix of want, whose Value and Fix need only be parts of what it says.
func checkRowError(t *testing.T, err error, file string, want RowError) {
	t.Helper()
	got, ok := errors.AsType[*RowError](err)
	if !ok {
		t.Fatalf("got error %v, want a RowError", err)
	}
	if got.File != file || got.Row != want.Row || got.Column != want.Column || !strings.Contains(got.Value, want.Value) || !strings.Contains(got.Fix, want.Fix) || got.Fix == "" {
		t.Errorf("got  %#v\nwant %#v in file %q", *got, want, file)
	}
	if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, file) {
		t.Errorf("got message %q, want one line that names %q", text, file)
	}
}

func TestValidateReportsUpToTenProblems(t *testing.T) {
	j := example()
	for i := range j.Rows {
		j.Rows[i].GPUs = 0
	}
	if got := strings.Count(j.Validate().Error(), "\n") + 1; got != len(j.Rows) {
		t.Errorf("got %d lines, want one for each of %d rows", got, len(j.Rows))
	}
	many := &Jobs{Rows: make([]Row, 1000)}
	if got := strings.Count(many.Validate().Error(), "\n") + 1; got != maxReported {
		t.Errorf("got %d lines for 1000 bad rows, want %d", got, maxReported)
	}
}

func TestHashDependsOnEveryFieldAndNothingElse(t *testing.T) {
	want := example().Hash()
	same := example()
	same.Name, same.Meta = "other", Meta{}
	if got := same.Hash(); got != want {
		t.Errorf("metadata changed the hash: %s, want %s", got, want)
	}
	edits := []func(*Row){
		func(r *Row) { r.ID++ }, func(r *Row) { r.Submit++ }, func(r *Row) { r.GPUs++ }, func(r *Row) { r.Duration++ },
		func(r *Row) { r.Steps++ }, func(r *Row) { r.Model += "x" }, func(r *Row) { r.Batch++ }, func(r *Row) { r.ReferenceGPU += "x" },
		func(r *Row) { r.Tenant += "x" }, func(r *Row) { r.Weight++ }, func(r *Row) { r.Deadline++ }, func(r *Row) { r.Status += "x" },
		func(r *Row) { r.Model, r.ReferenceGPU = "", r.Model+r.ReferenceGPU }, // lengths are hashed, too
	}
	for i, edit := range edits {
		j := example()
		edit(&j.Rows[1])
		if j.Hash() == want {
			t.Errorf("edit %d did not change the hash", i)
		}
	}
}

func TestSplitCutsByRowsAndKeepsMeta(t *testing.T) {
	j := &Jobs{Name: "t", Meta: Meta{Source: "s", Filters: []string{"f"}}}
	for i := range 10 {
		j.Rows = append(j.Rows, Row{ID: int64(i), Submit: time.Duration(i * i), GPUs: 1, Duration: 1})
	}
	parts, err := j.Split(0.25, 0.5, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]int64
	for _, p := range parts {
		var ids []int64
		for _, r := range p.Rows {
			ids = append(ids, r.ID)
		}
		got = append(got, ids)
		if p.Meta.Source != "s" || p.Name != "t" || p.Meta.Filters[0] != "f" || len(p.Meta.Filters) != 2 {
			t.Errorf("part has name %q and metadata %+v, want those of the table and one more filter", p.Name, p.Meta)
		}
	}
	if diff := cmp.Diff([][]int64{{0, 1, 2}, {3, 4, 5, 6, 7}, {8, 9}}, got); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if len(j.Meta.Filters) != 1 {
		t.Errorf("Split changed its table's filters: %v", j.Meta.Filters)
	}
	// A part that grows must not overwrite the next.
	_ = append(parts[0].Rows, Row{ID: 99})
	if parts[1].Rows[0].ID != 3 {
		t.Error("appending to a part overwrote the next one")
	}
}

func TestSplitPartsMakeUpTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := tables(40).Draw(t, "table")
		weights := rapid.SliceOfN(rapid.Float64Range(0.1, 1), 1, 4).Draw(t, "weights")
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		for i := range weights {
			weights[i] /= sum
		}
		parts, err := j.Split(weights...)
		if err != nil {
			if len(j.Rows) >= 8*len(weights) {
				t.Fatalf("split %d rows by %v: %v", len(j.Rows), weights, err)
			}
			return
		}
		var all []Row
		for _, p := range parts {
			all = append(all, p.Rows...)
		}
		if diff := cmp.Diff(j.Rows, all); diff != "" {
			t.Fatalf("parts by %v (-want +got):\n%s", weights, diff)
		}
	})
}

func TestSplitRefusesBadFractions(t *testing.T) {
	for _, fractions := range [][]float64{nil, {0}, {-0.1, 1}, {0.6, 0.6}, {1e-9, 0.5}, {1.1}} {
		if _, err := example().Split(fractions...); err == nil {
			t.Errorf("split by %v: got no error", fractions)
		}
	}
}
