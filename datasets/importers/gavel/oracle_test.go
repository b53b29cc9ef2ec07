package gavel

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/importertest"
	"github.com/yardmaster/yardmaster/env"
)

// oracleText is written by hand: keys are Python tuples, "null" is the job
// alone, 0 is out of memory, some entries are slower on more GPUs.
const oracleText = `{
  "v100": {
    "('LM (batch size 5)', 1)": {"null": 120.5, "('LM (batch size 5)', 1)": [60.0, 61.5], "('A3C', 1)": [100, 3.5]},
    "('LM (batch size 5)', 2)": {"null": 110.25},
    "('A3C', 1)": {"null": 5.5},
    "('Recommendation (batch size 2048)', 1)": {"null": 7.47}
  },
  "k80": {"('ResNet-50 (batch size 128)', 2)": {"null": 0.0}},
  "v100_unconsolidated": {"('LM (batch size 5)', 1)": {"null": 119}, "('LM (batch size 5)', 2)": {"null": 90}}
}`

func TestReadOracle(t *testing.T) {
	o, err := ReadOracle(strings.NewReader(oracleText), "o.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Place{{"K80", false}, {"V100", false}, {"V100", true}}, o.Places()); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	lm, a3c, v100 := Class{"LM", 5, 1}, Class{"A3C", 0, 1}, Place{"V100", false}
	if diff := cmp.Diff([]Class{a3c, lm, {"LM", 5, 2}, {"Recommendation", 2048, 1}}, o.Classes(v100)); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	for _, test := range []struct {
		place Place
		class Class
		rate  float64
		known bool
	}{
		{v100, lm, 120.5, true},
		{v100, Class{"LM", 5, 2}, 110.25, true}, // slower on two GPUs: as it is
		{Place{"V100", true}, Class{"LM", 5, 2}, 90, true},
		{Place{"K80", false}, Class{"ResNet-50", 128, 2}, 0, true}, // out of memory
		{Place{"K80", false}, lm, 0, false},                        // not measured
		{v100, Class{"LM", 5, 3}, 0, false},
		{Place{"P100", false}, lm, 0, false},
	} {
		if rate, known := o.Alone(test.place, test.class); rate != test.rate || known != test.known {
			t.Errorf("%v on %v: got %v, %v, want %v, %v", test.class, test.place, rate, known, test.rate, test.known)
		}
	}
	if x, y, ok := o.Together(v100, Pair{lm, a3c}); x != 100 || y != 3.5 || !ok {
		t.Errorf("LM beside A3C: got %v, %v, %v, want 100, 3.5", x, y, ok)
	}
	if _, _, ok := o.Together(v100, Pair{a3c, lm}); ok {
		t.Error("a pair that was not measured is known")
	}
}

func TestOracleRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     datasets.RowError
	}{
		"key":         {"('A3C', 1)\": {", "A3C 1\": {", datasets.RowError{Column: "v100 \"A3C 1\"", Fix: "tuple"}},
		"gpus":        {"('LM (batch size 5)', 2)\": {\"null\": 110", "('LM (batch size 5)', 0)\": {\"null\": 110", datasets.RowError{Column: `v100 "('LM (batch size 5)', 0)"`, Fix: "tuple"}},
		"batch":       {"('ResNet-50 (batch size 128)'", "('ResNet-50 (batch size big)'", datasets.RowError{Column: `k80 "('ResNet-50 (batch size big)', 2)"`, Fix: "batch size"}},
		"partner":     {"('A3C', 1)\": [", "A3C\": [", datasets.RowError{Column: `v100 "('LM (batch size 5)', 1)"`, Fix: "beside"}},
		"one of two":  {"[60.0, 61.5]", "[60.0]", datasets.RowError{Column: `v100 "('LM (batch size 5)', 1)"`, Fix: "two numbers"}},
		"null of two": {"[60.0, 61.5]", "[60.0, null]", datasets.RowError{Column: `v100 "('LM (batch size 5)', 1)"`, Fix: "out of memory"}},
		"negative":    {"5.5", "-5.5", datasets.RowError{Column: `v100 "('A3C', 1)"`, Fix: "out of memory"}},
		"text":        {"5.5", "\"fast\"", datasets.RowError{Column: `v100 "('A3C', 1)"`, Fix: "number"}},
		"no value":    {"5.5", "null", datasets.RowError{Column: `v100 "('A3C', 1)"`, Fix: "out of memory"}},
		"alone":       {"{\"null\": 5.5}", "{}", datasets.RowError{Column: `v100 "('A3C', 1)"`, Fix: "alone"}},
		"twice":       {"v100_unconsolidated", "V100", datasets.RowError{Column: `v100 "('LM (batch size 5)', 1)"`, Fix: "twice"}},
		"no type":     {"\"k80\"", "\"\"", datasets.RowError{Column: "GPU type", Fix: "256"}},
	} {
		text := strings.Replace(oracleText, test.old, test.new, 1)
		_, err := ReadOracle(strings.NewReader(text), "o.json")
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"{}", "[]", "3", `{"v100": {}}`, `{"v100": 3}`, "{", "not JSON"} {
		if _, err := ReadOracle(strings.NewReader(text), "o.json"); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestImportThroughput(t *testing.T) {
	file := importertest.File{Name: "simulation_throughputs.json", Text: []byte(oracleText)}
	table, report, err := ImportThroughput(importertest.Inputs(file)...)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(gpus, batch int) env.Plan { return env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: batch} }
	row := func(model, gpu string, gpus, nodes, batch int32, rate float64) datasets.ThroughputRow {
		return datasets.ThroughputRow{
			Source: "gavel-sim", Model: model, GPUType: gpu, GPUs: gpus, Nodes: nodes, Batch: batch, GlobalBatch: int64(gpus * batch),
			Plan: plan(int(gpus), int(batch)), StepsPerSecond: rate, OutOfMemory: rate == 0, Quality: datasets.Measured,
		}
	}
	want := []datasets.ThroughputRow{
		row("ResNet-50", "K80", 2, 1, 128, 0),
		row("A3C", "V100", 1, 1, 4, 5.5),
		row("LM", "V100", 1, 1, 5, 120.5),
		row("LM", "V100", 2, 1, 5, 110.25),
		row("Recommendation", "V100", 1, 1, 2048, 7.47),
		row("LM", "V100", 2, 2, 5, 90),
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{dropPair: 2, dropSpread: 1}, importertest.Counts(report.Dropped)); diff != "" || report.Read != 9 {
		t.Errorf("read %d, dropped (-want +got):\n%s", report.Read, diff)
	}
	if diff := cmp.Diff(map[string]int{warnRecommendation: 1}, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	file.Name = "physical_cluster_throughputs.json"
	if table, report, err = ImportThroughput(importertest.Inputs(file)...); err != nil || table.Rows[0].Source != "gavel-phys" || len(report.Warnings) != 0 {
		t.Errorf("physical: got %v, %+v, want another source and no warning", err, report)
	}
}

func TestThroughputChecks(t *testing.T) {
	file := importertest.File{Name: "throughputs.json", Text: []byte(oracleText)}
	if err := importertest.CheckTable(ThroughputFormat(), t.TempDir(), file); err != nil {
		t.Error(err)
	}
}

func FuzzReadOracle(f *testing.F) {
	f.Add([]byte(oracleText))
	f.Add([]byte(`{"v100": {"('A3C', 1)": {"null": 5.5}}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		o, err := ReadOracle(bytes.NewReader(input), "t")
		if err != nil {
			if _, ok := errors.AsType[*datasets.RowError](err); !ok {
				t.Errorf("got the error %#v, want a RowError", err)
			}
			return
		}
		for _, place := range o.Places() {
			for _, class := range o.Classes(place) {
				if rate, ok := o.Alone(place, class); !ok || !(rate >= 0) {
					t.Fatalf("%v on %v: %v, %v", class, place, rate, ok)
				}
			}
		}
	})
}
