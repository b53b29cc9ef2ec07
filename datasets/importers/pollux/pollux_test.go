package pollux

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

const head = "name,time,application,num_replicas,batch_size\n"

// fixture is written by hand after the schema: a batch that divides and one
// that does not, an application that is not known, one without GPUs, a
// duplicate, which is a job of its own.
const fixture = head +
	"cifar10-0,107,cifar10,8,2048\n" +
	"ncf-1,110,ncf,1,32768\n" +
	"cifar10-2,135.5,cifar10,12,4096\n" +
	"gnn-3,140,gnn,2,64\n" +
	"bert-4,150,bert,0,384\n" +
	"ncf-1,110,ncf,1,32768\n"

func importText(t *testing.T, text string) (*datasets.Jobs, importers.Report) {
	t.Helper()
	j, report, err := Import(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a) })

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture)
	want := []datasets.Row{
		{ID: 1, Submit: 107 * time.Second, GPUs: 8, Steps: 5e6 / 256, Model: "ResNet-18", Batch: 256},
		{ID: 2, Submit: 110 * time.Second, GPUs: 1, Steps: 49_708_450.0 / 32768, Model: "ncf", Batch: 32768},
		{ID: 6, Submit: 110 * time.Second, GPUs: 1, Steps: 49_708_450.0 / 32768, Model: "ncf", Batch: 32768},
		{ID: 3, Submit: 135500 * time.Millisecond, GPUs: 12, Steps: 5e6 / 342, Model: "ResNet-18", Batch: 342},
	}
	if diff := cmp.Diff(want, j.Rows, near); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{dropUnknown: 1, importers.DropNoGPU: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 6 || report.Kept != 4 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		importers.WarnUneven: 1,
		`model "ncf" is not in the performance catalogue: kept by the source's name`: 2,
		`model "gnn" is not in the performance catalogue: kept by the source's name`: 1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if f := j.Meta.Filters; len(f) != 3 || !strings.Contains(f[0], "steps are not in the source") || !strings.Contains(f[0], "100 epochs of 50000 samples for cifar10") {
		t.Errorf("filters %q do not say what work is assumed", f)
	}
}

func TestApplicationsCanBeConfigured(t *testing.T) {
	cfg := Config{Applications: map[string]Application{"gnn": {Epochs: 2, Samples: 640}}}
	j, report, err := cfg.Import(strings.NewReader(fixture), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Rows) != 1 || j.Rows[0].Steps != 40 || j.Rows[0].Batch != 32 || importertest.Counts(report.Dropped)[dropUnknown] != 4 {
		t.Errorf("got %+v, %v", j.Rows, report)
	}
	for _, bad := range []Application{{}, {Epochs: 1}, {Epochs: -1, Samples: -1}, {Epochs: math.NaN(), Samples: 1}, {Epochs: 1e10, Samples: 1e10}} {
		cfg := Config{Applications: map[string]Application{"a": bad, "b": bad}}
		if _, _, err := cfg.Import(strings.NewReader(fixture), "t.csv"); err == nil || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%+v twice: got %v, want two problems", bad, err)
		}
	}
	DefaultApplications()["cifar10"] = Application{} // the caller's own
	if _, report := importText(t, fixture); report.Kept != 4 {
		t.Error("a caller changed the default")
	}
}

func TestImportChecks(t *testing.T) {
	if err := importertest.Check(Format(), []byte(fixture), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestImportRefusesBadValues(t *testing.T) {
	tests := []struct {
		row  string
		want datasets.RowError
	}{
		{"a,x,ncf,1,1", datasets.RowError{Column: "time", Value: "x", Fix: "seconds"}},
		{"a,-1,ncf,1,1", datasets.RowError{Column: "time", Value: "-1", Fix: "seconds"}},
		{"a,1,,1,1", datasets.RowError{Column: "application", Fix: "name the model"}},
		{"a,1,ncf,1.5,1", datasets.RowError{Column: "num_replicas", Value: "1.5", Fix: "whole number"}},
		{"a,1,ncf,1,0", datasets.RowError{Column: "batch_size", Value: "0", Fix: "from 1"}},
		{"a,1,ncf,1,1e9", datasets.RowError{Column: "batch_size", Value: "1e9", Fix: "16777216"}},
		{"a,1,ncf,1", datasets.RowError{Value: "4 values", Fix: "want 5"}},
	}
	for _, test := range tests {
		test.want.Row = 3
		if err := importertest.Refused(Format(), head+"a,1,ncf,1,64\n"+test.row+"\n", test.want); err != nil {
			t.Errorf("%s: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back, with the samples of its
// application.
func TestAnyWorkloadRoundTrips(t *testing.T) {
	dir, work := t.TempDir(), DefaultApplications()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(head)
		samples := 0.0
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			app := rapid.SampledFrom([]string{"bert", "cifar10", "imagenet", "yolov3"}).Draw(t, "application")
			samples += work[app].Epochs * work[app].Samples
			fmt.Fprintf(&b, "x,%d,%s,%d,%d\n", rapid.IntRange(0, 1e9).Draw(t, "time"), app,
				rapid.IntRange(1, 1_000_000).Draw(t, "gpus"), rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"))
		}
		j, report, err := Import(strings.NewReader(b.String()), "trace under test")
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.Outcome(j, report, err); err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, r := range j.Rows {
			got += r.Steps * float64(r.Batch)
		}
		if math.Abs(got-samples) > 1e-9*samples {
			t.Fatalf("got %v samples, want %v", got, samples)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head + "a,1e-9,imagenet,1000000,1"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real files, with counts taken from them by a script.
func TestImportRealFiles(t *testing.T) {
	jobs, uneven, samples := 0, 0, 0.0
	for _, folder := range []struct {
		name string
		jobs int
	}{{"workloads", 160}, {"workloads-0.5", 80}} {
		for i := 1; i <= 8; i++ {
			file := fmt.Sprintf("workload-%d.csv", i)
			j, report, err := Import(importertest.OpenShared(t, "pollux", folder.name, file), file)
			if err != nil {
				t.Fatal(err)
			}
			if report.Read != folder.jobs || report.Kept != folder.jobs {
				t.Errorf("%s/%s: got %v, want all %d jobs", folder.name, file, report.Report, folder.jobs)
			}
			jobs += report.Kept
			uneven += importertest.Counts(report.Warnings)[importers.WarnUneven]
			for _, r := range j.Rows {
				samples += r.Steps * float64(r.Batch)
			}
		}
	}
	if jobs != 1920 || uneven != 532 || math.Abs(samples-45_472_864_240) > 1 {
		t.Errorf("got %d jobs, %d with a batch that does not divide, %v samples, want 1920, 532, 45472864240", jobs, uneven, samples)
	}
}
