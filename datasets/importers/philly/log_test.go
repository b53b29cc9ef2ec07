package philly

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

// logFixture is written by hand after the description of the log: a job of
// three attempts on two servers, one without an attempt, one that was running,
// one whose first attempt was not recorded, one that used no GPU, a copy.
const logFixture = `[
{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1_0001", "submitted_time": "2017-10-09 07:00:00", "user": "u1",
 "attempts": [
  {"start_time": "2017-10-09 07:01:00", "end_time": "2017-10-09 07:02:00", "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu7"]}]},
  {"start_time": "2017-10-09 08:00:00", "end_time": "2017-10-09 09:00:00", "detail": [{"ip": "m3", "gpus": ["gpu0", "gpu1", "gpu2"]}]},
  {"start_time": "2017-10-09 10:00:00", "end_time": "2017-10-09 10:00:30", "detail": [{"ip": "m3", "gpus": ["gpu0"]}]}]},
{"status": "Killed", "vc": "ee9e8c", "jobid": "application_1_0002", "submitted_time": "2017-10-09 06:00:00", "user": "u1", "attempts": []},
{"status": "Failed", "vc": "6214e9", "jobid": "application_1_0003", "submitted_time": "2017-10-09 06:30:00", "user": "u2",
 "attempts": [{"start_time": "2017-10-09 06:30:10", "end_time": "2017-10-09 06:30:20", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
  {"start_time": "2017-10-09 06:40:00", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
{"status": "Failed", "vc": "6214e9", "jobid": "application_1_0004", "submitted_time": "2017-10-09 06:10:00", "user": "u2",
 "attempts": [{"start_time": "None", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
  {"start_time": "2017-10-09 06:40:00", "end_time": "2017-10-09 06:40:45", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]},
{"status": "Failed", "vc": "6214e9", "jobid": "application_1_0005", "submitted_time": "2017-10-09 06:10:00", "user": "u2",
 "attempts": [{"start_time": "2017-10-09 06:40:00", "end_time": "2017-10-09 06:40:45", "detail": []}]},
{"status": "Failed", "vc": "6214e9", "jobid": "application_1_0004", "submitted_time": "2017-10-09 06:10:00", "user": "u2",
 "attempts": [{"start_time": null, "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
  {"start_time": "2017-10-09 06:40:00", "end_time": "2017-10-09 06:40:45", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}
]
`

// one is a job of the log with these attempts, submitted at 00:00 on this day.
func one(day string, attempts ...string) string {
	return `[{"status":"Pass","vc":"v","jobid":"application_1_1","submitted_time":"` + day + ` 00:00:00","user":"u","attempts":[` + strings.Join(attempts, ",") + `]}]`
}

func ran(from, to string) string {
	return `{"start_time":"` + from + `","end_time":"` + to + `","detail":[{"ip":"m1","gpus":["gpu0"]}]}`
}

func TestImportLogFixture(t *testing.T) {
	j, report := importText(t, logFixture, Config{})
	want := []datasets.Row{
		{ID: 4, Submit: 6*time.Hour + 10*time.Minute, GPUs: 1, Duration: 45 * time.Second, Tenant: "6214e9", Status: "Failed"},
		{ID: 1, Submit: 7 * time.Hour, GPUs: 3, Duration: time.Hour + 90*time.Second, Tenant: "ee9e8c", Status: "Pass"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantReport := datasets.Report{Read: 6, Kept: 2, Dropped: []datasets.Count{
		{Reason: importers.DropDuplicate, Rows: 1}, {Reason: importers.DropRunning, Rows: 1}, {Reason: importers.DropNoStart, Rows: 1}, {Reason: importers.DropNoGPU, Rows: 1},
	}}
	if diff := cmp.Diff(byReason(wantReport), byReason(report.Report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	wantWarnings := []datasets.Count{{Reason: warnAttempt, Rows: 2}, {Reason: warnShort, Rows: 2}, {Reason: warnGPUs, Rows: 1}}
	if diff := cmp.Diff(wantWarnings, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if !strings.Contains(j.Meta.Source, "job log") || j.Meta.Epoch.Format(time.RFC3339) != "2017-10-09T00:00:00-07:00" {
		t.Errorf("got metadata %+v", j.Meta)
	}
}

// Trap: the GPU count is that of the first attempt, on all its servers.
func TestLogCountsTheGPUsOfTheFirstAttempt(t *testing.T) {
	j, _ := importText(t, logFixture, Config{})
	if got := j.Rows[1].GPUs; got != 3 {
		t.Errorf("got %d GPUs, want 2 + 1 of the first attempt", got)
	}
}

// Trap: an attempt's times may be "None"; null and "" mean the same.
func TestLogTimesOfNone(t *testing.T) {
	const good = `{"start_time":"2017-10-09 01:00:00","end_time":"2017-10-09 01:10:00","detail":[{"gpus":["gpu0"]}]}`
	for _, none := range []string{`"None"`, `null`, `""`} {
		broken := `{"start_time":` + none + `,"end_time":"2017-10-09 00:10:00","detail":[{"gpus":["gpu0"]}]}`
		j, report := importText(t, one("2017-10-09", broken, good), Config{})
		if j.Rows[0].Duration != 10*time.Minute || report.Warnings[0].Reason != warnAttempt {
			t.Errorf("%s: got %v, warnings %v", none, j.Rows[0].Duration, report.Warnings)
		}
		running := `{"start_time":"2017-10-09 02:00:00","end_time":` + none + `,"detail":[{"gpus":["gpu0"]}]}`
		_, _, err := Import(strings.NewReader(one("2017-10-09", good, running)), "t")
		if err == nil || !strings.Contains(err.Error(), importers.DropRunning) {
			t.Errorf("%s: got %v, want a job that was running", none, err)
		}
		submitted := strings.Replace(one("2017-10-09", good), `"2017-10-09 00:00:00"`, none, 1)
		if _, _, err := Import(strings.NewReader(submitted), "t"); err == nil || !strings.Contains(err.Error(), dropNoSubmission) {
			t.Errorf("%s: got %v, want a job without submission", none, err)
		}
	}
}

// Trap: the clocks go back at 2:00 on 2017-11-05. An attempt from 1:50 to 1:10
// ran for 20 minutes, one from 0:30 to 2:30 for three hours.
func TestLogAttemptsAcrossTheClockChange(t *testing.T) {
	for _, test := range []struct {
		attempts []string
		want     time.Duration
	}{
		{[]string{ran("2017-11-05 01:50:00", "2017-11-05 01:10:00")}, 20 * time.Minute},
		{[]string{ran("2017-11-05 00:30:00", "2017-11-05 02:30:00")}, 3 * time.Hour},
		{[]string{ran("2017-11-05 01:10:00", "2017-11-05 01:50:00")}, 40 * time.Minute},
		// The second attempt is in the second pass, as the first ended in it.
		{[]string{ran("2017-11-05 01:50:00", "2017-11-05 01:10:00"), ran("2017-11-05 01:20:00", "2017-11-05 02:00:00")}, 60 * time.Minute},
	} {
		j, report := importText(t, one("2017-11-05", test.attempts...), Config{})
		if j.Rows[0].Duration != test.want || len(report.Warnings) != 0 {
			t.Errorf("%v: got %v, warnings %v, want %v", test.attempts, j.Rows[0].Duration, report.Warnings, test.want)
		}
	}
}

func TestLogAttemptThatRunsBackwardsIsNotCounted(t *testing.T) {
	j, report := importText(t, one("2017-10-09", ran("2017-10-09 05:00:00", "2017-10-09 04:00:00"), ran("2017-10-08 23:00:00", "2017-10-09 04:00:00")), Config{})
	want := []datasets.Count{{Reason: warnBackwards, Rows: 1}, {Reason: importers.WarnEarly, Rows: 1}}
	if diff := cmp.Diff(want, report.Warnings); diff != "" || j.Rows[0].Duration != 5*time.Hour {
		t.Errorf("got %v, warnings (-want +got):\n%s", j.Rows[0].Duration, diff)
	}
}

func TestLogMinDuration(t *testing.T) {
	_, report := importText(t, logFixture, Config{MinDuration: time.Minute})
	if got := byReason(report.Report); got[dropShort] != 2 || report.Kept != 1 {
		t.Errorf("got %v, want job 4 and its copy dropped as short", got)
	}
}

func TestImportRefusesBadLogs(t *testing.T) {
	good := strings.TrimSuffix(strings.TrimSpace(one("2017-10-09", ran("2017-10-09 01:00:00", "2017-10-09 02:00:00"))), "]")
	for _, test := range []struct {
		name, input string
		row         int64
		column, fix string
	}{
		{"empty list", "[]", 0, "", "check the file"},
		{"open list", good, 1, "", "download"},
		{"open job", good + `,{"jobid": "b"`, 2, "", "download"},
		{"not JSON", good + `,{jobid: "b"}]`, 2, "", "want a list of jobs"},
		{"other objects", `[{"a": 1}]`, 1, "jobid", "want the job's id"},
		{"numbers", `[1]`, 1, "", "want a list of jobs"},
		{"null", `[null]`, 1, "jobid", "want the job's id"},
		{"time in another form", good + `,{"jobid":"b","submitted_time":"10/09/2017","attempts":[]}]`, 2, "submitted_time", "2017-10-09"},
		{"start as a number", good + `,{"jobid":"b","submitted_time":"2017-10-09 00:00:00","attempts":[{"start_time":5}]}]`, 2, "attempts.start_time", "want a list of jobs"},
		{"bad end", one("2017-10-09", ran("2017-10-09 01:00:00", "soon")), 1, "attempts.end_time", "2017-10-09"},
		{"text behind", good + "]\n[]", 0, "", "one list"},
		{"long status", strings.Replace(good, "Pass", strings.Repeat("x", 300), 1) + "]", 1, "status", "256 bytes"},
		{"huge job", good + `,{"jobid":"` + strings.Repeat("x", 2*maxJob) + `"}]`, 2, "", "want a list of jobs"},
		{"endless", one("1970-01-01", ran("1970-01-01 01:00:00", "2100-01-01 02:00:00"), ran("1970-01-01 01:00:00", "2100-01-01 02:00:00")), 1, "attempts", "100 years"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Import(strings.NewReader(test.input), "t.json")
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.json" || got.Row != test.row || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want row %d, column %q, fix with %q", err, test.row, test.column, test.fix)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line", err)
			}
		})
	}
}

// The list is read job by job: a log much larger than one job's bound is read.
func TestLogIsStreamed(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, `%c{"status":"Pass","vc":"v","jobid":"application_1_%d","submitted_time":"2017-10-09 00:00:00","user":"u","attempts":[%s]}`,
			"[,"[min(i, 1)], i, ran("2017-10-09 01:00:00", "2017-10-09 02:00:00"))
	}
	b.WriteString("]")
	if b.Len() < 2*maxJob {
		t.Fatalf("the log has only %d bytes", b.Len())
	}
	if _, report := importText(t, b.String(), Config{}); report.Kept != 20_000 {
		t.Errorf("kept %d jobs", report.Kept)
	}
}

// Any jobs come out of the log as they went in, and through the table's file.
func TestLogKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	zone, err := time.LoadLocation(Zone)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2017, 11, 4, 12, 0, 0, 0, zone)
	rapid.Check(t, func(t *rapid.T) {
		var jobs []string
		want := map[int64]datasets.Row{}
		for id := range int64(rapid.IntRange(1, 20).Draw(t, "jobs")) {
			// Around the change of the clocks, of which each submission is outside.
			at := start.Add(time.Duration(rapid.IntRange(0, 11*3600).Draw(t, "submit")) * time.Second)
			r := datasets.Row{
				ID: id + 1, Submit: at.Sub(start) + 12*time.Hour, GPUs: rapid.Int32Range(1, 20).Draw(t, "gpus"),
				Tenant: rapid.StringMatching(`[a-f0-9]{0,6}`).Draw(t, "vc"), Status: rapid.SampledFrom([]string{"Pass", "Killed", "Failed"}).Draw(t, "status"),
			}
			detail := `{"gpus":["gpu0"` + strings.Repeat(`,"gpu1"`, int(r.GPUs)-1) + `]}`
			var attempts []string
			for range rapid.IntRange(1, 4).Draw(t, "attempts") {
				begin := at.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "wait")) * time.Second)
				at = begin.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "run")) * time.Second)
				attempts = append(attempts, fmt.Sprintf(`{"start_time":%q,"end_time":%q,"detail":[%s]}`, begin.Format(time.DateTime), at.Format(time.DateTime), detail))
				r.Duration += at.Sub(begin)
			}
			jobs = append(jobs, fmt.Sprintf(`{"jobid":"application_%d","vc":%q,"status":%q,"submitted_time":%q,"attempts":[%s]}`, id, r.Tenant, r.Status,
				start.Add(r.Submit-12*time.Hour).Format(time.DateTime), strings.Join(attempts, ",")))
			want[r.ID] = r
		}
		j, _, err := (Config{StrayGap: -1}).Import(strings.NewReader("["+strings.Join(jobs, ",")+"]"), "t")
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]datasets.Row{}
		for _, r := range j.Rows {
			got[r.ID] = r
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("jobs (-want +got):\n%s", diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}
