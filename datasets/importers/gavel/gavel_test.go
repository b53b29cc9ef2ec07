package gavel

import (
	"bytes"
	"errors"
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

// Traces written by hand after the columns: jobs of one and several GPUs, out
// of order, a model without a batch size, a deadline, a job without steps.
const (
	ten = "LM (batch size 10)\tpython3 main.py --batch_size 10\tlm\t--steps\t1\t8601\t1\t1\t-1.000000\t60.5\n" +
		"A3C\tpython3 main.py --workers 4\trl\t--max-steps\t0\t800\t1\t2.5\t-1.000000\t0\n" +
		"ResNet-18 (batch size 128)\tpython3 main.py\tcifar10\t--num_steps\t1\t925982\t4\t1\t1.2\t0\n" +
		"LM (batch size 5)\tpython3 main.py\tlm\t--steps\t1\t0\t1\t1\t-1.000000\t61\n"
	seven = "Transformer (batch size 128)\tcd %s/translation && python3 train.py\t-step\t1\t95121\t0.000000\t1\n" +
		"Recommendation (batch size 8192)\tcd %s/recommendation && python3 train.py\t-n\t1\t10000\t6.000000\t3\n"
)

func TestReadTrace(t *testing.T) {
	got, err := ReadTrace(strings.NewReader(strings.Join(strings.Split(ten, "\n")[:3], "\n")), "t")
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{ // by arrival, equal ones in the order of the file
		{Class: Class{"A3C", 0, 1}, Steps: 800, Weight: 2.5, SLO: -1},
		{Class: Class{"ResNet-18", 128, 4}, Steps: 925982, Weight: 1, SLO: 1.2},
		{Class: Class{"LM", 10, 1}, Arrival: 60.5, Steps: 8601, Weight: 1, SLO: -1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if _, err := ReadTrace(strings.NewReader(ten), "t"); importertest.Refusal(err, datasets.RowError{Row: 4, Value: "0 steps", Fix: "> 0"}) != nil {
		t.Errorf("got %v, want a job without steps refused", err)
	}
}

// The old format has other columns, and GPU counts that no oracle knows.
func TestOldFormatHasSevenColumns(t *testing.T) {
	got, err := ReadTrace(strings.NewReader(seven), "t")
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{Class: Class{"Transformer", 128, 1}, Steps: 95121, Weight: 1, SLO: -1},
		{Class: Class{"Recommendation", 8192, 3}, Arrival: 6, Steps: 10000, Weight: 1, SLO: -1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	for name, text := range map[string]string{"mixed": seven + ten, "eight": strings.ReplaceAll(seven, "\t-step", "\t-step\tx"), "twelve": strings.ReplaceAll(ten, "\t1\t-1", "\t1\t2\t3\t-1")} {
		if _, err := ReadTrace(strings.NewReader(text), "t"); err == nil || !strings.Contains(err.Error(), "columns between tabs") {
			t.Errorf("%s: got %v, want its columns refused", name, err)
		}
	}
}

func TestImportTrace(t *testing.T) {
	j, report, err := Import(strings.NewReader(ten), "t.trace")
	if err != nil {
		t.Fatal(err)
	}
	want := []datasets.Row{
		{ID: 2, GPUs: 1, Steps: 800, Model: "A3C", Batch: 4, Weight: 2.5},
		{ID: 3, GPUs: 4, Steps: 925982, Model: "ResNet-18", Batch: 128, Weight: 1},
		{ID: 1, Submit: 60500 * time.Millisecond, GPUs: 1, Steps: 8601, Model: "LM", Batch: 10, Weight: 1},
	}
	if diff := cmp.Diff(want, j.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{importers.DropNoWork: 1}, importertest.Counts(report.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{warnSLO: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestImportChecks(t *testing.T) {
	for _, text := range []string{ten, seven} {
		if err := importertest.Check(Format(), []byte(text), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

func TestTraceRefusesBadValues(t *testing.T) {
	for _, test := range []struct {
		line string
		want datasets.RowError
	}{
		{"LM (batch size x)\tc\td\ta\t1\t10\t1\t1\t-1\t0", datasets.RowError{Column: "job_type", Value: "size x", Fix: "batch size 5"}},
		{"LM (64)\tc\td\ta\t1\t10\t1\t1\t-1\t0", datasets.RowError{Column: "job_type", Fix: "batch size 5"}},
		{strings.Repeat("x", 300) + "\tc\td\ta\t1\t10\t1\t1\t-1\t0", datasets.RowError{Column: "job_type", Fix: "A3C"}},
		{"LM\tc\td\ta\ty\t10\t1\t1\t-1\t0", datasets.RowError{Column: "needs_data_dir", Value: "y", Fix: "0 to 1"}},
		{"LM\tc\td\ta\t1\t-10\t1\t1\t-1\t0", datasets.RowError{Column: "total_steps", Value: "-10", Fix: "from 0"}},
		{"LM\tc\td\ta\t1\t10\t0.5\t1\t-1\t0", datasets.RowError{Column: "scale_factor", Value: "0.5", Fix: "whole"}},
		{"LM\tc\td\ta\t1\t10\t1\t0\t-1\t0", datasets.RowError{Column: "priority_weight", Value: "0", Fix: "1e-09"}},
		{"LM\tc\td\ta\t1\t10\t1\t1\tNaN\t0", datasets.RowError{Column: "SLO", Value: "NaN", Fix: "from -1"}},
		{"LM\tc\td\ta\t1\t10\t1\t1\t-1\t-5", datasets.RowError{Column: "arrival_time", Value: "-5", Fix: "from 0"}},
		{"LM\tc\ta\t1\t10\tx\t1", datasets.RowError{Column: "arrival_time", Value: "x", Fix: "number"}},
	} {
		test.want.Row = 1
		if err := importertest.Refused(Format(), test.line, test.want); err != nil {
			t.Errorf("%s: %v", test.line, err)
		}
	}
}

const streamText = "job_id,unit_arrival,model,batch_size,gpus,duration_s_v100,total_steps\n" +
	"0,0.0,ResNet-18,64,8,68344.35010595087,17484476.26110642\n" +
	"1,0.27176230323366835,CycleGAN,,1,41544.02350056149,183877.51482889682\n"

func TestReadStream(t *testing.T) {
	got, err := ReadStream(strings.NewReader(streamText), "s", 1024)
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{Class: Class{"ResNet-18", 64, 8}, Steps: 17484476.26110642, Weight: 1, SLO: -1, DurationV100: 68344.35010595087},
		{Class: Class{"CycleGAN", 0, 1}, Arrival: 1024 * 0.27176230323366835, Steps: 183877.51482889682, Weight: 1, SLO: -1, DurationV100: 41544.02350056149},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		old, new string
		want     datasets.RowError
	}{
		"header":   {"gpus,", "workers,", datasets.RowError{Row: 1, Value: "header", Fix: "job_id"}},
		"width":    {",1,41544", ",1,2,41544", datasets.RowError{Row: 3, Value: "8 columns", Fix: "job_id"}},
		"ids":      {"\n1,", "\n7,", datasets.RowError{Row: 3, Column: "job_id", Value: "7", Fix: "want 1"}},
		"order":    {"0,0.0", "0,0.5", datasets.RowError{Row: 3, Column: "unit_arrival", Value: "0.27", Fix: "order"}},
		"late":     {"0.27176230323366835", "3e9", datasets.RowError{Row: 3, Column: "unit_arrival", Value: "3e9", Fix: "100 years"}},
		"no steps": {"183877.51482889682", "0", datasets.RowError{Row: 3, Column: "total_steps", Value: "0", Fix: "number"}},
		"no model": {"CycleGAN", "", datasets.RowError{Row: 3, Column: "model", Fix: "1 to 256"}},
	} {
		text := strings.Replace(streamText, test.old, test.new, 1)
		if _, err := ReadStream(strings.NewReader(text), "s", 1000); importertest.Refusal(err, test.want) != nil {
			t.Errorf("%s: got %v, want %v", name, err, &test.want)
		}
	}
	for _, mean := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := ReadStream(strings.NewReader(streamText), "s", mean); err == nil {
			t.Errorf("a mean of %v was accepted", mean)
		}
	}
}

const referenceText = "policy,lp_solver,trace,mean_interarrival_s,cluster_v100_p100_k80,throughputs,jobs_total,window_start,window_end," +
	"jobs_measured,avg_jct_s,p50_jct_s,p99_jct_s,end_s,utilization,rounds,job_rounds,per_job_csv\n" +
	"MinTotalDuration_Perf,scipy-highs,a.trace,,2:0:4,physical.json,,,,15,4594.6,4666.2,5292.7,5338.1,0.906,17,82,\n" +
	"FIFO_Perf,,continuous/multi_seed0.csv,2500,12:12:12,sim.json,400,100,300,200,153867.9,137465.7,552419,1147670.76,0.865,3189,,g.csv\n"

func TestReadReference(t *testing.T) {
	got, err := ReadReference(strings.NewReader(referenceText), "r")
	if err != nil {
		t.Fatal(err)
	}
	want := []Reference{
		{
			Policy: "MinTotalDuration_Perf", Solver: "scipy-highs", Trace: "a.trace", GPUs: []int{2, 0, 4}, Throughputs: "physical.json",
			Jobs: 15, Mean: 4594.6, P50: 4666.2, P99: 5292.7, Finish: 5338.1, Utilization: 0.906, Rounds: 17, JobRounds: 82,
		},
		{
			Policy: "FIFO_Perf", Trace: "continuous/multi_seed0.csv", Interarrival: 2500, GPUs: []int{12, 12, 12}, Throughputs: "sim.json", TotalJobs: 400, First: 100, End: 300,
			Jobs: 200, Mean: 153867.9, P50: 137465.7, P99: 552419, Finish: 1147670.76, Utilization: 0.865, Rounds: 3189, Times: "g.csv",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		old, new string
		want     datasets.RowError
	}{
		"cluster":     {"2:0:4", "2:4", datasets.RowError{Row: 2, Column: "cluster_v100_p100_k80", Value: "2:4", Fix: "8:16:24"}},
		"gpus":        {"2:0:4", "2:-1:4", datasets.RowError{Row: 2, Column: "cluster_v100_p100_k80", Value: "2:-1:4", Fix: "8:16:24"}},
		"policy":      {"FIFO_Perf", "", datasets.RowError{Row: 3, Column: "policy", Fix: "1 to 256"}},
		"utilization": {"0.865", "1.865", datasets.RowError{Row: 3, Column: "utilization", Value: "1.865", Fix: "0 to 1"}},
		"rounds":      {"3189", "many", datasets.RowError{Row: 3, Column: "rounds", Value: "many", Fix: "whole"}},
	} {
		text := strings.Replace(referenceText, test.old, test.new, 1)
		if _, err := ReadReference(strings.NewReader(text), "r"); importertest.Refusal(err, test.want) != nil {
			t.Errorf("%s: got %v, want %v", name, err, &test.want)
		}
	}
}

// A job that was given up has no time.
func TestReadTimes(t *testing.T) {
	got, err := ReadTimes(strings.NewReader("job_id,jct_s\n4000,54015.79\n4928,None\n"), "t")
	if err != nil || len(got) != 2 || got[0] != (Time{4000, 54015.79}) || got[1].ID != 4928 || !math.IsNaN(got[1].JCT) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, text := range []string{"", "job_id\n1\n", "job_id,jct_s\n1,-5\n", "job_id,jct_s\nx,5\n", "job_id,jct_s\n1,\n"} {
		if _, err := ReadTimes(strings.NewReader(text), "t"); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestClassNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Class{rapid.StringMatching(`[A-Za-z][A-Za-z0-9-]{0,20}`).Draw(t, "model"), rapid.IntRange(0, 1<<24).Draw(t, "batch"), rapid.IntRange(1, 64).Draw(t, "gpus")}
		model, batch, err := parseName(c.name())
		if err != nil || model != c.Model || batch != c.Batch {
			t.Errorf("%q became %q and %d: %v", c.name(), model, batch, err)
		}
	})
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte(ten))
	f.Add([]byte(seven))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, input []byte) {
		if err := importertest.Fuzz(Format(), input); err != nil {
			t.Error(err)
		}
		read, err := ReadTrace(bytes.NewReader(input), "t")
		if _, ok := errors.AsType[*datasets.RowError](err); err != nil && !ok {
			t.Errorf("got the error %#v, want a RowError", err)
		}
		for i, j := range read {
			if !(j.Steps > 0) || j.GPUs < 1 || i > 0 && j.Arrival < read[i-1].Arrival {
				t.Fatalf("read %+v", j)
			}
		}
	})
}
