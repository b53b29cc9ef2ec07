package philly

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

// What README.md of the real data says to watch out for in Philly's files, each
// by a fixture and by the real table. The clocks, the attempts and "None" have
// tests beside those of the log.

func realTable(t *testing.T) (*datasets.Jobs, Report) {
	t.Helper()
	f := importertest.OpenShared(t, "philly", "philly_jobs.csv.gz")
	j, report, err := Import(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func bySubmission(a, b datasets.Row) int { return int(a.Submit - b.Submit) }

// Trap: the rows are not sorted.
func TestRowsAreSorted(t *testing.T) {
	j, _ := importText(t, head+"2017-10-09 08:00:00,66.0,2,66.0,v\n2017-10-09 07:00:00,66.0,1,66.0,v\n", Config{})
	if j.Rows[0].GPUs != 1 || j.Rows[0].ID != 2 || j.Rows[1].Submit-j.Rows[0].Submit != time.Hour {
		t.Errorf("got %+v", j.Rows)
	}
	j, _ = realTable(t)
	ids := make([]int64, len(j.Rows))
	for i := range j.Rows {
		ids[i] = j.Rows[i].ID // its number in the file
	}
	if !slices.IsSortedFunc(j.Rows, bySubmission) || slices.IsSorted(ids) {
		t.Error("the real table is sorted already, or is not when imported")
	}
}

// Trap: 65 rows are exact duplicates.
func TestExactDuplicatesAreDropped(t *testing.T) {
	const row = "2017-10-09 07:00:00,66.0,1,66.0,v\n"
	_, report := importText(t, head+row+strings.Replace(row, "66.0,v", "66.0,w", 1)+row+row, Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropDuplicate]; got != 2 || report.Kept != 2 {
		t.Errorf("got %s, want 2 of 4 dropped", report.Report)
	}
	_, report = realTable(t)
	if got := importertest.Counts(report.Dropped)[importers.DropDuplicate]; got != 65 {
		t.Errorf("%d duplicates in the real table, want 65", got)
	}
}

// Trap: 7,654 jobs are shorter than a minute: kept, and warned about.
func TestShortJobsAreWarnedAbout(t *testing.T) {
	_, report := importText(t, head+"2017-10-09 07:00:00,59.9,1,66.0,v\n2017-10-09 07:00:01,60,1,66.0,v\n", Config{})
	if got := importertest.Counts(report.Warnings)[warnShort]; got != 1 || report.Kept != 2 {
		t.Errorf("got %+v, want one warning", report)
	}
	_, report = realTable(t)
	if got := importertest.Counts(report.Warnings)[warnShort]; got != 7654 {
		t.Errorf("%d short jobs in the real table, want 7654", got)
	}
}

// Trap: one job is days before the rest, on 2017-09-04.
func TestStrayFirstJobIsDropped(t *testing.T) {
	_, report := importText(t, head+"2017-10-09 07:00:00,66,1,66.0,v\n2017-10-09 07:00:01,60,1,66.0,v\n2017-10-01 07:00:01,60,1,66.0,v\n", Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropStray]; got != 1 {
		t.Errorf("got %s, want a stray job", report.Report)
	}
	_, report = realTable(t)
	if first := report.First.Format(time.DateOnly); first != "2017-09-07" || importertest.Counts(report.Dropped)[importers.DropStray] != 1 {
		t.Errorf("the real table begins on %s, %s", first, report.Report)
	}
}

// Trap: jobs have up to 128 GPUs, and neither a user nor a state.
func TestSizesAndWhatIsNotKnown(t *testing.T) {
	check := func(j *datasets.Jobs) {
		t.Helper()
		most := int32(0)
		for _, r := range j.Rows {
			most = max(most, r.GPUs)
			if r.Status != "" || r.Tenant == "" || r.Model != "" {
				t.Fatalf("got %+v, want a virtual cluster and no state", r)
			}
		}
		if most != 128 {
			t.Errorf("the largest job has %d GPUs, want 128", most)
		}
	}
	j, _ := importText(t, head+"2017-10-09 07:00:00,66,128,66.0,v\n", Config{})
	check(j)
	j, _ = realTable(t)
	check(j)
}

// Trap: jobs of the log may have no attempt at all.
func TestLogJobsWithoutAttempts(t *testing.T) {
	both := strings.TrimSuffix(one("2017-10-09"), "]") + "," + strings.TrimPrefix(one("2017-10-09", ran("2017-10-09 01:00:00", "2017-10-09 02:00:00")), "[")
	_, report := importText(t, strings.Replace(both, "application_1_1", "application_1_2", 1), Config{})
	if report.Read != 2 || report.Kept != 1 || importertest.Counts(report.Dropped)[importers.DropNoStart] != 1 {
		t.Errorf("got %s, want one that never started", report.Report)
	}
}
