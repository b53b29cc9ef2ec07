package rubick

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/env"
)

// profiles are written by hand after the schemas: three to six columns, every
// kind of plan, a placement of many nodes, one that ran out of memory, an
// application that the artifact does not have.
var profiles = []importertest.File{
	{Name: "profiles/bert/placements.csv", Text: []byte("exec_plan,placement,iter_time,forward,overlap_sync,optimize\n" +
		"ga,1111,0.5,60,100,25\n" +
		"gc,13,0.25,60,100,25\n" +
		"zero-dp,2,0.4,60,100,25\n" +
		"zero-offload,4,2,60,100,25\n")},
	{Name: "profiles/llama7b_bsz16/placements.csv", Text: []byte("exec_plan,placement,cpu_threads,iter_time\n" +
		"242,4444,2,2\n" +
		"182,4444,2,0\n" +
		"zero-offload+gc,1,2,64\n" +
		"zero-offload+gc,1,4,32\n")},
	{Name: "profiles/opt/placements.csv", Text: []byte("exec_plan,placement,iter_time\ntp+ga,3,1.5\n")},
}

func importProfiles(t *testing.T, files ...importertest.File) (*datasets.ThroughputTable, importers.Report) {
	t.Helper()
	table, report, err := ImportProfiles(importertest.Inputs(files...)...)
	if err != nil {
		t.Fatal(err)
	}
	return table, report
}

func TestImportProfilesOfFixture(t *testing.T) {
	table, report := importProfiles(t, profiles...)
	row := func(model, placement string, gpus, nodes, batch int32, global int64, rate float64, plan env.Plan) datasets.ThroughputRow {
		return datasets.ThroughputRow{
			Source: "rubick", Model: model, GPUType: "A800", GPUs: gpus, Nodes: nodes, Placement: placement, Batch: batch, GlobalBatch: global,
			Plan: plan, StepsPerSecond: rate, Quality: datasets.Measured, OutOfMemory: rate == 0,
		}
	}
	want := []datasets.ThroughputRow{
		row("BERT-large", "1+1+1+1", 4, 4, 8, 32, 8, env.Plan{Data: 4, Tensor: 1, Pipeline: 1}),
		row("BERT-large", "1+3", 4, 2, 8, 32, 16, env.Plan{Data: 4, Tensor: 1, Pipeline: 1, Checkpoint: true}),
		row("BERT-large", "2", 2, 1, 16, 32, 5, env.Plan{Data: 2, Tensor: 1, Pipeline: 1, ZeRO: 2}),
		row("BERT-large", "4", 4, 1, 8, 32, 2, env.Plan{Data: 4, Tensor: 1, Pipeline: 1, ZeRO: 2}),
		row("LLaMA-7B", "4+4+4+4", 16, 4, 1, 16, 8, env.Plan{Pipeline: 2, Tensor: 4, Data: 2}),
		row("LLaMA-7B", "4+4+4+4", 16, 4, 1, 16, 0, env.Plan{Pipeline: 1, Tensor: 8, Data: 2}),
		row("LLaMA-7B", "1", 1, 1, 16, 16, 1.0/64, env.Plan{Data: 1, Tensor: 1, Pipeline: 1, ZeRO: 2, Checkpoint: true}),
		row("LLaMA-7B", "1", 1, 1, 16, 16, 1.0/32, env.Plan{Data: 1, Tensor: 1, Pipeline: 1, ZeRO: 2, Checkpoint: true}),
		row("opt", "3", 3, 1, 0, 0, 2, env.Plan{Data: 1, Tensor: 3, Pipeline: 1}),
	}
	want[3].Offload, want[6].Offload, want[7].Offload = true, true, true
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if report.Read != 9 || report.Kept != 9 {
		t.Errorf("report %+v, want all 9 rows", report)
	}
	warnings := map[string]int{warnApplication: 1, `model "opt" is not in the performance catalogue: kept by the source's name`: 1}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// The trap of the data: an iteration time of 0 is out of memory.
func TestZeroIsOutOfMemory(t *testing.T) {
	table, _ := importProfiles(t, profiles[1])
	if r := table.Rows[1]; !r.OutOfMemory || r.StepsPerSecond != 0 {
		t.Errorf("got %+v, want a row that ran out of memory", r)
	}
}

// The trap of the data: placements are strings, a digit for each node.
func TestPlacementsAreStrings(t *testing.T) {
	for text, want := range map[string]datasets.ThroughputRow{
		"4444":     {GPUs: 16, Nodes: 4, Placement: "4+4+4+4"},
		"88888888": {GPUs: 64, Nodes: 8, Placement: "8+8+8+8+8+8+8+8"},
		"111122":   {GPUs: 8, Nodes: 6, Placement: "1+1+1+1+2+2"},
		"8":        {GPUs: 8, Nodes: 1, Placement: "8"},
	} {
		table, _ := importProfiles(t, importertest.File{Name: "vit/placements.csv", Text: []byte("exec_plan,placement,iter_time\nga," + text + ",1\n")})
		got := table.Rows[0]
		if got.GPUs != want.GPUs || got.Nodes != want.Nodes || got.Placement != want.Placement {
			t.Errorf("%s: got %d GPUs on %d nodes, %s, want %+v", text, got.GPUs, got.Nodes, got.Placement, want)
		}
	}
	for _, bad := range []string{"4444.0", "4.444e3", "40", "4 4", "", "٤"} {
		_, _, err := ImportProfiles(importertest.Inputs(importertest.File{Name: "vit/placements.csv", Text: []byte("exec_plan,placement,iter_time\nga," + bad + ",1\n")})...)
		if err := importertest.Refusal(err, datasets.RowError{Row: 2, Column: "placement", Fix: `"4444"`}); err != nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParsePlan(t *testing.T) {
	// The degrees are pipeline, tensor, data.
	got, ok := ParsePlan("284", 64)
	if want := (ExecPlan{Plan: env.Plan{Pipeline: 2, Tensor: 8, Data: 4}}); !ok || got != want {
		t.Errorf("284: got %+v, want %+v", got, want)
	}
	for _, bad := range []string{"", "284", "28", "2842", "dp", "GA", "048", "-11", "2.4"} {
		if got, ok := ParsePlan(bad, 32); ok {
			t.Errorf("%q on 32 GPUs: got %+v, want a refusal", bad, got)
		}
	}
}

func TestProfileChecks(t *testing.T) {
	if err := importertest.CheckTable(ThroughputFormat(), t.TempDir(), profiles...); err != nil {
		t.Error(err)
	}
}

func TestImportProfilesRefusesBadInput(t *testing.T) {
	const head = "exec_plan,placement,iter_time\n"
	for _, test := range []struct {
		name, text string
		want       datasets.RowError
	}{
		{"placements.csv", head + "ga,1,1\n", datasets.RowError{Value: "folder", Fix: "bert/placements.csv"}},
		{"vit/placements.csv", "exec_plan,placement\nga,1\n", datasets.RowError{Row: 1, Column: "iter_time", Value: "missing", Fix: "exec_plan"}},
		{"vit/placements.csv", head + "444,8,1\n", datasets.RowError{Row: 2, Column: "exec_plan", Value: "444", Fix: "product"}},
		{"vit/placements.csv", head + "ddp,8,1\n", datasets.RowError{Row: 2, Column: "exec_plan", Value: "ddp", Fix: "zero-offload"}},
		{"vit/placements.csv", head + "ga,8,-1\n", datasets.RowError{Row: 2, Column: "iter_time", Value: "-1", Fix: "from 0"}},
		{"vit/placements.csv", head + "ga,8,oom\n", datasets.RowError{Row: 2, Column: "iter_time", Value: "oom", Fix: "number"}},
		{"vit/placements.csv", head + "ga,8,1e-300\n", datasets.RowError{Row: 2, Column: "steps_per_s", Fix: "1e12"}},
		{"vit/placements.csv", head + "ga,8,5e-324\n", datasets.RowError{Row: 2, Column: "iter_time", Fix: "out of memory"}},
		{strings.Repeat("x", 300) + "/placements.csv", head + "ga,8,1\n", datasets.RowError{Row: 2, Column: "model", Fix: "256 bytes"}},
	} {
		_, _, err := ImportProfiles(importertest.Inputs(importertest.File{Name: test.name, Text: []byte(test.text)})...)
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
		b.WriteString("exec_plan,placement,iter_time")
		for range rapid.IntRange(1, 10).Draw(t, "rows") {
			fmt.Fprintf(&b, "\n%s,%s,%v", rapid.SampledFrom([]string{"ga", "gc", "zero-dp", "zero-offload", "zero-offload+gc", "tp+ga"}).Draw(t, "plan"),
				rapid.StringMatching("[1-9]{1,16}").Draw(t, "placement"), rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-6, 1e6)).Draw(t, "time"))
		}
		table, _, err := ImportProfiles(importertest.Inputs(importertest.File{
			Name: rapid.SampledFrom([]string{"bert", "llama7", "other"}).Draw(t, "model") + "/placements.csv", Text: []byte(b.String()),
		})...)
		if err != nil {
			t.Fatal(err)
		}
		if err := importertest.RoundTripTable(table, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImportProfiles(f *testing.F) {
	for _, file := range profiles {
		f.Add(file.Text)
	}
	f.Add([]byte("exec_plan,placement,iter_time\n" + "tp+ga," + strings.Repeat("9", 600) + ",1\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(ThroughputFormat(), importertest.File{Name: profiles[0].Name, Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

// The real profiles, with counts taken from them by a script.
func TestImportRealProfiles(t *testing.T) {
	var inputs []importers.Input
	for _, model := range []string{"bert", "gpt2", "llama30", "llama7", "llama7b_bsz16", "roberta", "t5", "t5_3B", "vit"} {
		f := importertest.OpenShared(t, "rubick", "profiles", model, "placements.csv")
		inputs = append(inputs, importers.Input{Name: f.Name(), Reader: f})
	}
	table, report, err := ImportProfiles(inputs...)
	if err != nil {
		t.Fatal(err)
	}
	if report.Read != 539 || report.Kept != 539 {
		t.Errorf("got %v, want all 539 rows", report.Report)
	}
	oom, offloads := 0, 0
	for _, r := range table.Rows {
		oom += flag(r.OutOfMemory)
		offloads += flag(r.Offload)
	}
	if oom != 4 || offloads != 113 {
		t.Errorf("got %d rows out of memory and %d that offload, want 4 and 113", oom, offloads)
	}
	// LLaMA-7B on 64 GPUs, global batch 8: too few samples for a share of each.
	if _, kept := table.Measurements(datasets.MeasurementConfig{}); kept.Kept == 0 {
		t.Errorf("measurements: %v", kept)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
