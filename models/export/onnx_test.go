package export_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/export"
	"github.com/yardmaster/yardmaster/models/export/exporttest"
	"github.com/yardmaster/yardmaster/models/nn"
)

// networks are dimensions with each at its least and some that kernels split.
var networks = []nn.Dims{
	{Candidate: 1, Global: 1, Hidden: 1, Value: 1},
	{Candidate: 5, Global: 3, Hidden: 8, Value: 6},
	{Candidate: 33, Global: 9, Hidden: 19, Value: 17},
}

// What is written comes to the scores and the value of the network in Go, computed
// operator by operator.
func TestTheGraphIsTheNetwork(t *testing.T) {
	for i, d := range networks {
		r := stream(uint64(i))
		m := model(r, models.JobStrategy, d)
		f := mustDecode(t, mustONNX(t, m, demo))
		for k, p := range points(r, d) {
			outputs, err := f.Evaluate(p.inputs(d))
			if err != nil {
				t.Fatal(err)
			}
			p.compare(t, fmt.Sprintf("%+v: point %d", d, k), m, outputs, 0)
		}
	}
}

// In a batch every point comes to what it comes to alone, whatever stands in the rows
// that fill it up.
func TestPointsOfABatchStandAlone(t *testing.T) {
	for i, d := range networks {
		r := stream(uint64(i))
		m := model(r, models.Configuration, d)
		all := points(r, d)
		// Without a legal candidate all count, those that fill up too.
		all = slices.DeleteFunc(all, func(p point) bool { return !slices.Contains(p.mask, true) })
		o := demo
		o.Batch = true
		outputs, err := mustDecode(t, mustONNX(t, m, o)).Evaluate(batch(all, d))
		if err != nil {
			t.Fatal(err)
		}
		for row, p := range all {
			p.compare(t, fmt.Sprintf("%+v: row %d", d, row), m, outputs, row)
		}
	}
}

// goldenCase is a decision point and what its model came to when it was saved.
type goldenCase struct {
	Global, Candidates []float32
	Mask               []bool
	Scores             []float64
	Value              float64
}

// golden returns the decision points in testdata of package models.
func golden(t *testing.T) (m *models.Model, cases []goldenCase) {
	t.Helper()
	dir := filepath.Join("..", "testdata", "v1")
	m = mustLoad(t, filepath.Join(dir, "model"))
	raw, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no golden cases")
	}
	return m, cases
}

func TestGoldenScores(t *testing.T) {
	m, cases := golden(t)
	f := mustDecode(t, mustONNX(t, m, demo))
	for i, c := range cases {
		outputs, err := f.Evaluate(point{c.Global, c.Candidates, c.Mask}.inputs(m.Params.Dims))
		if err != nil {
			t.Fatal(err)
		}
		got := append(outputs["scores"].Data, outputs["value"].Data...)
		for row, want := range append(c.Scores, c.Value) {
			if !(math.Abs(got[row]-want) <= models.GoldenTolerance*max(1, math.Abs(want))) {
				t.Errorf("case %d: output %d of %d scores and the value: got %v, want %v", i, row, len(c.Scores), got[row], want)
			}
		}
	}
}

// The parameters are in the file under the names, in the shapes and with the bits of
// weights.safetensors.
func TestParametersAreThoseOfTheModel(t *testing.T) {
	m := model(stream(1), models.JobStrategy, networks[1])
	byName := make(map[string]exporttest.Initializer)
	for _, i := range mustDecode(t, mustONNX(t, m, demo)).Graph.Initializer {
		byName[i.Name] = i
	}
	for _, want := range m.Params.Tensors {
		got := byName[want.Name]
		raw, err := binary.Append(nil, binary.LittleEndian, want.Data)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Dims) != fmt.Sprint(want.Shape) || !bytes.Equal(got.RawData, raw) {
			t.Errorf("%s: got shape %v and %d bytes, want %v and those of the model", want.Name, got.Dims, len(got.RawData), want.Shape)
		}
	}
}

func TestTensorsAndMetadata(t *testing.T) {
	m := model(stream(1), models.JobStrategy, networks[1])
	m.Manifest.Provenance["seed"] = "7"
	m.Manifest.Metrics["mean_jct_hours"] = 1.25
	f := mustDecode(t, mustONNX(t, m, demo))
	var tensors []string
	for _, v := range append(f.Graph.Input, f.Graph.Output...) {
		tensors = append(tensors, fmt.Sprintf("%s %d %v", v.Name, v.Type.TensorType.ElemType, v.Shape()))
		if v.DocString == "" {
			t.Errorf("%s is not described", v.Name)
		}
	}
	if diff := cmp.Diff([]string{"global 1 [3]", "candidates 1 [N 5]", "mask 9 [N]", "scores 1 [N]", "value 1 [1]"}, tensors); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	o := demo
	o.Batch = true
	for _, v := range mustDecode(t, mustONNX(t, m, o)).Graph.Input {
		if shape := v.Shape(); shape[0] != "B" {
			t.Errorf("%s of a batch has shape %v", v.Name, shape)
		}
	}
	if f.IRVersion != 8 || f.ProducerName != "yardmaster" || f.Graph.Name != "demo" || f.DocString == "" {
		t.Errorf("got IR version %d of %q, graph %q, described by %q", f.IRVersion, f.ProducerName, f.Graph.Name, f.DocString)
	}
	got, err := f.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	saved := m.Clone()
	if _, err := models.Encode(saved); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"yardmaster.kind":              "job-strategy",
		"yardmaster.architecture":      "mean-pool-scorer/1",
		"yardmaster.encoder.version":   "job-strategy/test",
		"yardmaster.encoder.global":    `[{"name":"global0","low":-1,"high":1},{"name":"global1","low":-1,"high":1},{"name":"global2","low":-1,"high":1}]`,
		"yardmaster.encoder.candidate": `[` + strings.TrimSuffix(strings.Repeat(`{"name":"candidate?","low":0,"high":0.1},`, 5), ",") + `]`,
		"yardmaster.model.name":        "demo",
		"yardmaster.model.version":     "1.2.0",
		"yardmaster.weights_sha256":    saved.Manifest.SHA256,
		"yardmaster.provenance":        `{"seed":"7"}`,
		"yardmaster.metrics":           `{"mean_jct_hours":1.25}`,
	}
	for i := range 5 {
		want["yardmaster.encoder.candidate"] = strings.Replace(want["yardmaster.encoder.candidate"], "?", fmt.Sprint(i), 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	o = export.Options{Name: "demo"}
	if got, _ := mustDecode(t, mustONNX(t, m, o)).Metadata(); len(got) != len(want)-1 {
		t.Errorf("without a version: got %d entries, want %d", len(got), len(want)-1)
	}
}

func TestEqualModelsGiveEqualBytes(t *testing.T) {
	made := func() []byte {
		m := model(stream(1), models.JobStrategy, networks[1])
		for i := range 20 { // in maps, whose order changes
			m.Manifest.Provenance[fmt.Sprint(i)], m.Manifest.Metrics[fmt.Sprint(i)] = "x", 1
		}
		return mustONNX(t, m, demo)
	}
	first := made()
	for range 10 {
		if !bytes.Equal(made(), first) {
			t.Fatal("the bytes differ")
		}
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(m *models.Model, o *export.Options)
		want  string
	}{
		"name":         {func(_ *models.Model, o *export.Options) { o.Name = "a/b" }, `"a/b"`},
		"no name":      {func(_ *models.Model, o *export.Options) { o.Name = "" }, "name"},
		"version":      {func(_ *models.Model, o *export.Options) { o.Version = "1" }, "1.2.3"},
		"no parameter": {func(m *models.Model, _ *export.Options) { m.Params = nil }, "no parameters"},
		"architecture": {func(m *models.Model, _ *export.Options) { m.Manifest.Architecture = "attention/1" }, "attention/1"},
		"dimensions":   {func(m *models.Model, _ *export.Options) { m.Manifest.Dims.Hidden++ }, "dimensions"},
		"features":     {func(m *models.Model, _ *export.Options) { m.Manifest.Encoder.Global = nil }, "0 global features"},
		"NaN":          {func(m *models.Model, _ *export.Options) { m.Params.Flat[0] = float32(math.NaN()) }, "score.candidate.weight[0]"},
		"golden": {func(m *models.Model, _ *export.Options) {
			d := m.Params.Dims
			g, err := models.NewGolden(m.Params, []models.GoldenCase{{Global: make([]float32, d.Global), Candidates: make([]float32, d.Candidate), Mask: []bool{true}}})
			if err != nil {
				t.Fatal(err)
			}
			g.Cases[0].Scores[0]++
			m.Golden = g
		}, "golden"},
	} {
		m, o := model(stream(1), models.JobStrategy, networks[1]), demo
		tt.spoil(m, &o)
		_, err := export.ONNX(m, o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
		if _, triton := export.TritonConfig(m, o); fmt.Sprint(triton) != fmt.Sprint(err) {
			t.Errorf("%s: Triton's error is %v, ONNX's %v", name, triton, err)
		}
	}
}

// ONNX's checker accepts what is written and infers the shapes that are declared, and
// ONNX Runtime comes to the scores of Go.
func TestONNXRuntime(t *testing.T) {
	exporttest.Python(t, "onnx", "onnxruntime", "numpy")
	m, cases := golden(t)
	known := make([]point, len(cases))
	for i, c := range cases {
		known[i] = point{c.Global, c.Candidates, c.Mask}
	}
	runtime(t, m, known)
	for i, d := range networks {
		r := stream(uint64(i))
		runtime(t, model(r, models.Configuration, d), points(r, d))
	}
}

func runtime(t *testing.T, m *models.Model, all []point) {
	t.Helper()
	d, o := m.Params.Dims, demo
	path := filepath.Join(t.TempDir(), "model.onnx")
	run := func(inputs []map[string]exporttest.Array, shapes map[string][]string) *exporttest.Ran {
		t.Helper()
		raw := mustONNX(t, m, o)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		ran := exporttest.Runtime(t, path, inputs)
		if diff := cmp.Diff(shapes, ran.Inferred); diff != "" {
			t.Errorf("%+v: inferred shapes (-want +got):\n%s", d, diff)
		}
		want, err := mustDecode(t, raw).Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, ran.Metadata); diff != "" {
			t.Errorf("%+v: metadata (-want +got):\n%s", d, diff)
		}
		return ran
	}
	var inputs []map[string]exporttest.Array
	for _, p := range all {
		inputs = append(inputs, p.inputs(d))
	}
	ran := run(inputs, map[string][]string{"scores": {"N"}, "value": {"1"}})
	t.Logf("%+v in %s", d, ran.Versions)
	for i, p := range all {
		p.compare(t, fmt.Sprintf("%+v: point %d", d, i), m, ran.Outputs[i], 0)
	}
	o.Batch = true
	all = slices.DeleteFunc(all, func(p point) bool { return !slices.Contains(p.mask, true) })
	ran = run([]map[string]exporttest.Array{batch(all, d)}, map[string][]string{"scores": {"B", "N"}, "value": {"B", "1"}})
	for row, p := range all {
		p.compare(t, fmt.Sprintf("%+v: row %d of a batch", d, row), m, ran.Outputs[0], row)
	}
}
