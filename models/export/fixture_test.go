package export_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/export"
	"github.com/yardmaster/yardmaster/models/export/exporttest"
	"github.com/yardmaster/yardmaster/models/nn"
)

var demo = export.Options{Name: "demo", Version: "1.2.0"}

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normal(r *rand.Rand, n int, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(scale * r.NormFloat64())
	}
	return x
}

// model returns a model of this kind and these dimensions with random parameters.
func model(r *rand.Rand, kind models.Kind, d nn.Dims) *models.Model {
	var e models.Encoder
	e.Version = string(kind) + "/test"
	for i := range d.Global {
		e.Global = append(e.Global, models.Feature{Name: fmt.Sprint("global", i), Low: -1, High: 1})
	}
	for i := range d.Candidate {
		e.Candidate = append(e.Candidate, models.Feature{Name: fmt.Sprint("candidate", i), Low: 0, High: 0.1})
	}
	p := nn.NewParams(d)
	copy(p.Flat, normal(r, len(p.Flat), 0.3))
	return models.New(kind, e, p)
}

// point is a decision point.
type point struct {
	global, candidates []float32
	mask               []bool
}

// points returns decision points of one to many candidates, some of them without a
// legal one.
func points(r *rand.Rand, d nn.Dims) []point {
	var all []point
	for _, n := range []int{1, 2, 7, 40, 300} {
		for _, legal := range []float64{0, 0.3, 1} {
			p := point{normal(r, d.Global, 1), normal(r, n*d.Candidate, 1), make([]bool, n)}
			for i := range p.mask {
				p.mask[i] = r.Float64() < legal
			}
			all = append(all, p)
		}
	}
	return all
}

func (p point) inputs(d nn.Dims) map[string]exporttest.Array {
	n := len(p.mask)
	return map[string]exporttest.Array{
		"global":     exporttest.Floats([]int{d.Global}, p.global),
		"candidates": exporttest.Floats([]int{n, d.Candidate}, p.candidates),
		"mask":       exporttest.Bools([]int{n}, p.mask),
	}
}

// batch returns the points as one of Options.Batch. Where a point has less
// candidates than another, NaN stands.
func batch(all []point, d nn.Dims) map[string]exporttest.Array {
	n := 0
	for _, p := range all {
		n = max(n, len(p.mask))
	}
	var global, candidates []float32
	var mask []bool
	for _, p := range all {
		missing := n - len(p.mask)
		global = append(global, p.global...)
		candidates = append(append(candidates, p.candidates...), slices.Repeat([]float32{float32(math.NaN())}, missing*d.Candidate)...)
		mask = append(append(mask, p.mask...), make([]bool, missing)...)
	}
	return map[string]exporttest.Array{
		"global":     exporttest.Floats([]int{len(all), d.Global}, global),
		"candidates": exporttest.Floats([]int{len(all), n, d.Candidate}, candidates),
		"mask":       exporttest.Bools([]int{len(all), n}, mask),
	}
}

// compare reports where outputs are not what m's network comes to in Go. row is the
// point's place in a batch.
func (p point) compare(t *testing.T, what string, m *models.Model, outputs map[string]exporttest.Array, row int) {
	t.Helper()
	var scratch nn.Scratch
	scores := make([]float32, len(p.mask))
	nn.NewScorer(m.Params).Score(scores, p.global, p.candidates, p.mask, &scratch)
	value := nn.NewCritic(m.Params).Value(p.global, p.candidates, p.mask, &scratch)
	shape := outputs["scores"].Shape
	got := outputs["scores"].Data[row*shape[len(shape)-1]:]
	for i, want := range append(scores, value) {
		x := outputs["value"].Data[row]
		if i < len(scores) {
			x = got[i]
		}
		if want := float64(want); !(math.Abs(x-want) <= models.GoldenTolerance*max(1, math.Abs(want))) { // NaN fails
			t.Fatalf("%s: output %d of %d scores and the value: got %v, Go comes to %v", what, i, len(scores), x, want)
		}
	}
}

func mustONNX(t *testing.T, m *models.Model, o export.Options) []byte {
	t.Helper()
	raw, err := export.ONNX(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func mustDecode(t *testing.T, raw []byte) *exporttest.File {
	t.Helper()
	f, err := exporttest.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustLoad(t *testing.T, dir string) *models.Model {
	t.Helper()
	m, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
