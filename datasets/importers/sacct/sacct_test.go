package sacct

import (
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

const head = "JobID|JobIDRaw|User|Account|Partition|State|Submit|Start|End|ElapsedRaw|NNodes|ReqTRES|AllocTRES\n"

// fixture is written by hand after sacct(1): a job with its steps, one of two
// array tasks that ran, a running and a pending job, one cancelled before and
// one after it started, one without a GPU, one with a shard, one requeued.
const fixture = head +
	"100|100|alice|ml|gpu|COMPLETED|2024-01-15T08:00:00|2024-01-15T08:05:00|2024-01-15T10:05:00|7200|1|billing=8,cpu=8,gres/gpu=2,mem=64G,node=1|billing=8,cpu=8,gres/gpu=2,gres/gpu:v100=2,mem=64G,node=1\n" +
	"100.batch|100.batch||ml||COMPLETED|2024-01-15T08:05:00|2024-01-15T08:05:00|2024-01-15T10:05:00|7200|1||cpu=8,gres/gpu=2,mem=64G,node=1\n" +
	"100.extern|100.extern||ml||COMPLETED|2024-01-15T08:05:00|2024-01-15T08:05:00|2024-01-15T10:05:00|7200|1||billing=8,cpu=8,gres/gpu=2,mem=64G,node=1\n" +
	"100.0|100.0||ml||COMPLETED|2024-01-15T08:05:01|2024-01-15T08:05:01|2024-01-15T10:05:00|7199|1||cpu=8,gres/gpu=2,mem=64G,node=1\n" +
	"101_1|102|bob|vision|gpu|OUT_OF_MEMORY|2024-01-15T07:00:00|2024-01-15T07:00:10|2024-01-15T07:01:50|100|2|cpu=8,gres/gpu=16,node=2|cpu=8,gres/gpu:h100=16,node=2\n" +
	"101_[2-9%1]|101|bob|vision|gpu|PENDING|2024-01-15T07:00:00|Unknown|Unknown|0|2|cpu=8,gres/gpu=16,node=2|\n" +
	"103|103|carol|ml|gpu|RUNNING|2024-01-15T09:00:00|2024-01-15T09:00:00|Unknown|3600|1|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1\n" +
	"104|104|carol|ml|gpu|CANCELLED by 1001|2024-01-15T09:00:00|None|2024-01-15T09:10:00|0|1|cpu=8,gres/gpu=1|\n" +
	"105|105|carol|ml|gpu|CANCELLED by 1001|2024-01-15T09:00:00|2024-01-15T09:00:00|2024-01-15T09:10:00|600|1|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1\n" +
	"106|106|dave|hpc|cpu|COMPLETED|2024-01-15T09:00:00|2024-01-15T09:00:00|2024-01-15T09:10:00|600|1|cpu=8|billing=8,cpu=8,mem=4G,node=1\n" +
	"107|107|dave|hpc|gpu|COMPLETED|2024-01-15T09:00:00|2024-01-15T09:00:00|2024-01-15T09:10:00|600|1|cpu=8,gres/shard=4|cpu=8,gres/shard=4\n" +
	"108|108|dave|hpc|gpu|REQUEUED|2024-01-15T09:00:00|2024-01-15T09:00:00|2024-01-15T09:10:00|600|1|cpu=8,gres/gpu=4|cpu=8,gres/gpu=4\n" +
	"109|109|dave|hpc|gpu|TIMEOUT|2024-01-15T09:30:00|2024-01-15T09:40:00|2024-01-15T09:40:00|0|1|cpu=8,gres/gpu=4|cpu=8,gres/gpu=4\n" +
	"105|105|carol|ml|gpu|CANCELLED by 1001|2024-01-15T09:00:00|2024-01-15T09:00:00|2024-01-15T09:10:00|600|1|cpu=8,gres/gpu=1|cpu=8,gres/gpu=1\n"

func importText(t *testing.T, text string, cfg Config) (*datasets.Jobs, Report) {
	t.Helper()
	j, report, err := cfg.Import(strings.NewReader(text), "sacct.txt")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture, Config{})
	want := []datasets.Row{
		{ID: 102, Submit: 7 * time.Hour, GPUs: 16, Duration: 100 * time.Second, ReferenceGPU: "H100", Tenant: "bob", Status: "OUT_OF_MEMORY"},
		{ID: 100, Submit: 8 * time.Hour, GPUs: 2, Duration: 2 * time.Hour, ReferenceGPU: "V100", Tenant: "alice", Status: "COMPLETED"},
		{ID: 105, Submit: 9 * time.Hour, GPUs: 1, Duration: 10 * time.Minute, Tenant: "carol", Status: "CANCELLED"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{
		dropStep: 3, importers.DropNoStart: 2, importers.DropRunning: 1, importers.DropNoGPU: 1, importers.DropShared: 1,
		dropRequeued: 1, importers.DropNoTime: 1, importers.DropDuplicate: 1,
	}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 14 {
		t.Errorf("read %d, dropped (-want +got):\n%s", report.Read, diff)
	}
	if diff := cmp.Diff(map[string]int{warnZone: 4}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if j.Meta.Zone != "UTC (assumed: sacct prints local times)" || j.Meta.Epoch.Format(time.RFC3339) != "2024-01-15T00:00:00Z" {
		t.Errorf("got metadata %+v", j.Meta)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	if err := importertest.Check(Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestTrailingBarsOfParsable(t *testing.T) {
	want, _ := importText(t, fixture, Config{})
	got, _ := importText(t, strings.ReplaceAll(fixture, "\n", "|\n"), Config{})
	if got.Hash() != want.Hash() {
		t.Error("other rows than without bars")
	}
}

func TestNamesOfJobsMayHoldBars(t *testing.T) {
	const head = "JobID|JobName|State|Submit|Start|Elapsed|AllocTRES\n"
	j, _ := importText(t, head+"1|train|a||b|COMPLETED|2024-01-15T08:00:00|2024-01-15T08:05:00|01:00:00|gres/gpu=1\n", Config{})
	if len(j.Rows) != 1 || j.Rows[0].Duration != time.Hour {
		t.Errorf("got %+v", j.Rows)
	}
}

// oneJob returns an accounting of one job with these columns changed.
func oneJob(changes ...string) string {
	columns := []string{"JobID", "State", "Submit", "Start", "End", "Elapsed", "NNodes", "AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES", "User", "Account"}
	values := map[string]string{
		"JobID": "1", "State": "COMPLETED", "Submit": "2024-01-15T08:00:00", "Start": "2024-01-15T08:00:00", "End": "2024-01-15T09:00:00",
		"Elapsed": "01:00:00", "NNodes": "2", "AllocTRES": "gres/gpu=4", "User": "u", "Account": "a",
	}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		values[name] = value
	}
	row := make([]string, len(columns))
	for i, name := range columns {
		row[i] = values[name]
	}
	return strings.Join(columns, "|") + "\n" + strings.Join(row, "|") + "\n"
}

func TestGPUCounts(t *testing.T) {
	for _, test := range []struct {
		changes   []string
		gpus      int32
		reference string
		warnings  map[string]int
	}{
		{[]string{"AllocTRES=cpu=4,gres/gpu=3"}, 3, "", nil},
		{[]string{"AllocTRES=gres/gpu:v100=3"}, 3, "V100", nil},
		{[]string{"AllocTRES=gres/gpu:v100=3,gres/gpu=3"}, 3, "V100", nil},
		{[]string{"AllocTRES=gres/gpu:v100=3,gres/gpu:p100=1"}, 4, "", nil},
		{[]string{"AllocTRES=gres/gpu:a100=2"}, 2, "", map[string]int{warnGPUType: 1}}, // of which memory?
		{[]string{"AllocTRES=gres/gpu=2,gres/gpumem=80G,gres/gpuutil=90"}, 2, "", nil},
		{[]string{"AllocTRES=cpu=4", "ReqTRES=cpu=4,gres/gpu=6"}, 6, "", nil},
		{[]string{"AllocTRES=", "AllocGRES=gpu:3"}, 6, "", map[string]int{warnPerNode: 1}},
		{[]string{"AllocTRES=", "AllocGRES=gpu:p100:2(S:0-1),craynetwork:1"}, 4, "P100", map[string]int{warnPerNode: 1}},
		{[]string{"AllocTRES=", "ReqGRES=gpu"}, 2, "", map[string]int{warnPerNode: 1}},
		{[]string{"AllocTRES=", "ReqGRES=gpu:t4"}, 2, "T4", map[string]int{warnPerNode: 1}},
		{[]string{"AllocTRES=", "ReqGRES=gres:gpu:t4:1"}, 2, "T4", map[string]int{warnPerNode: 1}},
	} {
		j, report := importText(t, oneJob(test.changes...), Config{Zone: time.UTC})
		if r := j.Rows[0]; r.GPUs != test.gpus || r.ReferenceGPU != test.reference {
			t.Errorf("%v: got %d of %q, want %d of %q", test.changes, r.GPUs, r.ReferenceGPU, test.gpus, test.reference)
		}
		if len(report.Warnings) != len(test.warnings) || len(test.warnings) > 0 && !cmp.Equal(test.warnings, importertest.Counts(report.Warnings)) {
			t.Errorf("%v: got warnings %v, want %v", test.changes, report.Warnings, test.warnings)
		}
	}
	for _, none := range []string{"", "cpu=8", "gpu=3", "gres/gpumem=80G", "gres/nic=1"} {
		if err := importertest.Refused(Format(), oneJob("AllocTRES="+none), datasets.RowError{Value: importers.DropNoGPU, Fix: "check"}); err != nil {
			t.Errorf("%q: %v", none, err)
		}
	}
	for _, shared := range []string{"gres/shard=2", "gres/mps=50,cpu=8"} {
		if err := importertest.Refused(Format(), oneJob("AllocTRES="+shared), datasets.RowError{Value: importers.DropShared, Fix: "check"}); err != nil {
			t.Errorf("%q: %v", shared, err)
		}
	}
}

func TestStates(t *testing.T) {
	other := strings.TrimPrefix(oneJob("JobID=9", "Submit=2024-01-15T07:00:00"), oneJob("JobID=9")[:strings.Index(oneJob(), "\n")+1])
	for state, want := range map[string]string{
		"COMPLETED": "COMPLETED", "CANCELLED by 1000": "CANCELLED", "CANCELLED+": "CANCELLED", "FAILED": "FAILED", "TIMEOUT": "TIMEOUT", "NODE_FAIL": "NODE_FAIL",
		"PREEMPTED": "PREEMPTED", "OUT_OF_MEMORY": "OUT_OF_MEMORY", "DEADLINE": "DEADLINE", "BOOT_FAIL": "BOOT_FAIL", "REVOKED": "REVOKED", "LOST": "LOST",
		"RUNNING": "", "PENDING": "", "SUSPENDED": "", "REQUEUED": "", "RESIZING": "",
	} {
		j, report := importText(t, oneJob("State="+state)+other, Config{Zone: time.UTC})
		switch {
		case want == "" && len(j.Rows) != 1:
			t.Errorf("%s: kept", state)
		case want != "" && (len(j.Rows) != 2 || j.Rows[1].Status != want):
			t.Errorf("%s: got %+v, want status %s", state, j.Rows, want)
		}
		if warned := len(report.Warnings) == 1; warned != (state == "LOST") {
			t.Errorf("%s: got warnings %v", state, report.Warnings)
		}
	}
}

func TestTimeFormats(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ submit, want string }{
		{"2024-01-15T08:00:00", "2024-01-15T08:00:00+01:00"}, // local
		{"1705302000", "2024-01-15T08:00:00+01:00"},          // SLURM_TIME_FORMAT=%s
		{"2024-01-15T08:00:00+0100", "2024-01-15T08:00:00+01:00"},
		{"2024-01-15T08:00:00+01:00", "2024-01-15T08:00:00+01:00"},
		{"2024-01-15T02:00:00-0500", "2024-01-15T08:00:00+01:00"},
	} {
		_, report := importText(t, oneJob("Submit="+test.submit), Config{Zone: berlin})
		if got := report.First.Format(time.RFC3339); got != test.want {
			t.Errorf("%s: got %s, want %s", test.submit, got, test.want)
		}
	}
	for _, relative := range []string{"20:43:05", "Ystday 12:00", "15 Jan 11:00", "99999999999"} {
		if err := importertest.Refused(Format(), oneJob("Submit="+relative), datasets.RowError{Row: 2, Column: "Submit", Fix: "SLURM_TIME_FORMAT"}); err != nil {
			t.Errorf("%s: %v", relative, err)
		}
	}
	j, report := importText(t, oneJob("Submit=1705302000", "Start=1705302000", "End=1705305600"), Config{})
	if len(report.Warnings) != 0 || !strings.Contains(j.Meta.Zone, "exact") {
		t.Errorf("seconds since 1970: got warnings %v, zone %s", report.Warnings, j.Meta.Zone)
	}
}

func TestElapsed(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:00:01": time.Second, "01:02:03": time.Hour + 2*time.Minute + 3*time.Second, "02:03": 2*time.Minute + 3*time.Second,
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "10-00:00:00": 240 * time.Hour, "00:00:01.5": 1500 * time.Millisecond,
	} {
		if got, ok := parseElapsed(text); !ok || got != want {
			t.Errorf("%s: got %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "5", "1-5", "-1:00", "1:2:3:4", "1-1-00:00:00", "00:00:-1", "99999-00:00:00", "x:y"} {
		if got, ok := parseElapsed(text); ok {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// ElapsedRaw leaves out the time a job was suspended, and does not jump with
// the clocks: in Berlin they went back on 27 October 2024, 3:00 to 2:00.
func TestElapsedIsTakenBeforeTheTimes(t *testing.T) {
	j, report := importText(t, oneJob("Elapsed=00:40:00"), Config{Zone: time.UTC})
	if j.Rows[0].Duration != 40*time.Minute || report.Warnings[0].Reason != warnSuspended {
		t.Errorf("got %v, warnings %v", j.Rows[0].Duration, report.Warnings)
	}
	if _, report := importText(t, oneJob("Elapsed=03:40:00"), Config{Zone: time.UTC}); report.Warnings[0].Reason != warnElapsed {
		t.Errorf("got warnings %v", report.Warnings)
	}
	for _, none := range []string{"Elapsed=", "Elapsed=INVALID"} {
		if j, _ := importText(t, oneJob(none), Config{Zone: time.UTC}); j.Rows[0].Duration != time.Hour {
			t.Errorf("%s: got %v, want End − Start", none, j.Rows[0].Duration)
		}
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	j, _ = importText(t, oneJob("Submit=2024-10-27T01:30:00", "Start=2024-10-27T01:30:00", "End=2024-10-27T03:30:00", "Elapsed="), Config{Zone: berlin})
	if j.Rows[0].Duration != 3*time.Hour {
		t.Errorf("got %v across the change of the clocks, want 3 h", j.Rows[0].Duration)
	}
}

func TestStartAfterSubmission(t *testing.T) {
	_, report := importText(t, oneJob("Start=2024-01-15T07:00:00", "End=2024-01-15T08:00:00"), Config{Zone: time.UTC})
	if len(report.Warnings) != 1 || report.Warnings[0].Reason != importers.WarnEarly {
		t.Errorf("got %v", report.Warnings)
	}
}

// Array tasks and components of a job have ids that are not numbers.
func TestIDs(t *testing.T) {
	row := strings.SplitAfter(oneJob(), "\n")[1]
	for _, test := range []struct {
		second string
		want   []int64
	}{{"7", []int64{1, 7}}, {"7_3", []int64{1, 2}}, {"7+1", []int64{1, 2}}} {
		j, _ := importText(t, oneJob()+test.second+strings.TrimPrefix(row, "1"), Config{})
		if got := []int64{j.Rows[0].ID, j.Rows[1].ID}; !cmp.Equal(test.want, got) {
			t.Errorf("%s: got ids %v, want %v", test.second, got, test.want)
		}
	}
	const head = "JobID|JobIDRaw|State|Submit|Start|Elapsed|AllocTRES\n"
	j, _ := importText(t, head+"7_3|9|COMPLETED|2024-01-15T08:00:00|2024-01-15T08:05:00|01:00:00|gres/gpu=1\n", Config{})
	if j.Rows[0].ID != 9 {
		t.Errorf("got id %d, want JobIDRaw", j.Rows[0].ID)
	}
}

func TestTenants(t *testing.T) {
	for tenant, want := range map[string]string{"": "u", "User": "u", "Account": "a"} {
		if j, _ := importText(t, oneJob(), Config{Tenant: tenant}); j.Rows[0].Tenant != want {
			t.Errorf("%s: got %q, want %q", tenant, j.Rows[0].Tenant, want)
		}
	}
	if j, _ := importText(t, strings.Replace(oneJob(), "User", "UID", 1), Config{}); j.Rows[0].Tenant != "a" {
		t.Errorf("without User: got %q, want the account", j.Rows[0].Tenant)
	}
	_, _, err := Config{Tenant: "Partition"}.Import(strings.NewReader(oneJob()), "t")
	if err := importertest.Refusal(err, datasets.RowError{Row: 1, Column: "Partition", Fix: "--format"}); err != nil {
		t.Error(err)
	}
	if _, _, err := (Config{Tenant: "WCKey"}).Import(strings.NewReader(oneJob()), "t"); err == nil {
		t.Error("an unknown column was accepted")
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       datasets.RowError
	}{
		{"no rows", head, datasets.RowError{Fix: "check the file"}},
		{"no state", strings.Replace(fixture, "State", "Phase", 1), datasets.RowError{Row: 1, Column: "State", Fix: "want the columns"}},
		{"no id", strings.Replace(oneJob(), "JobID", "Name", 1), datasets.RowError{Row: 1, Value: "job id", Fix: "add JobID or JobIDRaw"}},
		{"no GPUs", "JobID|State|Submit|Start|End\n", datasets.RowError{Row: 1, Value: "number of GPUs", Fix: "AllocTRES"}},
		{"no end", "JobID|State|Submit|Start|AllocTRES\n", datasets.RowError{Row: 1, Value: "run time", Fix: "ElapsedRaw"}},
		{"few values", fixture + "1|2\n", datasets.RowError{Row: 16, Fix: "want 13"}},
		{"half a GPU", oneJob("AllocTRES=gres/gpu=0.5"), datasets.RowError{Row: 2, Column: "AllocTRES", Fix: "gres/gpu=2"}},
		{"too many GPUs", oneJob("AllocTRES=", "AllocGRES=gpu:1000000"), datasets.RowError{Row: 2, Column: "AllocGRES", Fix: "1000000"}},
		{"no nodes", oneJob("AllocTRES=", "AllocGRES=gpu:1", "NNodes="), datasets.RowError{Row: 2, Column: "NNodes", Fix: "whole number"}},
		{"no submission", oneJob("Submit=Unknown"), datasets.RowError{Row: 2, Column: "Submit", Fix: "2024-01-31"}},
		{"bad elapsed", oneJob("Elapsed=an hour"), datasets.RowError{Row: 2, Column: "Elapsed", Fix: "1-02:03:04"}},
		{"long name", oneJob("User=" + strings.Repeat("x", 300)), datasets.RowError{Row: 2, Column: "User", Fix: "256 bytes"}},
	} {
		if err := importertest.Refused(Format(), test.text, test.want); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Any jobs come out of an accounting as they went in, and through the table's
// file.
func TestImportKeepsEveryJob(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := head, []datasets.Row{}
		start := time.Date(2024, 1, 15, 0, 0, 0, 0, time.UTC)
		const form = "2006-01-02T15:04:05"
		submit := time.Duration(rapid.IntRange(0, 86399).Draw(t, "first")) * time.Second
		for i := range rapid.IntRange(1, 30).Draw(t, "jobs") {
			r := datasets.Row{
				ID: int64(1000 + i), Submit: submit, GPUs: rapid.Int32Range(1, 4096).Draw(t, "gpus"),
				Duration:     time.Duration(rapid.IntRange(1, 1e7).Draw(t, "duration")) * time.Second,
				ReferenceGPU: rapid.SampledFrom([]string{"", "V100", "H100"}).Draw(t, "type"), Tenant: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "user"),
				Status: rapid.SampledFrom([]string{"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT"}).Draw(t, "state"),
			}
			begin := start.Add(submit + time.Duration(rapid.IntRange(0, 1e6).Draw(t, "wait"))*time.Second)
			tres := fmt.Sprintf("cpu=1,gres/gpu=%d", r.GPUs)
			if r.ReferenceGPU != "" {
				tres += fmt.Sprintf(",gres/gpu:%s=%d", strings.ToLower(r.ReferenceGPU), r.GPUs)
			}
			text += fmt.Sprintf("%d|%d|%s|a|p|%s|%s|%s|%s|%v|1||%s\n", r.ID, r.ID, r.Tenant, r.Status,
				start.Add(submit).Format(form), begin.Format(form), begin.Add(r.Duration).Format(form), r.Duration.Seconds(), tres)
			text += fmt.Sprintf("%d.batch|%d.batch||a||COMPLETED|||||||\n", r.ID, r.ID)
			want = append(want, r)
			submit += time.Duration(rapid.IntRange(0, 1e5).Draw(t, "gap")) * time.Second
		}
		j, report, err := (Config{Zone: time.UTC}).Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" || len(report.Warnings) > 0 || report.Read != 2*len(want) {
			t.Fatalf("report %+v, jobs (-want +got):\n%s", report, diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(oneJob("AllocTRES=", "AllocGRES=gpu:t4:2(S:0)", "Elapsed=")))
	f.Add([]byte(oneJob("Submit=1705302000", "Start=2024-01-15T08:00:00+0100", "End=7252000000")))
	f.Add(importertest.Zstd([]byte(fixture)))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}
