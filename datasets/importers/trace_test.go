package importers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
)

// trace returns an empty trace of a source with some text.
func trace(t *testing.T) *Trace {
	t.Helper()
	s, err := Open(strings.NewReader("text"), "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return NewTrace(s)
}

func begin(t *testing.T, tr *Trace) {
	t.Helper()
	if err := tr.Begin(tr.Row() + 1); err != nil {
		t.Fatal(err)
	}
}

func keep(t *testing.T, tr *Trace, rows ...datasets.Row) {
	t.Helper()
	for _, r := range rows {
		begin(t, tr)
		tr.Keep(r)
	}
}

func finish(t *testing.T, tr *Trace, e Ending) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := tr.Finish(e)
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func job(id int64, submit, duration time.Duration) datasets.Row {
	return datasets.Row{ID: id, Submit: submit, GPUs: 1, Duration: duration}
}

func TestTraceSortsAndDropsDuplicates(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(3, 30, 1), job(1, 10, 1), job(2, 10, 1), job(3, 30, 1), job(1, 10, 1), job(0, 10, 1))
	j, report := finish(t, tr, Ending{})
	if diff := cmp.Diff([]datasets.Row{job(0, 10, 1), job(1, 10, 1), job(2, 10, 1), job(3, 30, 1)}, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(datasets.Report{Read: 6, Kept: 4, Dropped: []datasets.Count{{Reason: DropDuplicate, Rows: 2}}}, report.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// Equal rows meet though a row with the same id and time lies between them.
func TestTraceFindsDuplicatesAmongRowsWithOneID(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(1, 10, 5), job(1, 10, 7), job(1, 10, 5))
	_, report := finish(t, tr, Ending{})
	if report.Kept != 2 || report.Dropped[0].Reason != DropDuplicate || report.Warnings[0] != (datasets.Count{Reason: WarnIDs, Rows: 1}) {
		t.Errorf("got %+v", report)
	}
}

func TestTraceNumbersRowsWhoseIDsRepeat(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(7, 30, 1), job(7, 10, 1), job(8, 20, 1))
	j, report := finish(t, tr, Ending{})
	if diff := cmp.Diff([]datasets.Row{job(2, 10, 1), job(3, 20, 1), job(1, 30, 1)}, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: WarnIDs, Rows: 1}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestTraceKeepsIDsThatAreNumbersAndNumbersOthers(t *testing.T) {
	for _, test := range []struct {
		ids      []string
		want     []int64
		dropped  int
		warnings int
	}{
		{[]string{"70", "5", "60"}, []int64{70, 5, 60}, 0, 0},
		{[]string{"70", "5_1", "60"}, []int64{1, 2, 3}, 0, 0},
		{[]string{"007", "5", "60"}, []int64{1, 2, 3}, 0, 0}, // not how a number is written
		{[]string{"a", "b", "a"}, []int64{1, 2, 3}, 0, 1},
	} {
		tr := trace(t)
		for i, id := range test.ids {
			begin(t, tr)
			tr.KeepNamed(id, job(0, time.Duration(i), 1))
		}
		begin(t, tr)
		tr.KeepNamed(test.ids[1], job(0, 1, 1)) // as the second
		j, report := finish(t, tr, Ending{})
		var got []int64
		for _, r := range j.Rows {
			got = append(got, r.ID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v: ids (-want +got):\n%s", test.ids, diff)
		}
		if len(report.Warnings) != test.warnings || report.Kept != 3 || report.Dropped[0] != (datasets.Count{Reason: DropDuplicate, Rows: 1}) {
			t.Errorf("%v: got %+v", test.ids, report)
		}
	}
}

func TestTraceRebasesToMidnightOfTheFirstDay(t *testing.T) {
	zone := location(t, "Asia/Shanghai")
	first := time.Date(2020, 4, 1, 0, 30, 0, 0, zone) // 31 March in UTC
	tr := trace(t)
	keep(t, tr, job(1, time.Duration(first.UnixNano()), 1), job(2, time.Duration(first.Add(time.Hour).UnixNano()), 1))
	j, report := finish(t, tr, Ending{Zone: zone, Meta: datasets.Meta{Source: "test", Filters: []string{"first"}}})
	if got := j.Meta.Epoch.Format(time.RFC3339); got != "2020-04-01T00:00:00+08:00" {
		t.Errorf("got epoch %s", got)
	}
	if j.Rows[0].Submit != 30*time.Minute || !report.First.Equal(first) || report.Span() != time.Hour {
		t.Errorf("got submission %v, report %+v", j.Rows[0].Submit, report)
	}
	if m := j.Meta; m.Source != "test" || len(m.SourceSHA256) != 64 || m.RowsIn != 2 || m.Filters[0] != "first" {
		t.Errorf("got metadata %+v", m)
	}
}

func TestTraceWithoutCalendarHasNoEpoch(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(1, time.Hour, 1), job(2, 3*time.Hour, 1))
	j, report := finish(t, tr, Ending{Origin: time.Hour})
	if !j.Meta.Epoch.IsZero() || j.Rows[0].Submit != 0 || j.Rows[1].Submit != 2*time.Hour || report.Span() != 2*time.Hour {
		t.Errorf("got epoch %v, rows %+v, span %v", j.Meta.Epoch, j.Rows, report.Span())
	}
}

func TestTraceDropsOneStrayAtMost(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(1, 0, 1), job(2, 72*time.Hour, 1), job(3, 144*time.Hour, 1))
	if _, report := finish(t, tr, Ending{StrayGap: 48 * time.Hour}); report.Kept != 2 || report.Dropped[0].Reason != DropStray {
		t.Errorf("got %+v", report)
	}
}

func TestTraceWarnsOfAThinStart(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(0, 0, 1))
	for i := range 200 {
		keep(t, tr, job(int64(i)+1, time.Hour+time.Duration(i)*time.Second, 1))
	}
	if _, report := finish(t, tr, Ending{}); len(report.Warnings) != 1 || report.Warnings[0] != (datasets.Count{Reason: WarnThin, Rows: 1}) {
		t.Errorf("got warnings %v", report.Warnings)
	}
}

func TestTraceSaysWhyNothingIsLeft(t *testing.T) {
	tr := trace(t)
	begin(t, tr)
	tr.Drop(DropNoGPU)
	if _, _, err := tr.Finish(Ending{}); err == nil || !strings.Contains(err.Error(), "no job is left of 1 rows (1: uses no GPU)") {
		t.Errorf("got %v", err)
	}
}

func TestTraceRefusesAnEndlessSpan(t *testing.T) {
	tr := trace(t)
	keep(t, tr, job(1, 0, 1), job(2, datasets.MaxTime, 1))
	if _, _, err := tr.Finish(Ending{}); err == nil || !strings.Contains(err.Error(), "span 100 years") {
		t.Errorf("got %v", err)
	}
}

func TestNamesAreSharedAndBounded(t *testing.T) {
	tr := trace(t)
	if got, ok := tr.Name("a"); !ok || got != "a" {
		t.Errorf("got %q, %t", got, ok)
	}
	for _, bad := range []string{strings.Repeat("x", datasets.MaxName+1), "\xff"} {
		if _, ok := tr.Name(bad); ok {
			t.Errorf("%.10q… was taken", bad)
		}
	}
}
