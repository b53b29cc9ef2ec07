package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/export/exporttest"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/inference"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// inputsOf returns a golden case as inputs of an exported model.
func inputsOf(c *models.GoldenCase) map[string]exporttest.Array {
	n := len(c.Mask)
	return map[string]exporttest.Array{
		"global":     exporttest.Floats([]int{len(c.Global)}, c.Global),
		"candidates": exporttest.Floats([]int{n, len(c.Candidates) / n}, c.Candidates),
		"mask":       exporttest.Bools([]int{n}, c.Mask),
	}
}

// wantOutputs compares what an exported model came to with what p comes to.
func wantOutputs(t *testing.T, what string, p *nn.Params, c *models.GoldenCase, outputs map[string]exporttest.Array) {
	t.Helper()
	var scratch nn.Scratch
	want := make([]float32, len(c.Mask), len(c.Mask)+1)
	nn.NewScorer(p).Score(want, c.Global, c.Candidates, c.Mask, &scratch)
	want = append(want, nn.NewCritic(p).Value(c.Global, c.Candidates, c.Mask, &scratch))
	got := append(outputs["scores"].Data, outputs["value"].Data...)
	if len(got) != len(want) {
		t.Fatalf("%s: got %d scores and values, want %d", what, len(got), len(want))
	}
	for i, x := range want {
		if x := float64(x); !(math.Abs(got[i]-x) <= models.GoldenTolerance*max(1, math.Abs(x))) { // NaN fails
			t.Errorf("%s: output %d of %d: got %v, Go comes to %v", what, i, len(want), got[i], x)
		}
	}
}

func readExport(t *testing.T, path string) *exporttest.File {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := exporttest.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func loadModel(t *testing.T, dir string) *models.Model {
	t.Helper()
	m, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A run's model, and one that is kept in versions, become a file that scores as they
// do and says what they are.
func TestModelExport(t *testing.T) {
	dir, run := t.TempDir(), runWithModel(t, 1)
	root, path := filepath.Join(dir, "models"), filepath.Join(dir, "model.onnx")
	contains(t, "export", mustRun(t, "model", "export", run, "--out", path), path, "job-strategy/1")
	m := loadModel(t, filepath.Join(run, "model"))
	f := readExport(t, path)
	for i := range m.Golden.Cases {
		outputs, err := f.Evaluate(inputsOf(&m.Golden.Cases[i]))
		if err != nil {
			t.Fatal(err)
		}
		wantOutputs(t, fmt.Sprint("case ", i), m.Params, &m.Golden.Cases[i], outputs)
	}
	mustRun(t, "model", "add", run, "--name", "demo", "--version", "1.2.0", "--models", root)
	var report exported
	kept := filepath.Join(dir, "kept.onnx")
	if err := json.Unmarshal([]byte(mustRun(t, "model", "export", "demo", "--models", root, "--out", kept, "--batch", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	metadata, err := readExport(t, kept).Metadata()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string][2]string{
		"model":           {report.Model + "/" + report.Version, "demo/1.2.0"},
		"name":            {metadata["yardmaster.model.name"] + "/" + metadata["yardmaster.model.version"], "demo/1.2.0"},
		"weights":         {report.WeightsSHA256, m.Manifest.SHA256},
		"weights in file": {metadata["yardmaster.weights_sha256"], m.Manifest.SHA256},
		"kind":            {string(report.Kind), metadata["yardmaster.kind"]},
		"file":            {fmt.Sprint(report.Files[0].Path, report.Files[0].SHA256, report.Files[0].Bytes), fmt.Sprint(kept, models.Hash(raw), len(raw))},
		"batch":           {fmt.Sprint(readExport(t, kept).Graph.Output[0].Shape()), "[B N]"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: got %q, want %q", what, got[0], got[1])
		}
	}
}

// What is there is kept unless it is the same or --force is given, and a refused
// command writes nothing.
func TestModelExportReplacesNothing(t *testing.T) {
	dir, run, other := t.TempDir(), runWithModel(t, 1), runWithModel(t, 2)
	path := filepath.Join(dir, "model.onnx")
	mustRun(t, "model", "export", run, "--name", "a", "--out", path)
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	mustRun(t, "model", "export", run, "--name", "a", "--out", path) // the same
	triton := []string{"--format", "triton", "--name", "a", "--out", filepath.Join(dir, "triton")}
	mustRun(t, append([]string{"model", "export", run}, triton...)...)
	mustRun(t, append([]string{"model", "export", other, "--triton-version", "2"}, triton...)...) // config.pbtxt is the same
	files := []string{"--format", "safetensors", "--out", filepath.Join(dir, "files")}
	mustRun(t, append([]string{"model", "export", run}, files...)...)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"file":            {[]string{other, "--name", "a", "--out", path}, exitFailure, "--force"},
		"Triton":          {append([]string{other}, triton...), exitFailure, "--force"},
		"Triton, batch":   {append([]string{run, "--triton-version", "3", "--batch"}, triton...), exitFailure, "config.pbtxt"},
		"safetensors":     {append([]string{other}, files...), exitFailure, "--force"},
		"folder":          {[]string{run, "--name", "a", "--out", dir}, exitFailure, "is a folder"},
		"no folder":       {[]string{run, "--name", "a", "--out", filepath.Join(dir, "none", "model.onnx")}, exitFailure, "none"},
		"no model":        {[]string{dir, "--out", filepath.Join(dir, "x.onnx")}, exitFailure, "--models"},
		"no version":      {[]string{"demo/9.0.0", "--models", dir, "--out", filepath.Join(dir, "x.onnx")}, exitFailure, "no such model"},
		"no name there":   {[]string{"other", "--models", dir, "--out", filepath.Join(dir, "x.onnx")}, exitFailure, "no such model"},
		"no such target":  {[]string{"demo/newest", "--models", dir, "--out", filepath.Join(dir, "x.onnx")}, exitUsage, "latest"},
		"standard output": {[]string{run, "--name", "a", "--out", "-"}, exitUsage, "--out is -"},
		"no regular file": {[]string{run, "--name", "a", "--force", "--out", pipe}, exitFailure, "no regular file"},
		"no out":          {[]string{run}, exitUsage, "--out"},
		"format":          {[]string{run, "--out", filepath.Join(dir, "x"), "--format", "torchscript"}, exitUsage, "torchscript"},
		"name":            {[]string{run, "--out", filepath.Join(dir, "x"), "--name", "a b"}, exitUsage, "--name"},
		"Triton's":        {[]string{run, "--out", filepath.Join(dir, "x"), "--triton-version", "2"}, exitUsage, "--triton-version"},
		"Triton's zero":   {append([]string{run, "--triton-version", "0"}, triton...), exitUsage, "at least 1"},
		"batch of files":  {append([]string{run, "--batch"}, files...), exitUsage, "--batch"},
	} {
		code, _, stderr := command(t, append([]string{"model", "export"}, tt.args...)...)
		if code != tt.code || !strings.Contains(stderr, tt.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: got exit code %d and %q, want %d and a line with %q", name, code, stderr, tt.code, tt.says)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 3 {
		t.Errorf("the refused commands left %v, want model.onnx, triton and files", entries)
	}
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, first) {
		t.Errorf("a refused command changed the file (%v)", err)
	}
	mustRun(t, "model", "export", other, "--name", "a", "--out", path, "--force")
	if again, err := os.ReadFile(path); err != nil || bytes.Equal(again, first) {
		t.Errorf("--force did not replace the file (%v)", err)
	}
	mustRun(t, append([]string{"model", "export", other, "--force"}, files...)...)
	if got, want := loadModel(t, filepath.Join(dir, "files")).Manifest.SHA256, loadModel(t, filepath.Join(other, "model")).Manifest.SHA256; got != want {
		t.Errorf("--force left the weights %s, want %s", got, want)
	}
}

// Triton is told the tensors that serve tells by the Open Inference protocol, and the
// file comes to what serve answers: one client works with both.
func TestTritonServesWhatServeDoes(t *testing.T) {
	run, repository := runWithModel(t, 3), t.TempDir()
	mustRun(t, "model", "export", run, "--name", "demo", "--format", "triton", "--out", repository)
	config, err := os.ReadFile(filepath.Join(repository, "demo", "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	m := loadModel(t, filepath.Join(run, "model"))
	mux := http.NewServeMux()
	inference.New(func() []inference.Served { return []inference.Served{{Name: "demo", Model: m}} }, "test").Register(mux)
	ask := func(method, path string, body any, into any) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(raw)))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
			t.Fatal(err)
		}
	}
	type tensor struct {
		Name     string    `json:"name"`
		Datatype string    `json:"datatype"`
		Shape    []int     `json:"shape"`
		Data     []float64 `json:"data,omitempty"`
	}
	var described struct{ Inputs, Outputs []tensor }
	ask(http.MethodGet, "/v2/models/demo", nil, &described)
	var lines []string
	for field, list := range map[string][]tensor{"input": described.Inputs, "output": described.Outputs} {
		for _, x := range list {
			lines = append(lines, fmt.Sprintf("%s { name: %q data_type: TYPE_%s dims: [ %s ] }\n", field, x.Name, x.Datatype, strings.Trim(strings.ReplaceAll(fmt.Sprint(x.Shape), " ", ", "), "[]")))
		}
	}
	if len(lines) != 5 || strings.Count(string(config), "put {") != 5 {
		t.Errorf("serve has %d tensors, Triton:\n%s", len(lines), config)
	}
	contains(t, "config.pbtxt", string(config), lines...)

	f := readExport(t, filepath.Join(repository, "demo", "1", "model.onnx"))
	c := &m.Golden.Cases[0]
	var answer struct{ Outputs []tensor }
	n := len(c.Mask)
	ask(http.MethodPost, "/v2/models/demo/infer", map[string]any{"inputs": []map[string]any{
		{"name": "global", "datatype": "FP32", "shape": []int{len(c.Global)}, "data": c.Global},
		{"name": "candidates", "datatype": "FP32", "shape": []int{n, len(c.Candidates) / n}, "data": c.Candidates},
		{"name": "mask", "datatype": "BOOL", "shape": []int{n}, "data": c.Mask},
	}}, &answer)
	outputs, err := f.Evaluate(inputsOf(c))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range answer.Outputs {
		got := outputs[want.Name]
		if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
			t.Fatalf("%s: got shape %v, serve answers %v", want.Name, got.Shape, want.Shape)
		}
		for i, x := range want.Data {
			if !(math.Abs(got.Data[i]-x) <= models.GoldenTolerance*max(1, math.Abs(x))) {
				t.Errorf("%s %d: got %v, serve answers %v", want.Name, i, got.Data[i], x)
			}
		}
	}
}

// The files of a model go out and come back as they were.
func TestExportedFilesComeBack(t *testing.T) {
	run, dir := runWithModel(t, 4), filepath.Join(t.TempDir(), "files")
	mustRun(t, "model", "export", run, "--format", "safetensors", "--out", dir)
	want, err := models.ReadFiles(filepath.Join(run, "model"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := models.ReadFiles(dir); err != nil || !got.Equal(want) {
		t.Errorf("the files differ from the model's (%v)", err)
	}
	mustRun(t, "model", "add", dir, "--name", "back", "--models", t.TempDir())
}

// A model whose parameters, golden scores and hashes are written by Python is taken,
// and refused if its scores are not those of its parameters.
func TestWeightsFromPython(t *testing.T) {
	python := exporttest.Python(t, "numpy", "safetensors")
	run, dir := runWithModel(t, 5), t.TempDir()
	files, made, root := filepath.Join(dir, "files"), filepath.Join(dir, "made"), filepath.Join(dir, "models")
	mustRun(t, "model", "export", run, "--format", "safetensors", "--out", files)
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, filepath.Join("testdata", "weights.py"), files, made).CombinedOutput(); err != nil {
		t.Fatalf("weights.py: %v: %s", err, out)
	}
	contains(t, "add", mustRun(t, "model", "add", made, "--name", "python", "--models", root), "python/1.0.0: added")
	contains(t, "verify", mustRun(t, "model", "verify", "--models", root), "python/1.0.0: fit to decide")
	before, after := loadModel(t, files), loadModel(t, made)
	if before.Params.Flat[0] == after.Params.Flat[0] || after.Manifest.Provenance["made_by"] != "weights.py" {
		t.Error("what came back is what went out")
	}
	// Scores of other parameters.
	golden, err := os.ReadFile(filepath.Join(files, "golden.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(made, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	manifest = bytes.ReplaceAll(manifest, []byte(after.Manifest.GoldenSHA256), []byte(models.Hash(golden)))
	for name, data := range map[string][]byte{"golden.safetensors": golden, "manifest.json": manifest} {
		if err := os.WriteFile(filepath.Join(made, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := command(t, "model", "add", made, "--name", "python", "--models", root); code != exitFailure || !strings.Contains(stderr, "golden scores") {
		t.Errorf("scores of other parameters: got exit code %d, %s", code, stderr)
	}
}

// Models that were trained are scored by ONNX Runtime as by Go: both of a run, and one
// that reinforcement learning changed, on decision points of the run. The example of
// --help runs as it stands.
func TestTrainedModelsInONNXRuntime(t *testing.T) {
	python := exporttest.Python(t, "onnx", "onnxruntime", "numpy", "safetensors")
	t.Chdir(t.TempDir())
	mustRun(t, "trace", "synth", "--jobs", "500", "--max-duration", "4h", "--out", "jobs.parquet")
	mustRun(t, "train", "--trace", "jobs.parquet", "--out", "run", "--cluster", "V100=4,K80=4", "--jobs", "15", "--validations", "2",
		"--bc-passes", "1", "--es-generations", "1", "--ppo-iterations", "1", "--set", "tune.episodes=3", "--set", "tune.lessons=20")
	for dir, golden := range map[string]string{
		"run":                      filepath.Join("run", "model"),
		"run/configuration":        filepath.Join("run", "configuration"),
		"run/checkpoints/ppo-0001": filepath.Join("run", "model"), // checkpoints have no golden inputs
	} {
		mustRun(t, "model", "export", dir, "--out", "model.onnx", "--force")
		folder, err := modelFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, cases := loadModel(t, folder).Params, loadModel(t, golden).Golden.Cases
		var inputs []map[string]exporttest.Array
		for i := range cases {
			inputs = append(inputs, inputsOf(&cases[i]))
		}
		ran := exporttest.Runtime(t, "model.onnx", inputs)
		for i := range cases {
			wantOutputs(t, fmt.Sprintf("%s: case %d", dir, i), p, &cases[i], ran.Outputs[i])
		}
		t.Logf("%s: %d cases in %s", dir, len(cases), ran.Versions)
	}
	mustRun(t, "model", "export", "run", "--out", "model.onnx", "--force")
	script := strings.ReplaceAll("\n"+exportExample, "\n  ", "\n")
	var off float64
	if out, err := exec.Command(python, "-c", script).CombinedOutput(); err != nil {
		t.Errorf("the example of --help: %v: %s", err, out)
	} else if n, err := fmt.Sscan(string(out), &off); n != 1 || off > models.GoldenTolerance {
		t.Errorf("the example of --help printed %q (%v), want a difference of at most %v first", out, err, models.GoldenTolerance)
	}
}

func TestExportedConfigurationModel(t *testing.T) {
	dir := t.TempDir()
	m := servetest.ConfigurationModel(1)
	if err := models.Save(filepath.Join(dir, "configuration"), m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.onnx")
	contains(t, "export", mustRun(t, "model", "export", filepath.Join(dir, "configuration"), "--out", path), "configuration: wrote", "configuration/1")
	d := m.Params.Dims
	c := &models.GoldenCase{Global: make([]float32, d.Global), Candidates: make([]float32, 3*d.Candidate), Mask: []bool{true, true, true}}
	for i := range c.Candidates {
		c.Candidates[i] = float32(i%7) / 7
	}
	outputs, err := readExport(t, path).Evaluate(inputsOf(c))
	if err != nil {
		t.Fatal(err)
	}
	wantOutputs(t, "configuration", m.Params, c, outputs)
}
