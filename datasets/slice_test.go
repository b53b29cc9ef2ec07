package datasets

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sliceable has jobs that differ in all that a filter may ask for.
func sliceable() *Jobs {
	return &Jobs{
		Name: "t", Meta: Meta{Epoch: time.Date(2020, 4, 1, 0, 0, 0, 0, time.UTC), Filters: []string{"before"}},
		Rows: []Row{
			{ID: 1, Submit: 1 * time.Hour, GPUs: 1, Duration: time.Minute, Tenant: "a", Status: "Pass"},
			{ID: 2, Submit: 2 * time.Hour, GPUs: 2, Duration: time.Hour, Tenant: "b", Status: "Failed", ReferenceGPU: "V100", Deadline: 5 * time.Hour},
			{ID: 3, Submit: 3 * time.Hour, GPUs: 4, Steps: 10, Model: "LM", Tenant: "a"},
			{ID: 4, Submit: 4 * time.Hour, GPUs: 8, Duration: 2 * time.Hour, Status: "Pass"},
		},
	}
}

func ids(j *Jobs) []int64 {
	var all []int64
	for i := range j.Rows {
		all = append(all, j.Rows[i].ID)
	}
	return all
}

func TestSliceKeepsWhatMeetsEveryCondition(t *testing.T) {
	tests := []struct {
		name   string
		filter Filter
		want   []int64
		record string // part of the filter in the metadata
	}{
		{"all", Filter{}, []int64{1, 2, 3, 4}, "kept 4 of 4 rows: all"},
		{"rows", Filter{First: 1, Last: 3}, []int64{2, 3}, "rows 2 to 3 by submission"},
		{"rows to the end", Filter{First: 2}, []int64{3, 4}, "rows from 3 by submission"},
		{"beyond the end", Filter{Last: 100}, []int64{1, 2, 3, 4}, "rows 1 to 100"},
		{"times", Filter{From: 2 * time.Hour, To: 4 * time.Hour}, []int64{2, 3}, "submitted 2020-04-01T02:00:00Z to before 2020-04-01T04:00:00Z"},
		{"from", Filter{From: 4 * time.Hour}, []int64{4}, "submitted from 2020-04-01T04:00:00Z"},
		{"GPUs", Filter{MinGPUs: 2, MaxGPUs: 4}, []int64{2, 3}, "GPUs 2 to 4"},
		{"many GPUs", Filter{MinGPUs: 5}, []int64{4}, "GPUs from 5"},
		{"durations", Filter{MinDuration: time.Hour}, []int64{2, 4}, "duration from 1h0m0s"},
		{"short ones", Filter{MaxDuration: time.Hour}, []int64{1, 2}, "duration 0s to 1h0m0s"},
		{"tenants", Filter{Tenants: []string{"b", ""}}, []int64{2, 4}, `tenant "b" or null`},
		{"status", Filter{Statuses: []string{"Pass"}}, []int64{1, 4}, `status "Pass"`},
		{"model", Filter{Models: []string{"LM"}}, []int64{3}, `model "LM"`},
		{"reference GPU", Filter{ReferenceGPUs: []string{"V100"}}, []int64{2}, `reference_gpu "V100"`},
		{"several", Filter{Tenants: []string{"a"}, MinGPUs: 2}, []int64{3}, `GPUs from 2, tenant "a"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := sliceable()
			got, report, err := j.Slice(test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, ids(got)); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			if f := got.Meta.Filters; len(f) != 2 || f[0] != "before" || !strings.Contains(f[1], test.record) {
				t.Errorf("got filters %q, want one more, with %q", f, test.record)
			}
			dropped := 0
			for _, c := range report.Dropped {
				dropped += c.Rows
			}
			if report.Read != 4 || report.Kept != len(test.want) || dropped != 4-len(test.want) {
				t.Errorf("got report %+v", report)
			}
			if diff := cmp.Diff(sliceable(), j); diff != "" {
				t.Errorf("Slice changed its table:\n%s", diff)
			}
		})
	}
}

func TestSliceRebaseKeepsInstants(t *testing.T) {
	before := sliceable()
	got, _, err := before.Slice(Filter{First: 1, Last: 3, Rebase: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Rows[0]; r.Submit != 0 || r.Deadline != 3*time.Hour || !got.Meta.Epoch.Equal(before.Meta.Epoch.Add(2*time.Hour)) {
		t.Errorf("got epoch %v and first row %+v", got.Meta.Epoch, r)
	}
	if diff := cmp.Diff(sliceable(), before); diff != "" {
		t.Errorf("Slice changed its table:\n%s", diff)
	}
	before.Meta.Epoch = time.Time{}
	if got, _, err = before.Slice(Filter{First: 1, Rebase: true}); err != nil || !got.Meta.Epoch.IsZero() || got.Rows[0].Submit != 0 {
		t.Errorf("without epoch: got %+v, %v", got, err)
	}
}

func TestSliceRefusesBadFilters(t *testing.T) {
	for _, f := range []Filter{
		{First: -1}, {First: 2, Last: 2}, {From: -1}, {From: 2, To: 1}, {MinGPUs: 3, MaxGPUs: 2}, {MinDuration: 2, MaxDuration: 1},
	} {
		if _, _, err := sliceable().Slice(f); err == nil || !strings.Contains(err.Error(), "slice") {
			t.Errorf("%+v: got error %v", f, err)
		}
	}
	if _, _, err := sliceable().Slice(Filter{Tenants: []string{"c"}}); err == nil || !strings.Contains(err.Error(), "no row is left (4 rows read, 0 kept, dropped: 4 with another tenant)") {
		t.Errorf("nothing left: got error %v", err)
	}
	all := Filter{First: -1, From: -1, MinGPUs: -1, MinDuration: -1}
	if _, _, err := sliceable().Slice(all); strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %q, want all four problems", err)
	}
}

// Slices by time at any instant make up the table.
func TestSlicesMakeUpTheTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := tables(30).Draw(t, "table")
		at := time.Duration(rapid.Int64Range(1, int64(MaxTime)).Draw(t, "at"))
		var got []Row
		for _, f := range []Filter{{To: at}, {From: at}} {
			if part, _, err := j.Slice(f); err == nil {
				got = append(got, part.Rows...)
			}
		}
		if diff := cmp.Diff(j.Rows, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestSplitSpanCutsByTime(t *testing.T) {
	j := &Jobs{Name: "t"}
	for i := range 10 { // nine jobs in the first hour, one at the end of the tenth
		j.Rows = append(j.Rows, Row{ID: int64(i), Submit: time.Duration(i) * time.Minute, GPUs: 1, Duration: 1})
	}
	j.Rows[9].Submit = 10 * time.Hour
	parts, err := j.SplitSpan(0.5, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if got := []int{len(parts[0].Rows), len(parts[1].Rows)}; !slices.Equal(got, []int{9, 1}) {
		t.Errorf("got parts of %v rows, want 9 and 1", got)
	}
	if _, err := j.SplitSpan(0.5, 0.4, 0.1); err == nil {
		t.Error("a part of the span without jobs was no error")
	}
	if _, err := (&Jobs{}).SplitSpan(1); err == nil {
		t.Error("a table without rows was split")
	}
}
