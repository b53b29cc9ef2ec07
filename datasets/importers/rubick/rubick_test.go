package rubick

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

const head = "name,submission_time,duration,application,num_gpus,num_cpus,bandwidth,exec_plan,steps,is_sla\n"

// fixture is written by hand after the schema: a batch that divides, one
// smaller than the GPUs, an application that the artifact does not have, one
// with neither steps nor duration, one without GPUs, a guarantee.
const fixture = head +
	"vit-0,0,3163.091667,vit,2,16,0,zero-dp,37239,0\n" +
	"llama30-1,1639,142.2190972,llama30,48,384,1.25,344,64,0\n" +
	"t5-2,3519,0.0425,t5,4,32,0,ga,1,1\n" +
	"opt-3,3600,100,opt,4,32,0,ga,7,0\n" +
	"bert-4,3700,0,bert,4,32,0,ga,0,0\n" +
	"bert-5,3800,10,bert,0,32,0,ga,5,0\n"

func importText(t *testing.T, text string) (*datasets.Jobs, importers.Report) {
	t.Helper()
	j, report, err := Import(strings.NewReader(text), "t.csv")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture)
	want := []datasets.Row{
		{ID: 1, GPUs: 2, Duration: 3163091667 * time.Microsecond, Steps: 74478, Model: "ViT-base", Batch: 32, ReferenceGPU: "A800"},
		{ID: 2, Submit: 1639 * time.Second, GPUs: 48, Duration: 142219097200, Steps: 256, Model: "llama30", Batch: 1, ReferenceGPU: "A800"},
		{ID: 3, Submit: 3519 * time.Second, GPUs: 4, Duration: 42500 * time.Microsecond, Steps: 4, Model: "t5", Batch: 4, ReferenceGPU: "A800"},
		{ID: 4, Submit: 3600 * time.Second, GPUs: 4, Duration: 100 * time.Second, Model: "opt", ReferenceGPU: "A800"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{importers.DropNoWork: 1, importers.DropNoGPU: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 6 || report.Kept != 4 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		importers.WarnUneven: 1, importers.WarnShort: 2, warnSLA: 1, warnBatch: 1,
		`model "llama30" is not in the performance catalogue: kept by the source's name`: 1,
		`model "t5" is not in the performance catalogue: kept by the source's name`:      1,
		`model "opt" is not in the performance catalogue: kept by the source's name`:     1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
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
		{"a,x,9,vit,2,1,0,ga,3,0", datasets.RowError{Column: "submission_time", Value: "x", Fix: "seconds"}},
		{"a,0,-9,vit,2,1,0,ga,3,0", datasets.RowError{Column: "duration", Value: "-9", Fix: "seconds"}},
		{"a,0,9,,2,1,0,ga,3,0", datasets.RowError{Column: "application", Fix: "name the model"}},
		{"a,0,9,vit,two,1,0,ga,3,0", datasets.RowError{Column: "num_gpus", Value: "two", Fix: "whole number"}},
		{"a,0,9,vit,2,1,0,ga,NaN,0", datasets.RowError{Column: "steps", Value: "NaN", Fix: "from 0"}},
		{"a,0,9,vit,64,1,0,ga,1e18,0", datasets.RowError{Column: "steps", Fix: "1e18 steps"}},
		{"a,0,9,vit,2,1,0,ga,3,yes", datasets.RowError{Column: "is_sla", Value: "yes", Fix: "0 to 1"}},
		{"a,0,9,vit,2,1,0,ga,3", datasets.RowError{Value: "9 values", Fix: "want 10"}},
	}
	for _, test := range tests {
		test.want.Row = 3
		if err := importertest.Refused(Format(), head+"a,0,9,vit,2,1,0,ga,3,0\n"+test.row+"\n", test.want); err != nil {
			t.Errorf("%s: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyWorkloadRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(head)
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			fmt.Fprintf(&b, "x,%v,%v,%s,%d,8,0,%s,%d,%d\n", rapid.Float64Range(0, 1e9).Draw(t, "time"), rapid.Float64Range(1e-6, 1e9).Draw(t, "duration"),
				rapid.SampledFrom([]string{"bert", "gpt2", "llama30", "other"}).Draw(t, "application"), rapid.IntRange(1, 1_000_000).Draw(t, "gpus"),
				rapid.SampledFrom([]string{"ga", "344", "zero-dp"}).Draw(t, "plan"), rapid.IntRange(0, 1<<39).Draw(t, "steps"), rapid.IntRange(0, 1).Draw(t, "sla"))
		}
		j, report, err := Import(strings.NewReader(b.String()), "trace under test")
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.Outcome(j, report, err); err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head + "a,0,0,llama7,1000000,1,0,444,1e12,1"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real file, with counts taken from it by a script.
func TestImportRealWorkload(t *testing.T) {
	const file = "workload-base.csv"
	j, report, err := Import(importertest.OpenShared(t, "rubick", "workloads", file), file)
	if err != nil {
		t.Fatal(err)
	}
	if report.Read != 406 || report.Kept != 406 || report.Span() != 47_550*time.Second {
		t.Errorf("got %v over %v, want all 406 jobs over 47550 s", report.Report, report.Span())
	}
	warnings := map[string]int{
		importers.WarnShort: 274, importers.WarnUneven: 113,
		`model "t5" is not in the performance catalogue: kept by the source's name`:      62,
		`model "llama30" is not in the performance catalogue: kept by the source's name`: 51,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	samples := 0.0
	for _, r := range j.Rows {
		samples += r.Steps * float64(r.Batch)
	}
	if got := j.Describe().GPUHours; math.Abs(got-617.76917134141) > 1e-6 || math.Abs(samples-37_965_476) > 1e-3 {
		t.Errorf("got %v GPU-hours, %v samples, want 617.769, 37965476", got, samples)
	}
	if err := importertest.RoundTrip(j, t.TempDir()); err != nil {
		t.Error(err)
	}
}
