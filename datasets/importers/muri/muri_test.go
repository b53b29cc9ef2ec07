package muri

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

const head = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"

// fixture is written by hand after the schema: milliseconds everywhere, a model
// of the catalogue, a short job, one without iterations, one without GPUs, a
// duplicate, a duration in seconds by mistake.
const fixture = head +
	"0,1,0,1000,bert,4,178000,5000,178,0.5,166,86,1\n" +
	"1,8,201694000,500,dqn,128,254000,201694000,509,435,8,0.5,0\n" +
	"2,2,201694500,10,vgg16,16,2140,500,214,82,75,66,0\n" + // 2.14 s
	"3,2,201695000,0,vgg16,16,0,500,214,82,75,66,0\n" +
	"4,0,201695000,10,vgg16,16,2140,500,214,82,75,66,0\n" +
	"0,1,0,1000,bert,4,178000,5000,178,0.5,166,86,1\n" +
	"5,4,301694000,1000,gpt2,4,426,99999000,426,0,0,0,0\n" // 426 s, written as seconds

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
	const second = 201694 * time.Second
	want := []datasets.Row{
		{ID: 0, GPUs: 1, Duration: 178 * time.Second, Steps: 1000, Model: "BERT-base", Batch: 4, ReferenceGPU: "V100"},
		{ID: 1, Submit: second, GPUs: 8, Duration: 254 * time.Second, Steps: 4000, Model: "dqn", Batch: 128, ReferenceGPU: "V100"},
		{ID: 2, Submit: second + 500*time.Millisecond, GPUs: 2, Duration: 2140 * time.Millisecond, Steps: 20, Model: "vgg16", Batch: 16, ReferenceGPU: "V100"},
		{ID: 5, Submit: 301694 * time.Second, GPUs: 4, Duration: 426 * time.Millisecond, Steps: 4000, Model: "gpt2", Batch: 4, ReferenceGPU: "V100"},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{importers.DropDuplicate: 1, importers.DropNoWork: 1, importers.DropNoGPU: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 7 || report.Kept != 4 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		importers.WarnShort: 3, warnDuration: 1,
		`model "vgg16" is not in the performance catalogue: kept by the source's name`: 3,
		`model "dqn" is not in the performance catalogue: kept by the source's name`:   1,
		`model "gpt2" is not in the performance catalogue: kept by the source's name`:  1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The trap of the data: Muri's times are milliseconds.
func TestTimesAreMilliseconds(t *testing.T) {
	j, report := importText(t, head+"7,1,1500,100,bert,4,17800,0,178,0,0,0,0\n")
	if r := j.Rows[0]; r.Submit != 1500*time.Millisecond || r.Duration != 17800*time.Millisecond {
		t.Errorf("got a job at %v of %v", r.Submit, r.Duration)
	}
	if n := importertest.Counts(report.Warnings)[warnDuration]; n != 0 {
		t.Errorf("%d warnings about the unit of a good row", n)
	}
	// Seconds in one column and milliseconds in the other do not pass unseen.
	_, report = importText(t, head+"7,1,1500,100,bert,4,17.8,0,178,0,0,0,0\n")
	if n := importertest.Counts(report.Warnings)[warnDuration]; n != 1 {
		t.Errorf("%d warnings about a duration in seconds, want 1", n)
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
		{"x,1,0,10,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "job_id", Value: `"x"`, Fix: "whole number"}},
		{"0,1.5,0,10,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "num_gpu", Value: "1.5", Fix: "whole number"}},
		{"0,1,-1,10,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "submit_time", Value: "-1", Fix: "milliseconds"}},
		{"0,1,1e300,10,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "submit_time", Fix: "100 years"}},
		{"0,1,0,-3,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "iterations", Value: "-3", Fix: "from 0"}},
		{"0,1000000,0,1e18,bert,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "iterations", Fix: "1e18 steps"}},
		{"0,1,0,10,,4,1780,0,178,0,0,0,0", datasets.RowError{Column: "model_name", Fix: "name the model"}},
		{"0,1,0,10,bert,0,1780,0,178,0,0,0,0", datasets.RowError{Column: "batch_size", Value: "0", Fix: "from 1"}},
		{"0,1,0,10,bert,4,NaN,0,178,0,0,0,0", datasets.RowError{Column: "duration", Value: "NaN", Fix: "milliseconds"}},
		{"0,1,0,10,bert,4,1780,0,,0,0,0,0", datasets.RowError{Column: "iteration_time", Fix: "milliseconds"}},
		{"0,1,0,10,bert,4,1780", datasets.RowError{Value: "7 values", Fix: "want 13"}},
	}
	for _, test := range tests {
		test.want.Row = 3
		if err := importertest.Refused(Format(), head+"9,1,0,10,bert,4,1780,0,178,0,0,0,0\n"+test.row+"\n", test.want); err != nil {
			t.Errorf("%s: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyTraceRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(head)
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			iterations, iteration := rapid.IntRange(1, 1<<39).Draw(t, "iterations"), rapid.IntRange(0, 5000).Draw(t, "iteration")
			fmt.Fprintf(&b, "%d,%d,%d,%d,%s,%d,%d,0,%d,0,0,0,1\n",
				rapid.Int64().Draw(t, "id"), rapid.IntRange(1, 1_000_000).Draw(t, "gpus"), rapid.IntRange(0, 1<<40).Draw(t, "submit"), iterations,
				rapid.SampledFrom([]string{"bert", "gpt2", "dqn"}).Draw(t, "model"), rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"),
				min(iterations*iteration, 1<<41), iteration)
		}
		if err := importertest.Fuzz(Format(), []byte(b.String())); err != nil {
			t.Fatal(err)
		}
		j, _, err := Import(strings.NewReader(b.String()), "t.csv")
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTrip(j, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(head))
	f.Add([]byte(head + `0,1,0,10,"bert",4,1780,0,178,0,0,0,0`))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real files, with counts taken from them by a script.
func TestImportRealFiles(t *testing.T) {
	tests := []struct {
		file              string
		jobs, short, bert int
		gpuHours          float64 // Σ num_gpu × duration
		steps             float64 // Σ num_gpu × iterations
		span              time.Duration
	}{
		{"trace1.csv", 1494, 80, 189, 383_326.7677777778, 4_303_574_660, 10_817_570 * time.Second},
		{"trace2.csv", 5755, 783, 702, 824_082.0147222222, 8_181_234_172, 8_572_283 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			j, report, err := Import(importertest.OpenShared(t, "muri", test.file), test.file)
			if err != nil {
				t.Fatal(err)
			}
			if report.Read != test.jobs || report.Kept != test.jobs || len(report.Dropped) != 0 || report.Span() != test.span {
				t.Errorf("got %v over %v, want all %d jobs over %v", report.Report, report.Span(), test.jobs, test.span)
			}
			warnings := importertest.Counts(report.Warnings)
			if warnings[importers.WarnShort] != test.short || warnings[warnDuration] != 0 {
				t.Errorf("got warnings %v, want %d short jobs and every duration iterations × iteration_time", report.Warnings, test.short)
			}
			bert, steps := 0, 0.0
			for _, r := range j.Rows {
				steps += r.Steps
				if r.Model == "BERT-base" {
					bert++
				}
			}
			if got := j.Describe().GPUHours; math.Abs(got-test.gpuHours) > 1e-6*got || steps != test.steps || bert != test.bert {
				t.Errorf("got %v GPU-hours, %v steps, %d jobs of BERT-base, want %v, %v, %d", got, steps, bert, test.gpuHours, test.steps, test.bert)
			}
			if err := importertest.RoundTrip(j, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}
