package sailor

import (
	"bytes"
	"encoding/json"
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

// fixture is written by hand after the schema: two models, GPU types that are
// and are not in the catalogue, a batch that does not divide.
const fixture = `{
  "OPT-350": {
    "A100-40": {
      "2": {
        "4": {"0": [0.25, 0.0, 0.125], "1": [0.5, 1.0, 0.125]},
        "1": {"0": [1, 2, 1]}
      }
    },
    "GH-96": {"8": {"2": {"0": [0.25, 0.5, 0.25]}}}
  },
  "LLAMA-3-8": {"V100-16": {"1": {"1": {"0": [4, 0, 0]}}}}
}
`

var file = importertest.File{Name: "sailor/profiles_tmp.json", Text: []byte(fixture)}

func TestImportFixture(t *testing.T) {
	table, report, err := Import(importertest.Inputs(file)...)
	if err != nil {
		t.Fatal(err)
	}
	row := func(model, gpu string, degree, batch int32, global int64, rate float64) datasets.ThroughputRow {
		return datasets.ThroughputRow{
			Source: "sailor", Model: model, GPUType: gpu, GPUs: degree, Nodes: 1, Batch: batch, GlobalBatch: global,
			Plan: env.Plan{Data: 1, Tensor: int(degree), Pipeline: 1, MicroBatch: int(global)}, StepsPerSecond: rate, Quality: datasets.Modelled,
		}
	}
	want := []datasets.ThroughputRow{
		row("OPT-350", "A100-40", 4, 0, 2, 2),
		row("OPT-350", "A100-40", 1, 2, 2, 0.25),
		row("OPT-350", "GH200", 2, 4, 8, 2),
		row("LLAMA-3-8", "V100", 1, 1, 1, 0.25),
	}
	if diff := cmp.Diff(want, table.Rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	warnings := map[string]int{
		`model "OPT-350" is not in the performance catalogue: kept by the source's name`:   3,
		`model "LLAMA-3-8" is not in the performance catalogue: kept by the source's name`: 1,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" || report.Read != 4 || report.Kept != 4 {
		t.Errorf("report %v, warnings (-want +got):\n%s", report.Report, diff)
	}
}

func TestImportChecks(t *testing.T) {
	if err := importertest.CheckTable(Format(), t.TempDir(), file); err != nil {
		t.Error(err)
	}
}

func TestImportRefusesBadInput(t *testing.T) {
	point := func(layers string) string { return `{"OPT-350": {"A100-40": {"2": {"4": ` + layers + `}}}}` }
	tests := []struct {
		text string
		want datasets.RowError
	}{
		{`[]`, datasets.RowError{Value: "not an object", Fix: "model, GPU type"}},
		{`{"OPT-350": 7}`, datasets.RowError{Column: "OPT-350", Value: "not an object", Fix: "model, GPU type"}},
		{`{"": {}}`, datasets.RowError{Value: `the model ""`, Fix: "256 bytes"}},
		{`{"` + strings.Repeat("x", 300) + `": {}}`, datasets.RowError{Value: "the model", Fix: "256 bytes"}},
		{`{"OPT-350": {"A100-40": {"two": {"4": {"0": [1,1,1]}}}}}`, datasets.RowError{Column: "OPT-350/A100-40/two/4", Value: `micro-batch "two"`, Fix: "16777216"}},
		{`{"OPT-350": {"A100-40": {"2": {"0": {"0": [1,1,1]}}}}}`, datasets.RowError{Column: "OPT-350/A100-40/2/0", Value: `tensor degree "0"`, Fix: "1 to 1024"}},
		{point(`{}`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "no layers", Fix: "each layer"}},
		{point(`[]`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "not an object of layers", Fix: "layer"}},
		{point(`{"0": 1}`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "not a list of times", Fix: "layer"}},
		{point(`{"0": [1, 1]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4/0", Value: `"]"`, Fix: "three times"}},
		{point(`{"0": [1, 1, 1, 1]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4/0", Value: "more than three", Fix: "three times"}},
		{point(`{"0": [1, -1, 1]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4/0", Value: "-1", Fix: ">= 0"}},
		{point(`{"0": [1, null, 1]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4/0", Value: "nil", Fix: ">= 0"}},
		{point(`{"0": [0, 0, 0]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "no time", Fix: "> 0"}},
		{point(`{"0": [5e-324, 0, 0]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "no time", Fix: "> 0"}},
		{point(`{` + strings.Repeat(`"0": [1,1,1],`, maxLayers) + `"0": [1,1,1]}`), datasets.RowError{Column: "OPT-350/A100-40/2/4", Value: "too many layers", Fix: "4096"}},
		{`{} {}`, datasets.RowError{Value: "more than one", Fix: "one JSON object"}},
		{`{}`, datasets.RowError{Value: "no row is left", Fix: "check"}},
		{`{"OPT-350": {`, datasets.RowError{Column: "OPT-350", Value: "no JSON at byte", Fix: "again"}},
	}
	for _, test := range tests {
		_, _, err := Import(importertest.Inputs(importertest.File{Name: "p.json", Text: []byte(test.text)})...)
		if err := importertest.Refusal(err, test.want); err != nil {
			t.Errorf("%.80s: %v", test.text, err)
		}
	}
}

// A small file that unpacks to a huge one is not read to its end.
func TestTextIsBounded(t *testing.T) {
	source, err := importers.Open(bytes.NewReader(importertest.Gzip([]byte("{"+strings.Repeat(" ", 1000)+"}"))), "p.json")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	r := reader{points: new(importers.Points), source: source, models: importers.NewModels(nil), decoder: json.NewDecoder(&bounded{source, 900})}
	if err := importertest.Refusal(r.file(), datasets.RowError{Value: "more than 4 MiB", Fix: "name the file"}); err != nil {
		t.Error(err)
	}
}

// Whatever is imported can be written and read back, and the speed is that of
// the slow way.
func TestAnyProfileRoundTrips(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		degree, batch := rapid.IntRange(1, 64).Draw(t, "degree"), rapid.IntRange(1, 1<<20).Draw(t, "batch")
		var layers []string
		sum := 0.0
		for i := range rapid.IntRange(1, 50).Draw(t, "layers") {
			layer := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e3), 3, 3).Draw(t, "times")
			inner := 0.0
			for _, x := range layer {
				inner += x
			}
			sum += inner
			layers = append(layers, fmt.Sprintf(`"%d": [%v, %v, %v]`, i, layer[0], layer[1], layer[2]))
		}
		text := fmt.Sprintf(`{"m": {"A100-80": {"%d": {"%d": {%s}}}}}`, batch, degree, strings.Join(layers, ","))
		table, _, err := Import(importertest.Inputs(importertest.File{Name: "p.json", Text: []byte(text)})...)
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Rows[0].StepsPerSecond; got != float64(degree)/sum {
			t.Fatalf("got %v steps/s, want %v", got, float64(degree)/sum)
		}
		if err := importertest.RoundTripTable(table, dir); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(fixture))
	f.Add([]byte(`{"m": {"g": {"1": {"1": {"0": [1e308, 1e308, 1e308]}}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := importertest.FuzzTable(Format(), importertest.File{Name: "p.json", Text: text}); err != nil {
			t.Fatal(err)
		}
	})
}

// The real file, with counts taken from it by a script.
func TestImportRealFile(t *testing.T) {
	f := importertest.OpenShared(t, "sailor", "profiles_tmp.json")
	table, report, err := Import(importers.Input{Name: f.Name(), Reader: f})
	if err != nil {
		t.Fatal(err)
	}
	if report.Read != 213 || report.Kept != 213 {
		t.Errorf("got %v, want all 213 rows", report.Report)
	}
	warnings := map[string]int{
		`model "OPT-350" is not in the performance catalogue: kept by the source's name`:     129,
		`model "GPT-Neo-2.7" is not in the performance catalogue: kept by the source's name`: 56,
		`model "OPT-30" is not in the performance catalogue: kept by the source's name`:      17,
		`model "LLAMA-3-8" is not in the performance catalogue: kept by the source's name`:   11,
	}
	if diff := cmp.Diff(warnings, importertest.Counts(report.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if err := importertest.RoundTripTable(table, t.TempDir()); err != nil {
		t.Error(err)
	}
}
