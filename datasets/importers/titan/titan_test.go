package titan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/env"
)

// files are written by hand after the schemas: one of each kind, memory of a
// batch without a row, memory that falls.
var files = []importertest.File{
	{Name: "fminfo/A100/vit_placements.csv", Text: []byte("placement,local_bsz,step_time,sync_time\n" +
		"1,4,0.025,1e-08\n" +
		"1,8,0.04,1e-08\n" +
		"4444,4,0.05,0.0159\n" +
		"12,4,0.03,0.0037\n")},
	{Name: "fminfo/A100/vit_memory.csv", Text: []byte("local_bsz,gpu_memory\n4,1.5\n16,2\n32,1.75\n")},
	{Name: "fminfo/A100/vit_scalability.csv", Text: []byte("num_nodes,num_replicas,local_bsz,step_time,sync_time\n16,64,4,0.08,0.05\n")},
	{Name: "fminfo/A100/vit_context_switch.csv", Text: []byte("app,time_cost\nfood101,104.9\n")},
	{Name: "fminfo/V100/vit-large_placements.csv", Text: []byte("placement,local_bsz,step_time,sync_time\n1,4,0.1,1e-08\n")},
}

func importFiles(t *testing.T, files ...importertest.File) (*datasets.ThroughputTable, importers.Report) {
	t.Helper()
	table, report, err := Import(importertest.Inputs(files...)...)
	if err != nil {
		t.Fatal(err)
	}
	return table, report
}

func TestImportFixture(t *testing.T) {
	table, report := importFiles(t, append(slices.Clone(files), sharing)...)
	row := func(placement string, gpus, nodes, batch int32, rate, mem float64) datasets.ThroughputRow {
		quality := datasets.Modelled
		if gpus == 1 {
			quality = datasets.Measured
		}
		return datasets.ThroughputRow{
			Source: "titan", Model: "ViT-base", GPUType: "A100-80", GPUs: gpus, Nodes: nodes, Placement: placement, Batch: batch, GlobalBatch: int64(batch * gpus),
			Plan: env.Plan{Data: int(gpus), Tensor: 1, Pipeline: 1, MicroBatch: int(batch)}, StepsPerSecond: rate, MemGiB: mem, Quality: quality,
		}
	}
	want := []datasets.ThroughputRow{
		row("1", 1, 1, 4, 40, 1.5),
		row("1", 1, 1, 8, 25, 0),
		row("4+4+4+4", 16, 4, 4, 320, 1.5),
		row("1+2", 3, 2, 4, 100, 1.5),
		row("1", 1, 1, 4, 10, 0),
		row("", 64, 16, 4, 800, 1.5),
	}
	want[4].Model, want[4].GPUType = "vit-large", "V100-32"
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	dropped := map[string]int{dropMemory: 1, dropMemoryUnused: 2, dropContextSwitch: 1, dropSharing: 1}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Read != 11 || report.Kept != 6 {
		t.Errorf("report %+v, dropped (-want +got):\n%s", report, diff)
	}
	warnings := map[string]int{
		warnFalls: 1,
		`model "vit-large" is not in the performance catalogue: kept by the source's name`: 1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The trap of the data: placements are strings, a digit for each node.
func TestPlacementsAreStrings(t *testing.T) {
	const head = "placement,local_bsz,step_time,sync_time\n"
	path := files[0].Name
	table, _ := importFiles(t, importertest.File{Name: path, Text: []byte(head + "4444,4,0.05,0.01\n\"1124\",4,0.05,0.01\n")})
	if a, b := table.Rows[0], table.Rows[1]; a.GPUs != 16 || a.Nodes != 4 || b.GPUs != 8 || b.Placement != "1+1+2+4" {
		t.Errorf("got %+v and %+v", a, b)
	}
	for _, bad := range []string{"4444.0", "10", "1+1", ""} {
		_, _, err := Import(importertest.Inputs(importertest.File{Name: path, Text: []byte(head + bad + ",4,0.05,0.01\n")})...)
		if err := importertest.Refusal(err, datasets.RowError{Row: 2, Column: "placement", Fix: `"1124"`}); err != nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestImportChecks(t *testing.T) {
	if err := importertest.CheckTable(Format(), t.TempDir(), files...); err != nil {
		t.Error(err)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	const placements, scalability, memories = "placement,local_bsz,step_time,sync_time\n", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n", "local_bsz,gpu_memory\n"
	tests := []struct {
		name, text string
		want       datasets.RowError
	}{
		{"A100/vit.csv", placements, datasets.RowError{Value: "what it holds", Fix: "MODEL_placements.csv"}},
		{"vit_placements.csv", placements, datasets.RowError{Value: "which GPUs", Fix: "A100"}},
		{"H100/vit_placements.csv", placements, datasets.RowError{Value: "which GPUs", Fix: "V100"}},
		{"A100/_placements.csv", placements, datasets.RowError{Value: "which model", Fix: "MODEL"}},
		{"A100/vit_placements.csv", scalability, datasets.RowError{Row: 1, Column: "placement", Value: "missing", Fix: "step_time"}},
		{"A100/vit_placements.csv", placements + "1,0,1,0\n", datasets.RowError{Row: 2, Column: "local_bsz", Value: "0", Fix: "from 1"}},
		{"A100/vit_placements.csv", placements + "1,4,0,0\n", datasets.RowError{Row: 2, Column: "step_time", Value: "0", Fix: "1e-09"}},
		{"A100/vit_placements.csv", placements + "1,4,1,-1\n", datasets.RowError{Row: 2, Column: "sync_time", Value: "-1", Fix: "from 0"}},
		{"A100/vit_placements.csv", placements, datasets.RowError{Value: "no row is left of 0 values", Fix: "check"}},
		{"A100/vit_scalability.csv", scalability + "0,1,4,1,0\n", datasets.RowError{Row: 2, Column: "num_nodes", Value: "0", Fix: "from 1"}},
		{"A100/vit_scalability.csv", scalability + "4,2,4,1,0\n", datasets.RowError{Row: 2, Column: "num_nodes", Value: "4", Fix: "no more nodes"}},
		{"A100/vit_scalability.csv", scalability + "1,x,4,1,0\n", datasets.RowError{Row: 2, Column: "num_replicas", Value: "x", Fix: "whole number"}},
		{"A100/vit_memory.csv", memories + "4,0\n", datasets.RowError{Row: 2, Column: "gpu_memory", Value: "0", Fix: "1e-06"}},
		{"A100/vit_memory.csv", memories + "4,1\n4,2\n", datasets.RowError{Row: 3, Column: "local_bsz", Value: "4", Fix: "once"}},
	}
	for _, test := range tests {
		_, _, err := Import(importertest.Inputs(importertest.File{Name: test.name, Text: []byte(test.text)})...)
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%s with %q: %v", test.name, test.text, err)
		}
	}
}

// Whatever is imported can be written and read back.
func TestAnyProfileRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("placement,local_bsz,step_time,sync_time")
		for range rapid.IntRange(1, 10).Draw(t, "rows") {
			fmt.Fprintf(&b, "\n%s,%d,%v,0", rapid.StringMatching("[1-9]{1,16}").Draw(t, "placement"),
				rapid.IntRange(1, datasets.MaxBatch).Draw(t, "batch"), rapid.Float64Range(1e-6, 1e6).Draw(t, "time"))
		}
		table, _, err := Import(importertest.Inputs(importertest.File{Name: "V100/vit_placements.csv", Text: []byte(b.String())})...)
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTripTable(table, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	for i, file := range files {
		f.Add(i, file.Text)
	}
	f.Fuzz(func(t *testing.T, kind int, text []byte) {
		name := files[uint(kind)%uint(len(files))].Name
		if err := importertest.FuzzTable(Format(), importertest.File{Name: name, Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

// realFiles opens every file of Titan.
func realFiles(t *testing.T) []importers.Input {
	t.Helper()
	var inputs []importers.Input
	for _, gpu := range []string{"A100", "V100"} {
		for _, model := range []string{"roberta-base", "roberta-large", "vit", "vit-large"} {
			for _, kind := range kinds {
				if kind == "sharing" && (gpu != "V100" || model != "vit" && model != "roberta-base") {
					continue
				}
				f := importertest.OpenShared(t, "titan", "fminfo", gpu, model+"_"+kind+".csv")
				inputs = append(inputs, importers.Input{Name: f.Name(), Reader: f})
			}
		}
	}
	return inputs
}

// The real files, with counts taken from them by a script.
func TestImportRealFiles(t *testing.T) {
	table, report, err := Import(realFiles(t)...)
	if err != nil {
		t.Fatal(err)
	}
	// 12,636 rows of placements and 4,212 of scalability.
	dropped := map[string]int{dropMemory: 86, dropContextSwitch: 8, dropSharing: 116}
	if diff := cmp.Diff(dropped, importertest.Counts(report.Dropped)); diff != "" || report.Kept != 16_848 {
		t.Errorf("got %v, dropped (-want +got):\n%s", report.Report, diff)
	}
	if n := importertest.Counts(report.Warnings)[warnFalls]; n != 5 {
		t.Errorf("memory falls %d times, want 5: on V100, vit-large, from batch 128", n)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
	checkComposed(t, table)
}

// checkComposed checks what the quality rests on: on each placement, the step
// times of all batches are those of one GPU and a constant, but for some noise.
func checkComposed(t *testing.T, table *datasets.ThroughputTable) {
	t.Helper()
	type job struct {
		model, gpu string
		batch      int32
	}
	alone := make(map[job]float64)
	for _, r := range table.Rows {
		if r.GPUs == 1 {
			alone[job{r.Model, r.GPUType, r.Batch}] = 1 / r.StepsPerSecond
		}
	}
	type place struct {
		model, gpu, placement string
	}
	sync := make(map[place][]float64) // relative to the largest batch's step
	largest := make(map[place]float64)
	for _, r := range table.Rows {
		if r.Placement == "" {
			continue
		}
		seconds := float64(r.GPUs) / r.StepsPerSecond
		k := place{r.Model, r.GPUType, r.Placement}
		sync[k] = append(sync[k], seconds-alone[job{r.Model, r.GPUType, r.Batch}])
		largest[k] = max(largest[k], seconds)
	}
	for k, times := range sync {
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range times {
			low, high = min(low, s), max(high, s)
		}
		if spread := (high - low) / largest[k]; spread > 0.06 {
			t.Errorf("%v: what several GPUs add to the time of one differs by %.1f %% of the longest step", k, 100*spread)
		}
	}
}
