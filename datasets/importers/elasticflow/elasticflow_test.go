package elasticflow

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

const (
	head = "job_id,submit_time,real_iteration,model_name,ddl,batch_size,num_gpu,real_duration,duration,iteration\n"
	// plain is a trace without the optional columns.
	plain = "job_id,submit_time,model_name,ddl,batch_size,num_gpu,duration,iteration\n"
)

// fixture is written by hand after the schema: a deadline before and one after
// the duration, one that is over, one that is none; a batch that does not
// divide; iterations that the user got wrong; no iterations, no GPUs.
const fixture = head +
	"0,0,1000,vgg16,770,256,1,760,760,1000\n" +
	"1,100,2000,resnet50,1500,64,4,1500,1500,2000\n" +
	"2,200,10,resnet50,150,64,1,30,30,10\n" +
	"3,300,90,bert,9223372036854775807,64,3,900,900,90\n" +
	"4,400,100,gpt2,9000,128,2,1000,500,50\n" +
	"5,500,0,gpt2,9000,128,2,0,0,0\n" +
	"6,600,10,gpt2,9000,128,0,100,100,10\n" +
	"1,100,2000,resnet50,1500,64,4,1500,1500,2000\n"

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
	s := func(seconds int) time.Duration { return time.Duration(seconds) * time.Second }
	want := []datasets.Row{
		{ID: 0, GPUs: 1, Duration: s(760), Steps: 1000, Model: "vgg16", Batch: 256, ReferenceGPU: "A100-40", Deadline: s(770)},
		{ID: 1, Submit: s(100), GPUs: 4, Duration: s(1500), Steps: 8000, Model: "ResNet-50", Batch: 16, ReferenceGPU: "A100-40", Deadline: s(1500)},
		{ID: 2, Submit: s(200), GPUs: 1, Duration: s(30), Steps: 10, Model: "ResNet-50", Batch: 64, ReferenceGPU: "A100-40"},
		{ID: 3, Submit: s(300), GPUs: 3, Duration: s(900), Steps: 90 * 64 / 22.0, Model: "bert", Batch: 22, ReferenceGPU: "A100-40"},
		{ID: 4, Submit: s(400), GPUs: 2, Duration: s(1000), Steps: 200, Model: "gpt2", Batch: 64, ReferenceGPU: "A100-40", Deadline: s(9000)},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a) })
	if diff := cmp.Diff(want, j.Rows, near); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{importers.DropNoWork: 1, importers.DropNoGPU: 1, importers.DropDuplicate: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 8 || report.Kept != 5 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		importers.WarnUneven: 1, importers.WarnDeadline: 1, importers.WarnShort: 1, warnFar: 1, warnReal: 1,
		`model "vgg16" is not in the performance catalogue: kept by the source's name`: 1,
		`model "bert" is not in the performance catalogue: kept by the source's name`:  1,
		`model "gpt2" is not in the performance catalogue: kept by the source's name`:  3,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestOptionalColumns(t *testing.T) {
	j, _ := importText(t, plain+"7,0,resnet50,100,64,1,50,10\n")
	if r := j.Rows[0]; r.ID != 7 || r.Steps != 10 || r.Deadline != 100*time.Second {
		t.Errorf("got %+v", r)
	}
	j, _ = importText(t, "best_effort,"+plain+"1,7,0,resnet50,100,64,1,50,10\n0,8,0,resnet50,100,64,1,50,10\n")
	if a, b := j.Rows[0].Deadline, j.Rows[1].Deadline; a != 0 || b != 100*time.Second {
		t.Errorf("got deadlines %v and %v, want none for best effort and 100 s", a, b)
	}
	j, report := importText(t, plain+"7,0,resnet50,,64,1,50,10\n")
	if j.Rows[0].Deadline != 0 || len(report.Warnings) != 1 {
		t.Errorf("an empty deadline: got %v, warnings %v", j.Rows[0].Deadline, report.Warnings)
	}
}

func TestImportChecks(t *testing.T) {
	for _, text := range []string{fixture, plain + "7,0,resnet50,100,64,1,50,10\n"} {
		if err := importertest.Check(Format(), []byte(text), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

func TestImportRefusesBadValues(t *testing.T) {
	tests := []struct {
		row  string
		want datasets.RowError
	}{
		{"x,0,1,m,9,64,1,9,9,1", datasets.RowError{Column: "job_id", Value: "x", Fix: "whole number"}},
		{"1,-1,1,m,9,64,1,9,9,1", datasets.RowError{Column: "submit_time", Value: "-1", Fix: "seconds"}},
		{"1,0,-1,m,9,64,1,9,9,1", datasets.RowError{Column: "real_iteration", Value: "-1", Fix: "from 0"}},
		{"1,0,1,,9,64,1,9,9,1", datasets.RowError{Column: "model_name", Fix: "name the model"}},
		{"1,0,1,m,-9,64,1,9,9,1", datasets.RowError{Column: "ddl", Value: "-9", Fix: "from 0"}},
		{"1,0,1,m,soon,64,1,9,9,1", datasets.RowError{Column: "ddl", Value: "soon", Fix: "number"}},
		{"1,0,1,m,9,0,1,9,9,1", datasets.RowError{Column: "batch_size", Value: "0", Fix: "from 1"}},
		{"1,0,1,m,9,64,0.5,9,9,1", datasets.RowError{Column: "num_gpu", Value: "0.5", Fix: "whole number"}},
		{"1,0,1,m,9,64,1,x,9,1", datasets.RowError{Column: "real_duration", Value: "x", Fix: "seconds"}},
		{"1,0,1,m,9,64,1,9,inf,1", datasets.RowError{Column: "duration", Value: "inf", Fix: "100 years"}},
		{"1,0,1,m,9,64,1,9,9,NaN", datasets.RowError{Column: "iteration", Value: "NaN", Fix: "from 0"}},
		{"1,0,1e18,m,9,64,64,9,9,1", datasets.RowError{Column: "iteration", Fix: "1e18 steps"}},
	}
	for _, test := range tests {
		test.want.Row = 3
		if err := importertest.Refused(Format(), head+"0,0,1,m,9,64,1,9,9,1\n"+test.row+"\n", test.want); err != nil {
			t.Errorf("%s: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back, with as many samples.
func TestAnyTraceRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(plain)
		samples := 0.0
		n := rapid.IntRange(1, 20).Draw(t, "jobs")
		for id := range n {
			global, iterations := rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"), rapid.IntRange(1, 1<<39).Draw(t, "iterations")
			samples += float64(global) * float64(iterations)
			fmt.Fprintf(&b, "%d,%d,%s,%v,%d,%d,%v,%d\n", id, rapid.IntRange(0, 1e9).Draw(t, "submit"), rapid.SampledFrom([]string{"resnet50", "bert"}).Draw(t, "model"),
				rapid.Float64Range(0, 3e9).Draw(t, "ddl"), global, rapid.IntRange(1, 1_000_000).Draw(t, "gpus"), rapid.Float64Range(0, 1e9).Draw(t, "duration"), iterations)
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
		if math.Abs(got-samples) > 1e-9*samples || len(j.Rows) != n {
			t.Fatalf("got %v samples in %d jobs, want %v in %d", got, len(j.Rows), samples, n)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(plain + "7,0,resnet50,1e-10,64,1,50,10\n"))
	f.Add([]byte("best_effort," + plain + "1,7,0,resnet50,100,64,1,50,10"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real file, with counts taken from it by a script.
func TestImportRealFile(t *testing.T) {
	const file = "philly_103959.csv"
	j, report, err := Import(importertest.OpenShared(t, "elasticflow", file), file)
	if err != nil {
		t.Fatal(err)
	}
	if report.Read != 876 || report.Kept != 876 || report.Span() != 7_910_536*time.Second {
		t.Errorf("got %v over %v, want all 876 jobs over 7910536 s", report.Report, report.Span())
	}
	steps, resnets, tight := 0.0, 0, 0
	for _, r := range j.Rows {
		steps += r.Steps
		if r.Model == "ResNet-50" {
			resnets++
		}
		if r.Deadline == 0 {
			t.Errorf("job %d has no deadline", r.ID)
		}
		if r.Deadline-r.Submit < r.Duration {
			tight++
		}
	}
	if got := j.Describe().GPUHours; math.Abs(got-42_816.0775) > 1e-6 || steps != 1_551_675_884 || resnets != 214 || tight != 466 {
		t.Errorf("got %v GPU-hours, %v steps, %d of ResNet-50, %d deadlines sooner than the duration", got, steps, resnets, tight)
	}
	if err := importertest.RoundTrip(j, t.TempDir()); err != nil {
		t.Error(err)
	}
}
