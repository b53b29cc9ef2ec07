package helios

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

const head = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"

// fixture is written by hand after the description of the log: a job in each
// state, one without a GPU, one of each kind that is dropped, a copy.
const fixture = head +
	"100,uA,vcX,8,64,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:11,2020-06-10 04:55:11,36840,10\n" +
	"101,uB,vcY,0,4,1,COMPLETED,2020-06-09 18:41:02,2020-06-09 18:41:02,2020-06-09 18:42:02,60,0\n" + // no GPU
	"102,uA,vcX,4,16,1,FAILED,2020-06-09 18:40:00,2020-06-09 18:40:00,2020-06-09 18:44:09,249,0\n" +
	"103,uC,vcX,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:41:30,2,0\n" +
	"104,uC,vcX,16,1,2,TIMEOUT,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-11 00:00:00,86400,0\n" +
	"105,uC,vcX,1,1,1,NODE_FAIL,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0\n" +
	"106,uC,vcX,1,1,1,SUSPENDED,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0\n" +
	"107,uC,vcX,1,1,1,CANCELLED,2020-06-10 00:00:00,2020-06-10 00:00:05,2020-06-10 00:00:05,0,5\n" + // no time
	"108,uC,vcX,1,1,1,CANCELLED,2020-06-10 00:00:00,None,2020-06-10 00:00:05,0,5\n" + // never started
	"103,uC,vcX,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-09 18:41:30,2,0\n" // copy

func importText(t *testing.T, text string, cfg Config) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := cfg.Import(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture, Config{})
	const first = 18*time.Hour + 40*time.Minute
	want := []datasets.Row{
		{ID: 102, Submit: first, GPUs: 4, Duration: 249 * time.Second, Tenant: "vcX", Status: "FAILED"},
		{ID: 100, Submit: first + 61*time.Second, GPUs: 8, Duration: 36840 * time.Second, Tenant: "vcX", Status: "COMPLETED"},
		{ID: 103, Submit: first + 88*time.Second, GPUs: 1, Duration: 2 * time.Second, Tenant: "vcX", Status: "CANCELLED"},
		{ID: 104, Submit: 24 * time.Hour, GPUs: 16, Duration: 24 * time.Hour, Tenant: "vcX", Status: "TIMEOUT"},
		{ID: 105, Submit: 24 * time.Hour, GPUs: 1, Duration: time.Second, Tenant: "vcX", Status: "NODE_FAIL"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{importers.DropNoGPU: 1, importers.DropRunning: 1, importers.DropNoTime: 1, importers.DropNoStart: 1, importers.DropDuplicate: 1}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 10 || report.Kept != 5 {
		t.Errorf("got %+v, dropped (-want +got):\n%s", report.Report, diff)
	}
	if len(report.Warnings) != 0 {
		t.Errorf("got warnings %v, want none", report.Warnings)
	}
	if got := j.Meta.Epoch.Format(time.RFC3339); got != "2020-06-09T00:00:00+08:00" {
		t.Errorf("got epoch %s", got)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	if err := importertest.Check(Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Trap: more than half of the rows use no GPU. They are dropped before anything
// else of them is looked at, and counted.
func TestRowsWithoutGPU(t *testing.T) {
	var text strings.Builder
	text.WriteString(fixture)
	for i := range 20 {
		fmt.Fprintf(&text, "%d,u,v,0,1,1,COMPLETED,,,,,\n", 1000+i)
	}
	_, report := importText(t, text.String(), Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropNoGPU]; got != 21 || report.Read != 30 || report.Kept != 5 {
		t.Errorf("got %+v, want 21 rows without a GPU", report.Report)
	}
}

// Trap: five states end a job, SUSPENDED (once in Uranus) does not, others are
// suspicious.
func TestStates(t *testing.T) {
	row := func(id int, state string) string {
		return fmt.Sprintf("%d,u,v,1,1,1,%s,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0\n", id, state)
	}
	for state, kept := range map[string]bool{"COMPLETED": true, "CANCELLED": true, "FAILED": true, "TIMEOUT": true, "NODE_FAIL": true, "SUSPENDED": false, "RUNNING": false, "PENDING": false, "PREEMPTED": true, "LOST": true} {
		j, report := importText(t, head+row(1, "COMPLETED")+row(2, state), Config{})
		if got := len(j.Rows) == 2; got != kept {
			t.Errorf("%s: kept %t", state, got)
		}
		if kept && j.Rows[1].Status != state {
			t.Errorf("%s became %q", state, j.Rows[1].Status)
		}
		if warned := importertest.Counts(report.Warnings)[importers.WarnState] == 1; warned != (state == "LOST") {
			t.Errorf("%s: warned %t", state, warned)
		}
	}
}

func TestTimesAreTakenNotTheColumnsOfSeconds(t *testing.T) {
	j, report := importText(t, head+"1,u,v,1,1,1,COMPLETED,2020-06-10 00:00:10,2020-06-10 00:00:20,2020-06-10 00:01:00,50,0\n"+
		"2,u,v,1,1,1,COMPLETED,2020-06-10 00:00:10,2020-06-10 00:00:05,2020-06-10 00:01:00,55.0,\n", Config{})
	if j.Rows[0].Duration != 40*time.Second || j.Rows[1].Duration != 55*time.Second {
		t.Errorf("got %+v", j.Rows)
	}
	want := map[string]int{importers.WarnDuration: 1, importers.WarnQueue: 1, importers.WarnEarly: 1}
	if diff := cmp.Diff(want, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestTimesThatCannotBe(t *testing.T) {
	_, report := importText(t, fixture+"1,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:00,2190-06-10 00:00:01,,\n"+
		"2,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:05,2020-06-10 00:00:01,,\n"+
		"3,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:05,,,\n", Config{})
	got := importertest.Counts(report.Dropped)
	if got[importers.DropLong] != 1 || got[importers.DropBackwards] != 1 || got[importers.DropRunning] != 2 {
		t.Errorf("got %v, want one of 170 years, one backwards, one without an end besides the suspended one", got)
	}
}

func TestTenantByUser(t *testing.T) {
	j, _ := importText(t, fixture, Config{ByUser: true})
	if got := j.Rows[0].Tenant; got != "uA" {
		t.Errorf("got tenant %q", got)
	}
}

// Two clusters in one file: their ids repeat.
func TestIDsOfTwoClusters(t *testing.T) {
	second := strings.ReplaceAll(fixture[len(head):], "vcX", "vcZ")
	j, report := importText(t, fixture+second, Config{})
	if got := importertest.Counts(report.Warnings)[importers.WarnIDs]; got != 5 || len(j.Rows) != 10 {
		t.Errorf("got %d repeated ids, %d rows", got, len(j.Rows))
	}
	if err := j.Validate(); err != nil {
		t.Error(err)
	}
}

const quotas = "date,vcX,vcY,total\n2020-06-09,8,4,12\n2020-06-10,16,0,16\n"

// Trap: the sizes of virtual clusters change by day.
func TestQuotasChangeByDay(t *testing.T) {
	q, err := ReadQuotas(strings.NewReader(quotas), "q.csv")
	if err != nil {
		t.Fatal(err)
	}
	zone := time.FixedZone("", 8*3600)
	for _, test := range []struct {
		vc    string
		at    time.Time
		want  int
		known bool
	}{
		{"vcX", time.Date(2020, 6, 9, 23, 59, 0, 0, zone), 8, true},
		{"vcX", time.Date(2020, 6, 10, 0, 0, 0, 0, zone), 16, true},
		{"vcY", time.Date(2020, 6, 10, 0, 0, 0, 0, zone), 0, true},
		{"vcZ", time.Date(2020, 6, 10, 0, 0, 0, 0, zone), 0, false},
		{"vcX", time.Date(2020, 6, 11, 0, 0, 0, 0, zone), 0, false},
	} {
		if got, known := q.GPUs(test.vc, test.at); got != test.want || known != test.known {
			t.Errorf("%s on %v: got %d, %t, want %d, %t", test.vc, test.at, got, known, test.want, test.known)
		}
	}
	big := head + "1,u,vcX,16,1,1,COMPLETED,2020-06-09 12:00:00,2020-06-09 12:00:00,2020-06-09 13:00:00,3600,0\n" +
		"2,u,vcX,16,1,1,COMPLETED,2020-06-10 12:00:00,2020-06-10 12:00:00,2020-06-10 13:00:00,3600,0\n"
	_, report := importText(t, big, Config{Quotas: q})
	if diff := cmp.Diff(map[string]int{warnQuota: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestReadQuotasRefusesBadInput(t *testing.T) {
	for _, test := range []struct {
		name, text  string
		line        int64
		column, fix string
	}{
		{"empty", "", 0, "", "name the file"},
		{"blank", "\n", 0, "", "want the columns date"},
		{"header only", "date,vcX,total\n", 0, "", "name the file"},
		{"log", head, 1, "", "want the columns date"},
		{"no total", "date,vcX\n2020-06-09,8\n", 1, "", "want the columns date"},
		{"short row", quotas + "2020-06-11,8\n", 4, "", "want 4"},
		{"bad day", quotas + "11.6.2020,8,0,8\n", 4, "date", "2020-04-01"},
		{"day twice", quotas + "2020-06-10,8,0,8\n", 4, "date", "ascending"},
		{"negative", quotas + "2020-06-11,-8,0,8\n", 4, "vcX", "whole number"},
		{"wrong total", quotas + "2020-06-11,8,1,8\n", 4, "total", "9 GPUs"},
	} {
		_, err := ReadQuotas(strings.NewReader(test.text), "q.csv")
		got, ok := errors.AsType[*datasets.RowError](err)
		if !ok || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
			t.Errorf("%s: got %#v, want line %d, column %q, fix with %q", test.name, err, test.line, test.column, test.fix)
		}
	}
}

// The sizes of Earth's virtual clusters; figures counted by a script.
func TestReadRealQuotas(t *testing.T) {
	f := importertest.OpenShared(t, "helios", "Earth_gpu_number.csv")
	q, err := ReadQuotas(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if len(q.VirtualClusters) != 25 || len(q.Days) != 181 || q.Days[0] != "2020-04-01" || q.Days[180] != "2020-09-28" {
		t.Errorf("got %d virtual clusters, %d days from %s", len(q.VirtualClusters), len(q.Days), q.Days[0])
	}
	if got, _ := q.GPUs("vchbv", time.Date(2020, 4, 1, 0, 0, 0, 0, time.UTC)); got != 112 {
		t.Errorf("got %d GPUs of vchbv on the first day, want 112", got)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	row := func(s string) string { return fixture + s + "\n" }
	for _, test := range []struct {
		name, text  string
		line        int64
		column, fix string
	}{
		{"no rows", head, 0, "", "check the file"},
		{"missing column", strings.Replace(fixture, "end_time", "finish", 1), 1, "end_time", "want the columns"},
		{"few values", row("1,u,v"), 12, "", "want 12"},
		{"half a GPU", row("1,u,v,0.5,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0"), 12, "gpu_num", "whole number"},
		{"id in words", row("one,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0"), 12, "job_id", "whole number"},
		{"zoned", row("1,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00+08:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0"), 12, "submit_time", "2017-10-09"},
		{"no submission", row("1,u,v,1,1,1,COMPLETED,,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0"), 12, "submit_time", "2017-10-09"},
		{"before 1970 in UTC", row("1,u,v,1,1,1,COMPLETED,1970-01-01 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0"), 12, "submit_time", "1970"},
		{"duration in words", row("1,u,v,1,1,1,COMPLETED,2020-06-10 00:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,long,0"), 12, "duration", "want seconds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Import(strings.NewReader(test.text), "t.csv")
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.csv" || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want line %d, column %q, fix with %q", err, test.line, test.column, test.fix)
			}
		})
	}
}

// Any jobs come out of the log as they went in, and through the table's file.
func TestImportKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := head, []datasets.Row{}
		start := time.Date(2020, 4, 1, 0, 0, 0, 0, time.UTC) // what the clocks show
		show := func(d time.Duration) string { return start.Add(d).Format(time.DateTime) }
		submit := time.Duration(rapid.IntRange(0, 86399).Draw(t, "first")) * time.Second
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			r := datasets.Row{
				ID: int64(1000 + i), Submit: submit, GPUs: rapid.Int32Range(1, 2048).Draw(t, "gpus"),
				Duration: time.Duration(rapid.IntRange(1, 1e7).Draw(t, "duration")) * time.Second,
				Tenant:   rapid.StringMatching(`vc[A-Za-z0-9]{3}`).Draw(t, "vc"),
				Status:   rapid.SampledFrom([]string{"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL"}).Draw(t, "state"),
			}
			queue := time.Duration(rapid.IntRange(0, 1e6).Draw(t, "queue")) * time.Second
			text += fmt.Sprintf("%d,u,%s,%d,1,1,%s,%s,%s,%s,%v,%v\n", r.ID, r.Tenant, r.GPUs, r.Status,
				show(submit), show(submit+queue), show(submit+queue+r.Duration), r.Duration.Seconds(), queue.Seconds())
			want = append(want, r)
			submit += time.Duration(rapid.IntRange(0, 1e5).Draw(t, "gap")) * time.Second
		}
		j, report, err := Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" || len(report.Warnings) != 0 {
			t.Fatalf("warnings %v, jobs (-want +got):\n%s", report.Warnings, diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head))
	f.Add([]byte(fixture + fixture[len(head):]))
	f.Add(importertest.Gzip([]byte(fixture)))
	f.Add([]byte(head + "9,u,v,1,1,1,S,1970-01-01 08:00:00,2020-06-10 00:00:00,2020-06-10 00:00:01,1,0\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadQuotas(f *testing.F) {
	f.Add([]byte(quotas))
	f.Fuzz(func(t *testing.T, input []byte) {
		q, err := ReadQuotas(strings.NewReader(string(input)), "t")
		if err != nil {
			return
		}
		for i := range q.Days {
			if len(q.Sizes[i]) != len(q.VirtualClusters) {
				t.Fatalf("day %s has %d sizes", q.Days[i], len(q.Sizes[i]))
			}
		}
	})
}
