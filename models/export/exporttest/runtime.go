package exporttest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Python returns the Python that YARDMASTER_PYTHON names. It skips the test where
// there is none, or where it lacks one of the modules.
func Python(tb testing.TB, modules ...string) string {
	tb.Helper()
	python := os.Getenv("YARDMASTER_PYTHON")
	if python == "" {
		tb.Skipf("YARDMASTER_PYTHON names no Python that has %s", strings.Join(modules, ", "))
	}
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		if _, ran := errors.AsType[*exec.ExitError](err); !ran {
			tb.Fatalf("YARDMASTER_PYTHON: %v", err)
		}
		tb.Skipf("%s lacks one of %s: %s", python, strings.Join(modules, ", "), bytes.TrimSpace(out))
	}
	return python
}

//go:embed score.py
var scorePy string

// Ran is what ONNX and ONNX Runtime say of a file.
type Ran struct {
	Versions string
	Inferred map[string][]string // shapes of the outputs, by ONNX's inference
	Metadata map[string]string
	Outputs  []map[string]Array // of each case
}

// jsonArray is an Array as score.py reads and writes it.
type jsonArray struct {
	Shape []int      `json:"shape"`
	Data  []*float64 `json:"data"` // nil is NaN
}

// Runtime checks the file at path with ONNX's checker and its inference of shapes,
// and evaluates the cases in ONNX Runtime. It skips the test where [Python] has none.
func Runtime(tb testing.TB, path string, cases []map[string]Array) *Ran {
	tb.Helper()
	python := Python(tb, "onnx", "onnxruntime", "numpy")
	request := struct {
		Path  string                 `json:"path"`
		Cases []map[string]jsonArray `json:"cases"`
	}{Path: path}
	for _, c := range cases {
		inputs := make(map[string]jsonArray)
		for name, a := range c {
			j := jsonArray{Shape: a.Shape, Data: []*float64{}}
			for _, x := range a.Data {
				if x != x {
					j.Data = append(j.Data, nil)
				} else {
					j.Data = append(j.Data, &x)
				}
			}
			inputs[name] = j
		}
		request.Cases = append(request.Cases, inputs)
	}
	stdin, err := json.Marshal(request)
	if err != nil {
		tb.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	c := exec.Command(python, "-c", scorePy)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := c.Run(); err != nil {
		tb.Fatalf("score.py: %v: %s", err, stderr.Bytes())
	}
	var answer struct {
		Versions string                 `json:"versions"`
		Inferred map[string][]string    `json:"inferred"`
		Metadata map[string]string      `json:"metadata"`
		Cases    []map[string]jsonArray `json:"cases"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		tb.Fatalf("score.py printed %.200q: %v", stdout.Bytes(), err)
	}
	if len(answer.Cases) != len(cases) {
		tb.Fatalf("score.py answered %d of %d cases", len(answer.Cases), len(cases))
	}
	ran := &Ran{Versions: answer.Versions, Inferred: answer.Inferred, Metadata: answer.Metadata}
	for _, outputs := range answer.Cases {
		m := make(map[string]Array)
		for name, j := range outputs {
			a := Array{Kind: Float, Shape: j.Shape}
			for _, x := range j.Data {
				if x == nil {
					a.Data = append(a.Data, math.NaN())
				} else {
					a.Data = append(a.Data, *x)
				}
			}
			m[name] = a
		}
		ran.Outputs = append(ran.Outputs, m)
	}
	return ran
}
