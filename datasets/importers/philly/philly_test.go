package philly

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

const head = "timestamp,duration,num_gpus,gpu_time,cluster\n"

// fixture is written by hand after the schema: unsorted, a duplicate, a short
// job, a stray first job, a job of each kind that is dropped.
const fixture = head +
	"2017-10-09 07:01:55,66.0,1,66.0,11cb48\n" + // 1
	"2017-10-09 06:13:03,2951.5,8,23612.0,6214e9\n" + // 2
	"2017-10-09 07:01:55,66.0,1,66.0,11cb48\n" + // 3: as 1
	"2017-10-09 07:01:55,66.0,1,66.0,6214e9\n" + // 4: as 1 but for the cluster
	"2017-10-09 06:13:36,59.0,128,7552.0,6214e9\n" + // 5: short
	"2017-10-01 00:00:00,5,1,5,old\n" + // 6: stray and short
	"2017-10-10 00:00:00,0,1,0,6214e9\n" + // 7: no time, and short
	"2017-10-10 00:00:00,9,0,0,6214e9\n" + // 8: no GPU, and short
	"\n"

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
	const midnight = 6*time.Hour + 13*time.Minute + 3*time.Second
	want := []datasets.Row{
		{ID: 2, Submit: midnight, GPUs: 8, Duration: 2951500 * time.Millisecond, Tenant: "6214e9"},
		{ID: 5, Submit: midnight + 33*time.Second, GPUs: 128, Duration: 59 * time.Second, Tenant: "6214e9"},
		{ID: 1, Submit: 7*time.Hour + time.Minute + 55*time.Second, GPUs: 1, Duration: 66 * time.Second, Tenant: "11cb48"},
		{ID: 4, Submit: 7*time.Hour + time.Minute + 55*time.Second, GPUs: 1, Duration: 66 * time.Second, Tenant: "6214e9"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantReport := datasets.Report{Read: 8, Kept: 4, Dropped: []datasets.Count{{Reason: importers.DropDuplicate, Rows: 1}, {Reason: importers.DropNoTime, Rows: 1}, {Reason: importers.DropStray, Rows: 1}, {Reason: importers.DropNoGPU, Rows: 1}}}
	if diff := cmp.Diff(byReason(wantReport), byReason(report.Report)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: warnShort, Rows: 4}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := report.Span(); got != 48*time.Minute+52*time.Second {
		t.Errorf("got span %v", got)
	}
	if got := j.Meta.Epoch.Format(time.RFC3339); got != "2017-10-09T00:00:00-07:00" {
		t.Errorf("got epoch %s, want midnight, Pacific daylight time", got)
	}
	if j.Meta.Licence != "CC-BY-4.0" || len(j.Meta.SourceSHA256) != 64 || j.Meta.RowsIn != 8 || len(j.Meta.Filters) != 4 {
		t.Errorf("got metadata %+v", j.Meta)
	}
}

func byReason(r datasets.Report) map[string]int {
	m := map[string]int{"read": r.Read, "kept": r.Kept}
	for _, d := range r.Dropped {
		m[d.Reason] = d.Rows
	}
	return m
}

func TestMinDurationDropsShortJobs(t *testing.T) {
	j, report := importText(t, fixture, Config{MinDuration: time.Minute})
	if got := byReason(report.Report); got[dropShort] != 2 || got[importers.DropStray] != 0 || report.Kept != 3 {
		t.Errorf("got %v, want the two short jobs with GPUs and time dropped, 3 kept", got)
	}
	for _, r := range j.Rows {
		if r.Duration < time.Minute {
			t.Errorf("kept a job of %v", r.Duration)
		}
	}
}

func TestStrayRuleTakesOneJobAtMost(t *testing.T) {
	lines := []string{
		"2017-09-04 10:00:00,100,1,100,a", "2017-09-07 10:00:00,100,1,100,a",
		"2017-09-10 10:00:01,100,1,100,a", "2017-09-10 11:00:00,100,1,100,a",
	}
	text := head + strings.Join(lines, "\n")
	for name, test := range map[string]struct {
		cfg  Config
		kept int
	}{"default": {Config{}, 3}, "off": {Config{StrayGap: -1}, 4}, "longer": {Config{StrayGap: 72 * time.Hour}, 4}, "shorter": {Config{StrayGap: 71 * time.Hour}, 3}} {
		if _, report := importText(t, text, test.cfg); report.Kept != test.kept {
			t.Errorf("%s: kept %d, want %d", name, report.Kept, test.kept)
		}
	}
	// A trace of one job has no rest to be long before.
	if _, report := importText(t, head+lines[0], Config{}); report.Kept != 1 {
		t.Errorf("a single job was dropped")
	}
}

// The clocks go back at 2:00 on 5 November 2017: 1:30 comes twice, and the
// time between 0:30 and 2:30 on the clock is three hours.
func TestClockChangeInAutumn(t *testing.T) {
	j, report := importText(t, head+
		"2017-11-05 00:30:00,100,1,100,a\n2017-11-05 01:30:00,100,1,100,a\n2017-11-05 02:30:00,100,1,100,a\n", Config{})
	var got []time.Duration
	for _, r := range j.Rows {
		got = append(got, r.Submit)
	}
	if diff := cmp.Diff([]time.Duration{30 * time.Minute, 90 * time.Minute, 210 * time.Minute}, got); diff != "" {
		t.Errorf("submissions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: "submitted " + importers.WarnRepeated, Rows: 1}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// They go forward at 2:00 on 12 March 2017: there is no 2:30.
func TestClockChangeInSpring(t *testing.T) {
	j, report := importText(t, head+
		"2017-03-12 01:30:00,100,1,100,a\n2017-03-12 02:30:00,100,1,100,a\n2017-03-12 03:30:00,100,1,100,a\n", Config{})
	var got []time.Duration
	for _, r := range j.Rows {
		got = append(got, r.Submit)
	}
	if diff := cmp.Diff([]time.Duration{90 * time.Minute, 150 * time.Minute, 150 * time.Minute}, got); diff != "" {
		t.Errorf("submissions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: "submitted " + importers.WarnSkipped, Rows: 1}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestThinStartIsReported(t *testing.T) {
	lines := []string{head[:len(head)-1]}
	for i := range 400 {
		day := 9
		if i < 3 {
			day = 7 + i%2
		}
		lines = append(lines, fmt.Sprintf("2017-10-%02d %02d:%02d:00,100,1,100,a", day, i/60, i%60))
	}
	_, report := importText(t, strings.Join(lines, "\n"), Config{})
	if diff := cmp.Diff([]datasets.Count{{Reason: importers.WarnThin, Rows: 2}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	_, report = importText(t, strings.Join(append(lines[:1:1], lines[4:]...), "\n"), Config{})
	if len(report.Warnings) != 0 {
		t.Errorf("got warnings %v of an even trace, want none", report.Warnings)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	for _, trace := range []string{fixture, logFixture} {
		if err := importertest.Check(Format(), []byte(trace), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

// Any jobs come out of the CSV as they went in, and through the table's file.
func TestTableKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := head, map[int64]datasets.Row{}
		start := time.Date(2017, 9, 7, 0, 0, 0, 0, time.UTC)
		for id := range int64(rapid.IntRange(1, 30).Draw(t, "jobs")) {
			// Distinct submissions, before the change of the clocks.
			submit := time.Duration(rapid.IntRange(0, 40*24*60).Draw(t, "minute"))*time.Minute + time.Duration(id)*time.Second
			duration := time.Duration(rapid.IntRange(1, 1e6).Draw(t, "ms")) * time.Millisecond
			gpus := rapid.Int32Range(1, 128).Draw(t, "gpus")
			tenant := rapid.StringMatching(`[a-f0-9]{0,6}`).Draw(t, "cluster")
			text += fmt.Sprintf("%s,%v,%d,%v,%s\n", start.Add(submit).Format(time.DateTime), duration.Seconds(), gpus, duration.Seconds()*float64(gpus), tenant)
			want[id+1] = datasets.Row{ID: id + 1, Submit: submit, GPUs: gpus, Duration: duration, Tenant: tenant}
		}
		j, _, err := (Config{StrayGap: -1}).Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		got := map[int64]datasets.Row{}
		day := j.Meta.Epoch.Sub(start.Add(7 * time.Hour)) // midnight in California
		for _, r := range j.Rows {
			r.Submit += day
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

func TestColumnsInAnyOrderAndUnits(t *testing.T) {
	j, report := importText(t, "\ufeffcluster,extra,gpu_time,num_gpus,duration,timestamp\r\n\"a,b\",x,9,2,4,2017-10-09 07:01:55\r\n", Config{})
	if r := j.Rows[0]; r.Tenant != "a,b" || r.GPUs != 2 || r.Duration != 4*time.Second {
		t.Errorf("got %+v", r)
	}
	if got := fmt.Sprint(report.Warnings); !strings.Contains(got, warnGPUTime) {
		t.Errorf("got warnings %s, want one about gpu_time", got)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	row := func(fields string) string { return head + "2017-10-09 07:01:55,66.0,1,66.0,a\n" + fields + "\n" }
	tests := []struct {
		name, input string
		line        int64
		column, fix string
	}{
		{"empty", "", 0, "", "name the file"},
		{"blank", "\n\n", 0, "", "want the columns"},
		{"no jobs", head, 0, "", "check the file"},
		{"missing column", "timestamp,duration,num_gpus,gpu_time\n", 1, "cluster", "want the columns"},
		{"other format", "job_id;user\n1;x\n", 1, "timestamp", "want the columns"},
		{"too few fields", row("2017-10-09 07:01:55,66.0,1"), 3, "", "want 5"},
		{"too many fields", row("2017-10-09 07:01:55,66.0,1,66.0,a,b"), 3, "", "want 5"},
		{"bad time", row("2017-13-09 07:01:55,66.0,1,66.0,a"), 3, "timestamp", "2017-10-09"},
		{"zoned time", row("2017-10-09T07:01:55Z,66.0,1,66.0,a"), 3, "timestamp", "2017-10-09"},
		{"negative duration", row("2017-10-09 07:01:55,-66.0,1,66.0,a"), 3, "duration", "0 to 100 years"},
		{"NaN duration", row("2017-10-09 07:01:55,NaN,1,66.0,a"), 3, "duration", "0 to 100 years"},
		{"endless duration", row("2017-10-09 07:01:55,1e300,1,66.0,a"), 3, "duration", "0 to 100 years"},
		{"half a GPU", row("2017-10-09 07:01:55,66.0,0.5,33.0,a"), 3, "num_gpus", "whole number"},
		{"negative GPUs", row("2017-10-09 07:01:55,66.0,-1,66.0,a"), 3, "num_gpus", "whole number"},
		{"absurd GPUs", row("2017-10-09 07:01:55,66.0,1000001,66.0,a"), 3, "num_gpus", "1000000"},
		{"no GPU time", row("2017-10-09 07:01:55,66.0,1,,a"), 3, "gpu_time", "GPU-seconds"},
		{"huge name", row("2017-10-09 07:01:55,66.0,1,66.0," + strings.Repeat("x", 300)), 3, "cluster", "256 bytes"},
		{"not UTF-8", row("2017-10-09 07:01:55,66.0,1,66.0,\xff"), 3, "cluster", "UTF-8"},
		{"open quote", row(`2017-10-09 07:01:55,66.0,1,66.0,"a`), 3, "", "quote values"},
		{"binary", "PAR1\x00\x01\x02", 1, "timestamp", "want the columns"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Import(strings.NewReader(test.input), "t.csv")
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.csv" || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want line %d, column %q, fix with %q", err, test.line, test.column, test.fix)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line", err)
			}
		})
	}
	if _, _, err := (Config{MinDuration: -1}).Import(strings.NewReader(fixture), "t"); err == nil {
		t.Error("a negative MinDuration was accepted")
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0})
	f.Add([]byte("\ufeff" + head + `"2017-11-05 01:30:00",1e9,1,1e9,"a,""b"`))
	f.Add([]byte(logFixture))
	f.Add([]byte("[{\"jobid\":\"a\",\"submitted_time\":\"2017-11-05 01:30:00\",\"attempts\":[{}]}]"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real file, with the counts published in its README.
func TestImportRealFile(t *testing.T) {
	f := importertest.OpenShared(t, "philly", "philly_jobs.csv.gz")
	j, report, err := Import(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	want := datasets.Report{Read: 82_247, Kept: 82_181, Dropped: []datasets.Count{{Reason: importers.DropDuplicate, Rows: 65}, {Reason: importers.DropStray, Rows: 1}}}
	if diff := cmp.Diff(want, report.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]datasets.Count{{Reason: warnShort, Rows: 7654}, {Reason: importers.WarnThin, Rows: 19}, {Reason: "submitted " + importers.WarnRepeated, Rows: 7}}, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if first, last := report.First.Format(time.DateTime), report.Last.Format(time.DateTime); first != "2017-09-07 03:58:57" || last != "2017-12-22 08:02:11" {
		t.Errorf("got jobs from %s to %s", first, last)
	}
	d := j.Describe()
	if n := len(d.Sizes); d.Sizes[0].GPUs != 1 || d.Sizes[n-1].GPUs != 128 || d.Duration.Min != 1 || len(d.Tenants) != 15 || d.NoModel != len(j.Rows) {
		t.Errorf("got sizes %v, durations %v, %d tenants", d.Sizes, d.Duration, len(d.Tenants))
	}
	// GPU-hours of the jobs kept, added up from the gpu_time column by a script.
	if want := 973_093.7417; math.Abs(d.GPUHours-want) > 1e-3 {
		t.Errorf("got %.4f GPU-hours, want %.4f", d.GPUHours, want)
	}
}
