package swf

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

// fixture is written by hand after the definition: header comments, a job of
// each status, one in parts, one with requested processors only, one of each
// kind that is dropped, a copy, a comment between lines.
const fixture = `; Version: 2.2
; Computer: Example
;  Installation: Somewhere
; UnixStartTime: 1000000000
; TimeZoneString: Europe/Paris
; TimeZone: 3600
; Note: the clock is right
1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1
2 60 -1 90.5 -1 -1 -1 8 -1 -1 0 4 1 -1 1 2 -1 -1
; a word in between
3 61 5 100 4 -1 -1 4 -1 -1 1 4 1 -1 1 2 -1 -1
3 -1 5 40 4 -1 -1 4 -1 -1 2 4 1 -1 1 2 -1 -1
3 -1 9 60 4 -1 -1 4 -1 -1 3 4 1 -1 1 2 -1 -1
4 70 -1 -1 -1 -1 -1 4 -1 -1 5 4 1 -1 1 2 -1 -1
5 70 0 10 -1 -1 -1 -1 -1 -1 5 4 1 -1 1 2 -1 -1
6 70 0 10 1 -1 -1 -1 -1 -1 5 -1 1 -1 1 2 -1 -1
7 70 0 0 1 -1 -1 -1 -1 -1 1 -1 1 -1 1 2 -1 -1
6	70	0	10	1	-1	-1	-1	-1	-1	5	-1	1	-1	1	2	-1	-1
`

func importText(t *testing.T, text string, cfg Config) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := cfg.Import(strings.NewReader(text), "t.swf")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture, Config{})
	// 1000000000 is 2001-09-09 03:46:40 in Paris.
	const start = 3*time.Hour + 46*time.Minute + 40*time.Second
	want := []datasets.Row{
		{ID: 1, Submit: start, GPUs: 16, Duration: time.Hour, Tenant: "user 3", Status: "completed"},
		{ID: 2, Submit: start + time.Minute, GPUs: 8, Duration: 90500 * time.Millisecond, Tenant: "user 4", Status: "failed"},
		{ID: 3, Submit: start + 61*time.Second, GPUs: 4, Duration: 100 * time.Second, Tenant: "user 4", Status: "completed"},
		{ID: 6, Submit: start + 70*time.Second, GPUs: 1, Duration: 10 * time.Second, Status: "cancelled"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{dropPartial: 2, importers.DropNoTime: 2, dropNoProcessors: 1, importers.DropDuplicate: 1}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 10 || report.Kept != 4 {
		t.Errorf("got %+v, dropped (-want +got):\n%s", report.Report, diff)
	}
	if diff := cmp.Diff(map[string]int{warnProcessors: 5}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if m := j.Meta; m.Epoch.Format(time.RFC3339) != "2001-09-09T00:00:00+02:00" || m.Zone != "Europe/Paris (as in the header)" || m.Source != "Standard Workload Format, Example, Somewhere" {
		t.Errorf("got metadata %+v", m)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	if err := importertest.Check(Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Without UnixStartTime there is no calendar, and 0 says that it is not known.
func TestNoCalendar(t *testing.T) {
	for _, head := range []string{"", "; UnixStartTime: 0\n; TimeZoneString: Europe/Paris\n"} {
		j, _ := importText(t, head+"1 5 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n", Config{})
		if !j.Meta.Epoch.IsZero() || j.Meta.Zone != "" || j.Rows[0].Submit != 5*time.Second {
			t.Errorf("%q: got metadata %+v, submission %v", head, j.Meta, j.Rows[0].Submit)
		}
	}
}

// Without a zone hours are counted in UTC, and the deprecated TimeZone changes
// nothing.
func TestNoZone(t *testing.T) {
	j, _ := importText(t, "; UnixStartTime: 1000000000\n; TimeZone: 3600\n1 5 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n", Config{})
	if got := j.Meta.Epoch.Format(time.RFC3339); got != "2001-09-09T00:00:00Z" || !strings.HasPrefix(j.Meta.Zone, "UTC (assumed") {
		t.Errorf("got epoch %s, zone %s", got, j.Meta.Zone)
	}
}

func TestProcessorsPerGPU(t *testing.T) {
	j, report := importText(t, fixture, Config{ProcessorsPerGPU: 6})
	var got []int32
	for _, r := range j.Rows {
		got = append(got, r.GPUs)
	}
	if diff := cmp.Diff([]int32{3, 2, 1, 1}, got); diff != "" || len(report.Warnings) != 0 {
		t.Errorf("warnings %v, GPUs (-want +got):\n%s", report.Warnings, diff)
	}
}

func TestTenants(t *testing.T) {
	for tenant, want := range map[string]string{"user": "user 3", "group": "group 1", "queue": "queue 1", "partition": "partition 2"} {
		if j, _ := importText(t, fixture, Config{Tenant: tenant}); j.Rows[0].Tenant != want {
			t.Errorf("%s: got %q, want %q", tenant, j.Rows[0].Tenant, want)
		}
	}
}

func TestConfigReportsEveryProblem(t *testing.T) {
	_, _, err := Config{ProcessorsPerGPU: -1, Tenant: "project"}.Import(strings.NewReader(fixture), "t")
	if err == nil || !strings.Contains(err.Error(), "ProcessorsPerGPU is -1") || !strings.Contains(err.Error(), `Tenant is "project"`) {
		t.Errorf("got %v", err)
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		fixture[:30]:        true,
		"; MaxProcs: 128\n": true,
		"; a comment\n\n1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n": true,
		"\ufeff1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1":            true,
		"; a comment\n": false,
		"; a comment\n1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1\n":    false,
		"1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 x\n":               false,
		"; Configuration of a service\n; Port: 80\n[http]\nversion = 1.1\n": false,
	} {
		if got := Sniff([]byte(text)); got != want {
			t.Errorf("%.40q: got %t", text, got)
		}
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	// line returns a workload whose second line has another value in a field.
	line := func(field int, value string) string {
		f := strings.Fields("2 60 -1 90.5 8 -1 -1 8 -1 -1 0 4 1 -1 1 2 -1 -1")
		f[field] = value
		return "1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1\n" + strings.Join(f, " ") + "\n"
	}
	for _, test := range []struct {
		name, text  string
		line        int64
		column, fix string
	}{
		{"comments only", "; Version: 2.2\n", 0, "", "check the file"},
		{"17 fields", strings.Replace(fixture, "1 0 10", "1 0", 1), 8, "", "18 numbers"},
		{"a word", line(6, "much"), 2, "used memory", "want a number"},
		{"endless", line(3, "Inf"), 2, "run time", "want a number"},
		{"negative submission", line(1, "-5"), 2, "submit time", "0 to 100 years"},
		{"late submission", line(1, "1e18"), 2, "submit time", "0 to 100 years"},
		{"long run", line(3, "1e18"), 2, "run time", "0 to 100 years"},
		{"half an id", line(0, "1.5"), 2, "job number", "whole number"},
		{"too many processors", line(4, "2e6"), 2, "allocated processors", "1000000"},
		{"start in words", "; UnixStartTime: Monday\n", 1, "UnixStartTime", "seconds since 1970"},
		{"start too late", "; UnixStartTime: 1e18\n", 1, "UnixStartTime", "seconds since 1970"},
		{"start below a job", line(0, "2") + "; UnixStartTime: 5\n", 3, "UnixStartTime", "move the comment"},
		{"unknown zone", "; TimeZoneString: Moon/Tycho\n", 1, "TimeZoneString", "Europe/Paris"},
		{"zone of the machine", "; TimeZoneString: Local\n", 1, "TimeZoneString", "Europe/Paris"},
		{"after 2200", "; UnixStartTime: 7252000000\n" + line(1, "3e9"), 3, "submit time", "2200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Import(strings.NewReader(test.text), "t.swf")
			got, ok := errors.AsType[*datasets.RowError](err)
			if !ok || got.File != "t.swf" || got.Row != test.line || got.Column != test.column || !strings.Contains(got.Fix, test.fix) {
				t.Errorf("got %#v, want line %d, column %q, fix with %q", err, test.line, test.column, test.fix)
			}
		})
	}
}

func TestUnknownStatus(t *testing.T) {
	j, report := importText(t, "1 0 10 3600 16 -1 -1 16 7200 -1 9 3 1 -1 1 2 -1 -1\n2 0 10 3600 16 -1 -1 16 7200 -1 -1 3 1 -1 1 2 -1 -1\n", Config{ProcessorsPerGPU: 1})
	if diff := cmp.Diff(map[string]int{importers.WarnState: 1}, importertest.Counts(report.Warnings)); diff != "" || j.Rows[0].Status != "" {
		t.Errorf("status %q, warnings (-want +got):\n%s", j.Rows[0].Status, diff)
	}
}

// Any jobs come out of a workload as they went in, and through the table's file.
func TestImportKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := "", []datasets.Row{}
		submit := time.Duration(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			submit += time.Duration(rapid.IntRange(0, 1e6).Draw(t, "gap")) * time.Second
			r := datasets.Row{
				ID: int64(i + 1), Submit: submit, GPUs: rapid.Int32Range(1, 1e6).Draw(t, "processors"),
				Duration: time.Duration(rapid.IntRange(1, 1e9).Draw(t, "ms")) * time.Millisecond,
			}
			user, status := rapid.IntRange(-1, 99).Draw(t, "user"), rapid.SampledFrom([]float64{-1, 0, 1, 5}).Draw(t, "status")
			if r.Status = statuses[status]; user >= 0 {
				r.Tenant = fmt.Sprintf("user %d", user)
			}
			text += fmt.Sprintf("%d %v -1 %v %d -1 -1 -1 -1 -1 %v %d -1 -1 -1 -1 -1 -1\n", r.ID, r.Submit.Seconds(), r.Duration.Seconds(), r.GPUs, status, user)
			want = append(want, r)
		}
		j, _, err := Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" {
			t.Fatalf("jobs (-want +got):\n%s", diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte("1 0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1"))
	f.Add([]byte("; UnixStartTime: 7252000000\n1 0 1e9 3e9 1e6 -1 -1 16 7200 -1 1 3 1 -1 1 2 -1 -1"))
	f.Add(importertest.Zstd([]byte(fixture)))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}
