package openb

import (
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

const head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"

// fixture is written by hand after the description of the columns. The first
// deletion is at 1000 s, the last at 9000 s.
const fixture = head +
	"pod-0,1,1,8,1000,V100M32,LS,Running,0,1000,10\n" + // before the window
	"pod-1,1,1,0,0,,BE,Succeeded,1000,1100,1000\n" + // no GPU
	"pod-2,1,1,2,1000,V100M16|V100M32,LS,Succeeded,1000,1600,1100\n" +
	"pod-3,1,1,1,460,,BE,Failed,1200,1300,1200\n" + // part of a GPU
	"pod-4,1,1,1,1000,T4,BE,Pending,1200,1300,\n" + // never scheduled
	"pod-5,1,1,1,1000,G2,LS,Running,1500,3000,1500\n" +
	"pod-6,1,1,1,1000,P100|T4,LS,Running,1500,9000,1500\n" + // not deleted before the end
	"pod-7,1,1,1,1000,P100|T4,Guaranteed,Failed,1500,9000,1500\n" +
	"pod-8,1,1,4,1000,T4,BE,Failed,1600,1650,1650\n" + // no time
	"pod-7,1,1,1,1000,P100|T4,Guaranteed,Failed,1500,9000,1500\n" // copy

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
	want := []datasets.Row{
		{ID: 3, Submit: 0, GPUs: 2, Duration: 500 * time.Second, ReferenceGPU: "V100", Status: "Succeeded"},
		{ID: 6, Submit: 500 * time.Second, GPUs: 1, Duration: 1500 * time.Second, Status: "Running"},
		{ID: 8, Submit: 500 * time.Second, GPUs: 1, Duration: 7500 * time.Second, Status: "Failed"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantDropped := map[string]int{
		importers.DropNoGPU: 1, importers.DropNoStart: 1, dropBefore: 1, importers.DropRunning: 1, importers.DropShared: 1, importers.DropNoTime: 1, importers.DropDuplicate: 1,
	}
	if diff := cmp.Diff(wantDropped, importertest.Counts(report.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{warnDeleted: 1, warnGPUType: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if !j.Meta.Epoch.IsZero() || j.Meta.Filters[0] != "submissions count from 1000 s of the trace" {
		t.Errorf("got metadata %+v", j.Meta)
	}
}

func TestFormatKeepsTheRules(t *testing.T) {
	if err := importertest.Check(Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

// Trap: pods ask for parts of a GPU, which rows cannot. They are dropped and
// counted, or rounded up and warned about.
func TestPartsOfAGPU(t *testing.T) {
	_, report := importText(t, fixture, Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropShared]; got != 1 {
		t.Errorf("got %d dropped", got)
	}
	j, report := importText(t, fixture, Config{RoundUp: true})
	if got := importertest.Counts(report.Warnings)[importers.WarnRounded]; got != 1 || report.Kept != 4 {
		t.Errorf("got %d rounded up, %d kept", got, report.Kept)
	}
	if want := (datasets.Row{ID: 4, Submit: 200 * time.Second, GPUs: 1, Duration: 100 * time.Second, Status: "Failed"}); j.Rows[1] != want {
		t.Errorf("got %+v, want %+v", j.Rows[1], want)
	}
}

// Trap: a Pending pod was never scheduled, whatever its deletion says.
func TestPendingPodsNeverRan(t *testing.T) {
	_, report := importText(t, fixture, Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropNoStart]; got != 1 {
		t.Errorf("got %d", got)
	}
}

// Trap: Running pods have a deletion time, too: at the end of observation it is
// not their own.
func TestRunningPodsAtTheEndOfObservation(t *testing.T) {
	j, report := importText(t, fixture, Config{})
	if got := importertest.Counts(report.Dropped)[importers.DropRunning]; got != 1 {
		t.Errorf("got %d dropped", got)
	}
	for _, r := range j.Rows {
		if r.ID == 7 {
			t.Error("pod-6 was kept: observation ended, not the pod")
		}
	}
}

// Trap: creations begin long before the deletions: only the window from the
// first deletion on is complete.
func TestWindowIsRebased(t *testing.T) {
	for _, test := range []struct {
		from   time.Duration
		first  time.Duration // submission
		before int
		filter string
	}{
		{0, 0, 1, "1000 s"},
		{1400 * time.Second, 100 * time.Second, 3, "1400 s"},
		{-1, 0, 0, "0 s"},
	} {
		j, report := importText(t, fixture, Config{From: test.from})
		if got := importertest.Counts(report.Dropped)[dropBefore]; got != test.before || j.Rows[0].Submit != test.first || !strings.Contains(j.Meta.Filters[0], test.filter) {
			t.Errorf("from %v: got %d before, first submission %v, filters %v", test.from, got, j.Rows[0].Submit, j.Meta.Filters)
		}
	}
}

// Trap: multigpu* has five columns, without times.
func TestListsWithoutTimesAreRefused(t *testing.T) {
	const list = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nopenb-pod-0000,12000,16384,1,1000\n"
	if !Sniff([]byte(list)) {
		t.Error("the list is not recognised")
	}
	if err := importertest.Refused(Format(), list, datasets.RowError{Row: 1, Value: "no times", Fix: "openb_pod_list_gpuspec33.csv"}); err != nil {
		t.Error(err)
	}
}

// Trap: the default list has no gpu_spec at all.
func TestListsWithoutGPUTypes(t *testing.T) {
	text := fixture
	for _, spec := range []string{"V100M16|V100M32", "V100M32", "P100|T4", "T4", "G2"} {
		text = strings.ReplaceAll(text, ","+spec+",", ",,")
	}
	_, report := importText(t, text, Config{})
	if diff := cmp.Diff(map[string]int{warnDeleted: 1, warnNoSpec: 4}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestGPUType(t *testing.T) {
	for spec, want := range map[string]struct {
		Name    string
		Strange bool
	}{
		"T4": {"T4", false}, "V100M32": {"V100-32", false}, "V100M16": {"V100", false}, "V100M16|V100M32|V100M32": {"V100", false},
		"V100M32|V100M16": {"V100", false}, "V100M32|V100M32": {"V100-32", false}, "P100|V100M32": {"", false}, "P100|V100M16|V100M32": {"", false}, "P100|T4": {"", false}, "T4|P100|T4": {"", false},
		"G2": {"", true}, "A10|G2|T4": {"", true},
	} {
		if name, strange := gpuType(spec); name != want.Name || strange != want.Strange {
			t.Errorf("%s: got %q, %t, want %+v", spec, name, strange, want)
		}
	}
}

func TestOtherPhases(t *testing.T) {
	_, report := importText(t, head+"a,1,1,2,1000,T4,LS,Evicted,5,9,6\nb,1,1,2,,T4,LS,Failed,5,8,4\n", Config{From: -1})
	if diff := cmp.Diff(map[string]int{importers.WarnState: 1, importers.WarnEarly: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	row := func(s string) string { return fixture + s + "\n" }
	for _, test := range []struct {
		name, text string
		want       datasets.RowError
	}{
		{"no rows", head, datasets.RowError{Fix: "check the file"}},
		{"few values", row("pod-9,1"), datasets.RowError{Row: 12, Fix: "want 11"}},
		{"more than a GPU", row("p,1,1,1,1500,T4,BE,Failed,1600,1650,1650"), datasets.RowError{Row: 12, Column: "gpu_milli", Fix: "from 1 to 1000"}},
		{"no part of a GPU", row("p,1,1,1,0,T4,BE,Failed,1600,1650,1650"), datasets.RowError{Row: 12, Column: "gpu_milli", Fix: "from 1 to 1000"}},
		{"half a count", row("p,1,1,1.5,1000,T4,BE,Failed,1600,1650,1650"), datasets.RowError{Row: 12, Column: "num_gpu", Fix: "whole number"}},
		{"no creation", row("p,1,1,1,1000,T4,BE,Failed,,1650,1650"), datasets.RowError{Row: 12, Column: "creation_time", Fix: "seconds"}},
		{"bad deletion", row("p,1,1,1,1000,T4,BE,Failed,1600,-1,1650"), datasets.RowError{Row: 12, Column: "deletion_time", Fix: "seconds"}},
		{"bad schedule", row("p,1,1,1,1000,T4,BE,Failed,1600,1650,soon"), datasets.RowError{Row: 12, Column: "scheduled_time", Fix: "seconds"}},
	} {
		if err := importertest.Refused(Format(), test.text, test.want); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Any pods come out of a list as they went in, and through the table's file.
func TestImportKeepsEveryPod(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text, want := head, []datasets.Row{}
		submit := time.Duration(0)
		for i := range rapid.IntRange(1, 30).Draw(t, "pods") {
			submit += time.Duration(rapid.IntRange(0, 1e5).Draw(t, "gap")) * time.Second
			r := datasets.Row{
				ID: int64(i + 1), Submit: submit, GPUs: rapid.Int32Range(1, 8).Draw(t, "gpus"),
				Duration: time.Duration(rapid.IntRange(1, 1e7).Draw(t, "duration")) * time.Second,
				Status:   rapid.SampledFrom([]string{"Succeeded", "Failed"}).Draw(t, "phase"), ReferenceGPU: rapid.SampledFrom([]string{"", "T4", "P100", "A10"}).Draw(t, "spec"),
			}
			scheduled := submit + time.Duration(rapid.IntRange(0, 1e4).Draw(t, "wait"))*time.Second
			text += fmt.Sprintf("p%d,1,1,%d,1000,%s,LS,%s,%v,%v,%v\n", i, r.GPUs, r.ReferenceGPU, r.Status, submit.Seconds(), (scheduled + r.Duration).Seconds(), scheduled.Seconds())
			want = append(want, r)
		}
		j, _, err := (Config{From: -1}).Import(strings.NewReader(text), "t")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, j.Rows); diff != "" {
			t.Fatalf("pods (-want +got):\n%s", diff)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

// The real lists; figures counted by a script.
func TestImportRealFiles(t *testing.T) {
	dropped := map[string]int{
		importers.DropNoGPU: 1088, importers.DropNoStart: 861, dropBefore: 31, importers.DropRunning: 17, importers.DropShared: 2557,
	}
	for file, warnings := range map[string]map[string]int{
		"openb_pod_list_gpuspec33.csv.gz": {warnDeleted: 2706, warnGPUType: 419},
		"openb_pod_list_default.csv.gz":   {warnDeleted: 2706, warnNoSpec: 3598},
	} {
		f := importertest.OpenShared(t, "openb", file)
		j, report, err := Import(f, f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 8152 || report.Kept != 3598 {
			t.Errorf("%s: %s, dropped (-want +got):\n%s", file, report.Report, diff)
		}
		if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", file, diff)
		}
		typed := 0
		for _, r := range j.Rows {
			if r.ReferenceGPU != "" {
				typed++
			}
		}
		if want := 793; warnings[warnNoSpec] == 0 && typed != want {
			t.Errorf("%s: %d pods have a GPU type, want %d", file, typed, want)
		}
		if got := j.Describe().GPUHours; math.Abs(got-7631.0769) > 1e-3 || j.Meta.Filters[0] != "submissions count from 9964972 s of the trace" {
			t.Errorf("%s: got %.4f GPU-hours, filters %v", file, got, j.Meta.Filters)
		}
		f = importertest.OpenShared(t, "openb", file)
		if _, report, err = (Config{RoundUp: true}).Import(f, f.Name()); err != nil || report.Kept != 3598+2557 {
			t.Errorf("%s: %d pods are kept with RoundUp (%v)", file, report.Kept, err)
		}
	}
}

func TestRealListWithoutTimesIsRefused(t *testing.T) {
	f := importertest.OpenShared(t, "openb", "openb_pod_list_multigpu50.csv.gz")
	_, _, err := Import(f, f.Name())
	if err := importertest.Refusal(err, datasets.RowError{Row: 1, Value: "no times", Fix: "gpuspec33"}); err != nil {
		t.Error(err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nopenb-pod-0000,12000,16384,1,1000\n"))
	f.Add([]byte(head + "a,1,1,2,1000,T4|,LS,Evicted,3153600000,0,6\nb,1,1,2,,|,LS,Failed,5,8,4\n"))
	f.Add(importertest.Gzip([]byte(fixture)))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}
