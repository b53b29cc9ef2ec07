package gavel

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
)

func TestImportColocation(t *testing.T) {
	file := importertest.File{Name: "simulation_throughputs.json", Text: []byte(oracleText)}
	table, report, err := ImportColocation(importertest.Inputs(file)...)
	if err != nil {
		t.Fatal(err)
	}
	lm := datasets.Tenancy{Model: "LM", Batch: 5, Isolated: 120.5}
	with := func(job datasets.Tenancy, rate float64) datasets.Tenancy { job.StepsPerSecond = rate; return job }
	want := []datasets.ColocationRow{
		{
			Source: "gavel-sim", GPUType: "V100", GPUs: 1, Nodes: 1, Quality: datasets.Measured,
			A: with(lm, 100), B: datasets.Tenancy{Model: "A3C", Batch: 4, StepsPerSecond: 3.5, Isolated: 5.5},
		},
		{Source: "gavel-sim", GPUType: "V100", GPUs: 1, Nodes: 1, Quality: datasets.Measured, A: with(lm, 60), B: with(lm, 61.5)},
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{dropAlone: 7}, importertest.Counts(report.Dropped)); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	file.Name = "throughputs.json"
	if err := importertest.CheckTable(ColocationFormat(), t.TempDir(), file); err != nil {
		t.Error(err)
	}
}

// Trap: the pairs of the physical file are an unchanged copy of the other's and
// do not fit its isolated values.
func TestPairsOfThePhysicalFileAreACopy(t *testing.T) {
	file := importertest.File{Name: "physical_cluster_throughputs.json", Text: []byte(oracleText)}
	_, _, err := ImportColocation(importertest.Inputs(file)...)
	if err := importertest.Refusal(err, datasets.RowError{Value: "no row is left of 9 values", Fix: "check"}); err != nil {
		t.Error(err)
	}
	read := func(name string) *Oracle {
		o, err := ReadOracle(importertest.OpenShared(t, "gavel", name), name)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	physical, simulation := read("physical_cluster_throughputs.json"), read("simulation_throughputs.json")
	if diff := cmp.Diff(simulation.pairs, physical.pairs); diff != "" {
		t.Error("the pairs of the two real files differ: they are no copy any more")
	}
	k80 := Place{"K80", false}
	if physical.alone[k80][Class{"ResNet-18", 32, 1}] == simulation.alone[k80][Class{"ResNet-18", 32, 1}] {
		t.Error("the isolated values of the two real files are the same")
	}
}

// Trap: throughput 0 means out of memory, which is null.
func TestPairsOutOfMemoryAreNull(t *testing.T) {
	text := strings.Replace(oracleText, "[60.0, 61.5]", "[0.0, 0.0]", 1)
	table, _, err := ImportColocation(importertest.Inputs(importertest.File{Name: "o.json", Text: []byte(text)})...)
	if err != nil {
		t.Fatal(err)
	}
	if r := table.Rows[1]; r.A.StepsPerSecond != 0 || r.B.StepsPerSecond != 0 || r.A.Isolated != 120.5 {
		t.Errorf("got %+v, want no speed beside each other", r)
	}
}

func TestImportRealColocation(t *testing.T) {
	f := importertest.OpenShared(t, "gavel", "simulation_throughputs.json")
	table, report, err := ImportColocation(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	dropped := importertest.Counts(report.Dropped)
	if want := map[string]int{dropAlone: 492, dropSpread: 3 * 676}; cmp.Diff(want, dropped) != "" || report.Kept != 10_338-3*676 {
		t.Errorf("got %s, dropped %v, want %v", report.Report, dropped, want)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestImportStream(t *testing.T) {
	jobs, report, err := ImportStream(strings.NewReader(streamText), "s.csv")
	if err != nil {
		t.Fatal(err)
	}
	seconds := func(x float64) time.Duration { return time.Duration(math.Round(x * 1e9)) }
	want := []datasets.Row{
		{ID: 0, GPUs: 8, Steps: 17484476.26110642, Model: "ResNet-18", Batch: 64, Duration: seconds(68344.35010595087), ReferenceGPU: "V100"},
		{
			ID: 1, Submit: seconds(StreamInterarrival * 0.27176230323366835), GPUs: 1, Steps: 183877.51482889682, Model: "CycleGAN", Batch: 1,
			Duration: seconds(41544.02350056149), ReferenceGPU: "V100",
		},
	}
	if diff := cmp.Diff(want, jobs.Rows); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if importertest.Counts(report.Warnings)[warnUnit] != 2 {
		t.Errorf("warnings %v: want one about the unit of arrivals", report.Warnings)
	}
	if err := importertest.Check(StreamFormat(), []byte(streamText), t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestImportRealStreams(t *testing.T) {
	for _, name := range []string{"single_seed42.csv", "single_seed0.csv", "multi_seed0.csv"} {
		f := importertest.OpenShared(t, "gavel", "continuous", name)
		if _, report, err := ImportStream(f, name); err != nil || report.Read != 8000 || report.Kept != 8000 {
			t.Errorf("%s: got %s (%v), want 8,000 jobs", name, report.Report, err)
		}
	}
}

func FuzzImportColocation(f *testing.F) {
	f.Add([]byte(oracleText))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ColocationFormat(), importertest.File{Name: "o.json", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImportStream(f *testing.F) {
	f.Add([]byte(streamText))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.Fuzz(StreamFormat(), text); err != nil {
			t.Fatal(err)
		}
	})
}
