package graph_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/nn/kernel"
	"github.com/yardmaster/yardmaster/train/graph"
)

// handwritten is the gradient of the network as one writes it by hand: forward,
// then the chain rule layer by layer, round after round on the same kernels,
// without Gorgonia. It is what the engine is measured against, and its twin.
type handwritten struct {
	p                  *nn.Params
	wx, wg, w2, wc     []float32 // transposed: [in, out]
	ux, ug             []float32
	gx, gg, g2, gc, gu []float32 // gradients of them, transposed
	gv                 []float32
	memory             [12][]float32
}

func newHandwritten(p *nn.Params) *handwritten {
	d := p.Dims
	of := func(rows, cols int) []float32 { return make([]float32, rows*cols) }
	return &handwritten{
		p:  p,
		wx: of(d.Candidate, d.Hidden), wg: of(d.Global, d.Hidden), w2: of(d.Hidden, d.Hidden), wc: of(d.Hidden, d.Hidden),
		ux: of(d.Candidate, d.Value), ug: of(d.Global, d.Value),
		gx: of(d.Candidate, d.Hidden), gg: of(d.Global, d.Hidden), g2: of(d.Hidden, d.Hidden), gc: of(d.Hidden, d.Hidden),
		gu: of(d.Candidate, d.Value), gv: of(d.Global, d.Value),
	}
}

func (h *handwritten) Flat() []float32 { return h.p.Flat }
func (h *handwritten) PolicySize() int { return h.p.Dims.ScorerSize() }

func (h *handwritten) Reference() func(dst []float32, o *env.Observation) {
	scorer, scratch := nn.NewScorer(h.p), &nn.Scratch{}
	return func(dst []float32, o *env.Observation) {
		scorer.Score(dst, o.Global, o.Candidates, o.Mask, scratch)
	}
}

// layers pairs every matrix with its transpose and that of its gradient.
func (h *handwritten) layers() []struct {
	tensor      int
	w, gradient []float32
} {
	return []struct {
		tensor      int
		w, gradient []float32
	}{
		{nn.ScoreCandidateWeight, h.wx, h.gx},
		{nn.ScoreGlobalWeight, h.wg, h.gg},
		{nn.ScoreHiddenWeight, h.w2, h.g2},
		{nn.ScoreContextWeight, h.wc, h.gc},
		{nn.ValueCandidateWeight, h.ux, h.gu},
		{nn.ValueGlobalWeight, h.ug, h.gv},
	}
}

// flip writes src, shape [rows, cols], to dst as [cols, rows].
func flip(dst, src []float32, rows, cols int) {
	for r := range rows {
		for c := range cols {
			dst[c*rows+r] = src[r*cols+c]
		}
	}
}

// slot returns n values of memory, as they are.
func (h *handwritten) slot(i, n int) []float32 {
	if cap(h.memory[i]) < n {
		h.memory[i] = make([]float32, n)
	}
	return h.memory[i][:n]
}

// Gradient is graph.Engine's, for both heads.
func (h *handwritten) Gradient(_ context.Context, rounds []*env.Observation, o graph.Objective, grad []float32) error {
	for _, l := range h.layers() {
		shape := h.p.Tensors[l.tensor].Shape
		flip(l.w, h.p.Tensors[l.tensor].Data, shape[0], shape[1])
		clear(l.gradient)
	}
	clear(grad)
	g := h.p.View(grad)
	for i, round := range rounds {
		h.round(i, round, o.Loss, g)
	}
	for _, l := range h.layers() {
		shape := g[l.tensor].Shape
		flip(g[l.tensor].Data, l.gradient, shape[1], shape[0])
	}
	return nil
}

// round adds the gradient of round i.
func (h *handwritten) round(i int, o *env.Observation, loss graph.Loss, g []nn.Tensor) {
	d, t, n := h.p.Dims, h.p.Tensors, o.N()
	// Forward.
	u := append(h.slot(0, d.Hidden)[:0], t[nn.ScoreGlobalBias].Data...)
	kernel.MultiplyAdd(u, o.Global, h.wg, 1, d.Global, d.Hidden)
	h1 := h.slot(1, n*d.Hidden)
	kernel.Linear(h1, o.Candidates, h.wx, u, n, d.Candidate, d.Hidden, kernel.ReLU)
	context := h.slot(2, d.Hidden)
	kernel.MeanRows(context, h1, o.Mask)
	u = append(u[:0], t[nn.ScoreContextBias].Data...)
	kernel.MultiplyAdd(u, context, h.wc, 1, d.Hidden, d.Hidden)
	h2 := h.slot(3, n*d.Hidden)
	kernel.Linear(h2, h1, h.w2, u, n, d.Hidden, d.Hidden, kernel.ReLU)
	scores, linear := h.slot(4, n), h.slot(5, n)
	kernel.Dots(scores, h2, t[nn.ScoreOutputWeight].Data, d.Hidden)
	kernel.Dots(linear, o.Candidates, t[nn.ScoreLinearWeight].Data, d.Candidate)
	kernel.AddScaled(scores, linear, 1)
	mean, hidden := h.slot(6, d.Candidate), h.slot(7, d.Value)
	kernel.MeanRows(mean, o.Candidates, o.Mask)
	copy(hidden, t[nn.ValueGlobalBias].Data)
	kernel.MultiplyAdd(hidden, o.Global, h.ug, 1, d.Global, d.Value)
	kernel.MultiplyAdd(hidden, mean, h.ux, 1, d.Candidate, d.Value)
	kernel.ApplyReLU(hidden, hidden)
	var value [1]float32
	kernel.Dots(value[:], hidden, t[nn.ValueOutputWeight].Data, d.Value)

	dScores := h.slot(8, n)
	clear(dScores)
	dValue := loss(i, scores, value[0]+t[nn.ValueOutputBias].Data[0], dScores)
	h.valueBackward(o, mean, hidden, dValue, g)
	h.scoreBackward(o, h1, h2, context, dScores, g)
}

func (h *handwritten) valueBackward(o *env.Observation, mean, hidden []float32, dValue float32, g []nn.Tensor) {
	d := h.p.Dims
	g[nn.ValueOutputBias].Data[0] += dValue
	kernel.AddScaled(g[nn.ValueOutputWeight].Data, hidden, dValue)
	dHidden := h.slot(9, d.Value)
	clear(dHidden)
	kernel.AddScaled(dHidden, h.p.Tensors[nn.ValueOutputWeight].Data, dValue)
	kernel.Gradient(kernel.ReLU, dHidden, dHidden, nil, hidden)
	kernel.AddScaled(g[nn.ValueGlobalBias].Data, dHidden, 1)
	kernel.MultiplyAddLeft(h.gu, mean, dHidden, d.Candidate, 1, d.Value)
	kernel.MultiplyAddLeft(h.gv, o.Global, dHidden, d.Global, 1, d.Value)
}

func (h *handwritten) scoreBackward(o *env.Observation, h1, h2, context, dScores []float32, g []nn.Tensor) {
	d, n := h.p.Dims, o.N()
	output := h.p.Tensors[nn.ScoreOutputWeight].Data
	kernel.MultiplyAdd(g[nn.ScoreOutputWeight].Data, dScores, h2, 1, n, d.Hidden)
	kernel.MultiplyAdd(g[nn.ScoreLinearWeight].Data, dScores, o.Candidates, 1, n, d.Candidate)
	dh := h.slot(10, n*d.Hidden)
	kernel.Multiply(dh, dScores, output, n, 1, d.Hidden)
	kernel.Gradient(kernel.ReLU, dh, dh, nil, h2)
	sum := h.rowSum(dh, n, d.Hidden)
	kernel.AddScaled(g[nn.ScoreContextBias].Data, sum, 1)
	kernel.MultiplyAddLeft(h.g2, h1, dh, d.Hidden, n, d.Hidden)
	kernel.MultiplyAddLeft(h.gc, context, sum, d.Hidden, 1, d.Hidden)

	dh1, dContext := h.slot(11, n*d.Hidden), make([]float32, d.Hidden)
	kernel.MultiplyRight(dh1, dh, h.w2, n, d.Hidden, d.Hidden)
	kernel.MultiplyAddRight(dContext, sum, h.wc, 1, d.Hidden, d.Hidden)
	kernel.MeanRowsGradient(dh1, dContext, o.Mask)
	kernel.Gradient(kernel.ReLU, dh1, dh1, nil, h1)
	sum = h.rowSum(dh1, n, d.Hidden)
	kernel.AddScaled(g[nn.ScoreGlobalBias].Data, sum, 1)
	kernel.MultiplyAddLeft(h.gx, o.Candidates, dh1, d.Candidate, n, d.Hidden)
	kernel.MultiplyAddLeft(h.gg, o.Global, sum, d.Global, 1, d.Hidden)
}

// rowSum returns the sum of the rows of x.
func (h *handwritten) rowSum(x []float32, rows, cols int) []float32 {
	sum := h.slot(9, cols)
	clear(sum)
	kernel.SumRows(sum, x, rows, nil)
	return sum
}

// varied returns rounds with 1 to most candidates, some of them illegal.
func varied(r *rand.Rand, d nn.Dims, n, most int) []*env.Observation {
	rounds := make([]*env.Observation, n)
	for i := range rounds {
		rounds[i] = observation(r, d, 1+r.IntN(most))
	}
	return rounds
}

func observation(r *rand.Rand, d nn.Dims, rows int) *env.Observation {
	o := &env.Observation{Global: make([]float32, d.Global), Candidates: make([]float32, rows*d.Candidate), Mask: make([]bool, rows)}
	for _, x := range [][]float32{o.Global, o.Candidates} {
		for k := range x {
			x[k] = float32(r.NormFloat64())
		}
	}
	for k := range o.Mask {
		o.Mask[k] = r.IntN(4) > 0
	}
	return o
}

func parameters(r *rand.Rand, d nn.Dims) *nn.Params {
	p := nn.NewParams(d)
	for i := range p.Flat {
		p.Flat[i] = float32(0.2 * r.NormFloat64())
	}
	return p
}

// The engine, which is Gorgonia's chain rule over fused operations, and the
// gradient written by hand agree, on odd shapes too.
func TestHandwrittenGradientAgrees(t *testing.T) {
	loss := func(i int, scores []float32, value float32, dScores []float32) float32 {
		for k, s := range scores {
			dScores[k] = (s - float32(k%3)) / float32(len(scores))
		}
		return value - float32(i%4)
	}
	for _, d := range []nn.Dims{{Candidate: 32, Global: 9, Hidden: 32, Value: 64}, {Candidate: 5, Global: 3, Hidden: 17, Value: 7}, {Candidate: 1, Global: 1, Hidden: 1, Value: 1}} {
		r := rng.New(1, "graph/handwritten")
		p, rounds := parameters(r, d), varied(r, d, 40, 300)
		e, err := graph.NewEngine(d)
		if err != nil {
			t.Fatal(err)
		}
		o := graph.Objective{Loss: loss, Heads: graph.Scores | graph.Values}
		got, want := make([]float32, d.Size()), make([]float32, d.Size())
		if err := e.Gradient(context.Background(), p, rounds, o, got); err != nil {
			t.Fatal(err)
		}
		if err := newHandwritten(p).Gradient(context.Background(), rounds, o, want); err != nil {
			t.Fatal(err)
		}
		norm := 0.0
		for _, x := range want {
			norm += float64(x) * float64(x) / float64(len(want))
		}
		for i := range want {
			if off := math.Abs(float64(got[i] - want[i])); off > 1e-5*(math.Sqrt(norm)+math.Abs(float64(want[i]))) {
				t.Errorf("%+v: parameter %d: engine %v, by hand %v", d, i, got[i], want[i])
			}
		}
	}
}
