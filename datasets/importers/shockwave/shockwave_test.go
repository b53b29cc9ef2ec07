package shockwave

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
	lm  = "LM (batch size 10)\tpython3 main.py --cuda --data %s/wikitext2 --batch_size 10\tlanguage_modeling\t--steps\t1\t"
	a3c = "A3C\tpython3 main.py --env PongDeterministic-v4 --workers 4\trl\t--max-steps\t0\t"
)

// fixture is written by hand after the 12 columns: jobs with one and several
// GPUs, fixed and changing batches, a deadline, a model without a batch size in
// its name, one without steps, one without GPUs.
const fixture = lm + "134583\t1\tgns\t1\t-1.000000\t1418\t0\n" +
	lm + "50000.5\t4\tstatic\t2.5\t1.2\t1000\t55\n" +
	a3c + "800\t1\tstatic\t1\t-1\t30.5\t56\n" +
	lm + "0\t1\tstatic\t1\t-1\t10\t57\n" +
	lm + "10\t0\tstatic\t1\t-1\t10\t58\n" +
	"VGG-16 (batch size 32)\tpython3 main.py -a vgg16\timagenet\t--steps\t1\t10\t2\taccordion\t1\t-1\t0\t59\n" +
	"Sketch\tpython3 sketch.py\tsketches\t--steps\t1\t10\t2\tstatic\t1\t-1\t100\t60\n"

func importText(t *testing.T, text string) (*datasets.Jobs, importers.Report) {
	t.Helper()
	j, report, err := Import(strings.NewReader(text), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	return j, report
}

func TestImportFixture(t *testing.T) {
	j, report := importText(t, fixture)
	want := []datasets.Row{
		{ID: 1, GPUs: 1, Duration: 1418 * time.Second, Steps: 134583, Model: "LM", Batch: 10, Weight: 1},
		{ID: 2, Submit: 55 * time.Second, GPUs: 4, Duration: 1000 * time.Second, Steps: 50000.5, Model: "LM", Batch: 10, Weight: 2.5, Deadline: 1255 * time.Second},
		{ID: 3, Submit: 56 * time.Second, GPUs: 1, Duration: 30500 * time.Millisecond, Steps: 800, Model: "A3C", Batch: 4, Weight: 1},
		{ID: 6, Submit: 59 * time.Second, GPUs: 2, Steps: 10, Model: "VGG-16", Batch: 32, Weight: 1},
		{ID: 7, Submit: 60 * time.Second, GPUs: 2, Duration: 100 * time.Second, Steps: 10, Model: "Sketch", Weight: 1},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{importers.DropNoWork: 1, importers.DropNoGPU: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 7 || report.Kept != 5 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		warnMode: 2, warnBatch: 1, importers.WarnShort: 3,
		`model "VGG-16" is not in the performance catalogue: kept by the source's name`: 1,
		`model "Sketch" is not in the performance catalogue: kept by the source's name`: 1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The trap of the data: rows have 12 columns, two more than Gavel's.
func TestRowsHaveTwelveColumns(t *testing.T) {
	gavel := lm + "134583\t1\t1\t-1.000000\t0\n" // 10 columns
	row := lm + "134583\t1\tstatic\t1\t-1\t1418\t0"
	for name, test := range map[string]struct {
		text string
		want datasets.RowError
	}{
		"ten":      {gavel, datasets.RowError{Row: 1, Value: "10 values", Fix: "want 12"}},
		"eleven":   {row + "\n" + strings.TrimSuffix(row, "\t0") + "\n", datasets.RowError{Row: 2, Value: "11 values", Fix: "want 12"}},
		"thirteen": {row + "\n" + row + "\t7\n", datasets.RowError{Row: 2, Value: "13 values", Fix: "want 12"}},
	} {
		if err := importertest.Refused(Format(), test.text, test.want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "ten" && Sniff([]byte(test.text)) {
			t.Error("a trace of Gavel is taken for one of Shockwave")
		}
	}
	if !Sniff([]byte(row)) || Sniff([]byte(strings.ReplaceAll(row, "static", "1"))) {
		t.Error("the mode does not tell the formats apart")
	}
}

func TestDeadlines(t *testing.T) {
	for slo, want := range map[string]time.Duration{
		"-1.000000": 0, "-0.5": 0, "0": 0, "1.2": 55*time.Second + 1200*time.Millisecond, "10": 65 * time.Second, "1e-12": 55*time.Second + 1,
	} {
		j, _ := importText(t, lm+"10\t1\tstatic\t1\t"+slo+"\t1\t55\n")
		if got := j.Rows[0].Deadline; got != want {
			t.Errorf("SLO %s of a job of 1 s at 55 s: deadline %v, want %v", slo, got, want)
		}
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
		{"LM (batch size x)\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "job_type", Value: "size x", Fix: "batch size 10"}},
		{"LM (batch size 0)\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "job_type", Fix: "batch size 10"}},
		{"LM (64)\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "job_type", Fix: "batch size 10"}},
		{"\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Value: "11 values", Fix: "want 12"}}, // spaces around a line are cut off
		{strings.Repeat("x", 300) + "\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "job_type", Fix: "A3C"}},
		{"LM\t" + strings.Repeat("c", 5000) + "\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "command", Fix: "4096 bytes"}},
		{"LM\tc\td\ta\t2\t10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "needs_data_dir", Value: "2", Fix: "0 to 1"}},
		{"LM\tc\td\ta\t1\t-10\t1\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "total_steps", Value: "-10", Fix: "from 0"}},
		{"LM\tc\td\ta\t1\t10\t0.5\tstatic\t1\t-1\t10\t0", datasets.RowError{Column: "scale_factor", Value: "0.5", Fix: "whole number"}},
		{"LM\tc\td\ta\t1\t10\t1\tadaptive\t1\t-1\t10\t0", datasets.RowError{Column: "mode", Value: "adaptive", Fix: "accordion"}},
		{"LM\tc\td\ta\t1\t10\t1\tstatic\t0\t-1\t10\t0", datasets.RowError{Column: "priority_weight", Value: "0", Fix: "1e-09"}},
		{"LM\tc\td\ta\t1\t10\t1\tstatic\t1\tNaN\t10\t0", datasets.RowError{Column: "SLO", Value: "NaN", Fix: "number"}},
		{"LM\tc\td\ta\t1\t10\t1\tstatic\t1\t1e6\t1e9\t0", datasets.RowError{Column: "SLO", Fix: "100 years"}},
		{"LM\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t-10\t0", datasets.RowError{Column: "duration", Value: "-10", Fix: "seconds"}},
		{"LM\tc\td\ta\t1\t10\t1\tstatic\t1\t-1\t10\tx", datasets.RowError{Column: "arrival_time", Value: "x", Fix: "seconds"}},
	}
	for _, test := range tests {
		test.want.Row = 2
		if err := importertest.Refused(Format(), lm+"10\t1\tstatic\t1\t-1\t10\t0\n"+test.row+"\n", test.want); err != nil {
			t.Errorf("%.60q: %v", test.row, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyTraceRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			fmt.Fprintf(&b, "%s\tpython3\tdir\t-n\t%d\t%v\t%d\t%s\t%v\t%v\t%v\t%v\n",
				rapid.SampledFrom([]string{"LM (batch size 5)", "A3C", "other"}).Draw(t, "type"), rapid.IntRange(0, 1).Draw(t, "data"),
				rapid.Float64Range(1, 1e18).Draw(t, "steps"), rapid.IntRange(1, 1_000_000).Draw(t, "gpus"),
				rapid.SampledFrom([]string{"static", "gns", "accordion"}).Draw(t, "mode"), rapid.Float64Range(1e-9, 1e9).Draw(t, "weight"),
				rapid.Float64Range(-1, 3).Draw(t, "slo"), rapid.Float64Range(0, 1e9).Draw(t, "duration"), rapid.Float64Range(0, 1e9).Draw(t, "arrival"))
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
	f.Add([]byte(lm))
	f.Add([]byte(a3c + "1\t1\tgns\t1e-9\t1e6\t1e-9\t0"))
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Fatal(err)
		}
	})
}

// The real files, with counts taken from them by a script.
func TestImportRealFiles(t *testing.T) {
	tests := []struct {
		file            string
		jobs, adaptive  int
		steps, gpuHours float64
		span            time.Duration
	}{
		{"jobs_120.trace", 120, 116, 24_328_903, 197.60305555555556, 5011 * time.Second},
		{"jobs_220.trace", 220, 213, 43_856_275, 403.86861111111114, 5956 * time.Second},
		{"jobs_460.trace", 460, 441, 121_646_405, 896.4505555555555, 4749 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			j, report, err := Import(importertest.OpenShared(t, "shockwave", "traces", test.file), test.file)
			if err != nil {
				t.Fatal(err)
			}
			if report.Read != test.jobs || report.Kept != test.jobs || report.Span() != test.span {
				t.Errorf("got %v over %v, want all %d jobs over %v", report.Report, report.Span(), test.jobs, test.span)
			}
			if diff := cmp.Diff(map[string]int{warnMode: test.adaptive}, importertest.Counts(report.Warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			steps := 0.0
			for _, r := range j.Rows {
				steps += r.Steps
			}
			if got := j.Describe().GPUHours; math.Abs(got-test.gpuHours) > 1e-9*got || steps != test.steps {
				t.Errorf("got %v GPU-hours, %v steps, want %v, %v", got, steps, test.gpuHours, test.steps)
			}
			if err := importertest.RoundTrip(j, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}
