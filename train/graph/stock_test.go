package graph

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/cputime"
	"github.com/yardmaster/yardmaster/train/graph/blas"
)

// stock is the networks in Gorgonia's own operations, run by its TapeMachine:
// the slow twin of package fused. It panics on errors of Gorgonia.
type stock struct {
	*gorgonia.ExprGraph
	weights gorgonia.Nodes // by tensor of nn.Params, transposed as in network
	scores  *gorgonia.Node // [rows, 1]
	values  *gorgonia.Node // [rounds, 1]
}

func (s *stock) constant(name string, rows, cols int, data []float32) *gorgonia.Node {
	return gorgonia.NodeFromAny(s.ExprGraph, tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data)), gorgonia.WithName(name))
}

func mul(x, y *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Mul(x, y)) }
func add(x, y *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Add(x, y)) }
func relu(x *gorgonia.Node) *gorgonia.Node   { return gorgonia.Must(gorgonia.Rectify(x)) }

// bias adds y, shape [1, n], to every row of x.
func bias(x, y *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(x, y, nil, []byte{0}))
}

// newStock builds both networks on these rounds: pooling is the product with a
// [rounds, rows] matrix of 1/n, spreading the one with a [rows, rounds] matrix
// of ones.
func newStock(p *nn.Params, rounds []*env.Observation) *stock {
	s := &stock{ExprGraph: gorgonia.NewGraph()}
	for _, t := range p.Tensors {
		rows, cols := matrixShape(t.Shape)
		w := make([]float32, len(t.Data))
		transpose(w, t.Data, rows)
		s.weights = append(s.weights, s.constant(t.Name, cols, rows, w))
	}
	rows := 0
	for _, o := range rounds {
		rows += o.N()
	}
	var global, candidates, means []float32
	pool, spread := make([]float32, len(rounds)*rows), make([]float32, rows*len(rounds))
	row := 0
	for r, o := range rounds {
		global, candidates = append(global, o.Global...), append(candidates, o.Candidates...)
		mean := make([]float32, p.Dims.Candidate)
		nn.MeanRows(mean, o.Candidates, o.Mask)
		means = append(means, mean...)
		legal := 0
		for _, ok := range o.Mask {
			if ok {
				legal++
			}
		}
		for i, ok := range o.Mask {
			spread[(row+i)*len(rounds)+r] = 1
			if ok {
				pool[r*rows+row+i] = 1 / float32(legal)
			} else if legal == 0 {
				pool[r*rows+row+i] = 1 / float32(o.N())
			}
		}
		row += o.N()
	}
	w := func(i int) *gorgonia.Node { return s.weights[i] }
	g, x := s.constant("global", len(rounds), p.Dims.Global, global), s.constant("candidates", rows, p.Dims.Candidate, candidates)
	to := s.constant("spread", rows, len(rounds), spread)
	u := bias(mul(g, w(nn.ScoreGlobalWeight)), w(nn.ScoreGlobalBias))
	h1 := relu(add(mul(x, w(nn.ScoreCandidateWeight)), mul(to, u)))
	c := bias(mul(mul(s.constant("pool", len(rounds), rows, pool), h1), w(nn.ScoreContextWeight)), w(nn.ScoreContextBias))
	h2 := relu(add(mul(h1, w(nn.ScoreHiddenWeight)), mul(to, c)))
	s.scores = add(mul(h2, w(nn.ScoreOutputWeight)), mul(x, w(nn.ScoreLinearWeight)))

	v := add(mul(s.constant("means", len(rounds), p.Dims.Candidate, means), w(nn.ValueCandidateWeight)), mul(g, w(nn.ValueGlobalWeight)))
	s.values = bias(mul(relu(bias(v, w(nn.ValueGlobalBias))), w(nn.ValueOutputWeight)), w(nn.ValueOutputBias))
	return s
}

// gradient returns Σ dScores·scores + Σ dValues·values differentiated with
// respect to p, and the scores and values.
func (s *stock) gradient(t *testing.T, p *nn.Params, dScores, dValues []float32) (grad, scores, values []float32) {
	t.Helper()
	dS, dV := s.constant("d_scores", len(dScores), 1, dScores), s.constant("d_values", len(dValues), 1, dValues)
	grad = make([]float32, p.Dims.Size())
	views := p.View(grad)
	var keep, grads gorgonia.Nodes
	for _, part := range []struct {
		out, d *gorgonia.Node
		wrt    gorgonia.Nodes
	}{{s.scores, dS, s.weights[:nn.ValueCandidateWeight]}, {s.values, dV, s.weights[nn.ValueCandidateWeight:]}} {
		g, err := gorgonia.Backpropagate(gorgonia.Nodes{part.out}, gorgonia.Nodes{part.d}, part.wrt)
		if err != nil {
			t.Fatal(err)
		}
		keep, grads = append(keep, part.out), append(grads, g...)
	}
	vm := gorgonia.NewTapeMachine(s.ExactSubgraphRoots(append(keep, grads...)...))
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	for i, n := range grads {
		_, cols := matrixShape(p.Tensors[i].Shape)
		transpose(views[i].Data, n.Value().Data().([]float32), cols)
	}
	return grad, s.scores.Value().Data().([]float32), s.values.Value().Data().([]float32)
}

// The three ways to compute the networks agree: stock operations on Gorgonia's
// machine, fused operations on the executor, and the forward pass that serves.
// The last two give the same bits. Stock operations multiply with gonum and with our
// kernels.
func TestStockFusedAndServingAgree(t *testing.T) {
	defer gorgonia.Use(gorgonia.WhichBLAS())
	gorgonia.Use(gonum.Implementation{})
	agreeThreeWays(t)
	blas.Use()
	agreeThreeWays(t)
}

func agreeThreeWays(t *testing.T) {
	t.Helper()
	r := rand.New(rand.NewPCG(21, 1))
	p, rounds := randomParams(r, dims), randomRounds(r, dims, 9, 40)
	e := newEngine(t, dims)
	var scores, values, dScores, dValues []float32
	record := func(i int, s []float32, value float32, d []float32) float32 {
		scores, values = append(scores, s...), append(values, value)
		for k := range d {
			d[k] = float32(k%3) - 0.7
		}
		dScores, dValues = append(dScores, d...), append(dValues, float32(i)-3)
		return float32(i) - 3
	}
	grad := make([]float32, dims.Size())
	if err := e.Gradient(context.Background(), p, rounds, both(record), grad); err != nil {
		t.Fatal(err)
	}
	want, wantScores, wantValues := newStock(p, rounds).gradient(t, p, dScores, dValues)
	agree(t, "gradient", grad, want, 1e-5)
	agree(t, "score", scores, wantScores, 1e-5)
	agree(t, "value", values, wantValues, 1e-5)

	scorer, critic := nn.NewScorer(p), nn.NewCritic(p)
	var scratch nn.Scratch
	row := 0
	for i, o := range rounds {
		served := make([]float32, o.N())
		scorer.Score(served, o.Global, o.Candidates, o.Mask, &scratch)
		agree(t, "served score", served, scores[row:][:o.N()], 0)
		agree(t, "served value", []float32{critic.Value(o.Global, o.Candidates, o.Mask, &scratch)}, values[i:i+1], 0)
		row += o.N()
	}
}

// agree fails where got and want differ by more than tolerance, relative to the
// greater of 1 and want.
func agree(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance*max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s[%d]: got %v, want %v", what, i, got[i], want[i])
		}
	}
}

// BenchmarkStock reports rounds per second of CPU time of the gradient through stock operations on
// the TapeMachine, with gonum's products and with ours: what fused operations and
// the executor are measured against, in BenchmarkGradient.
func BenchmarkStock(b *testing.B) {
	defer gorgonia.Use(gorgonia.WhichBLAS())
	d := nn.Dims{Candidate: 32, Global: 9, Hidden: 32, Value: 64}
	r := rand.New(rand.NewPCG(8, 1))
	p, rounds := randomParams(r, d), randomRounds(r, d, 8, 256)
	for _, use := range []struct {
		name string
		blas gorgonia.BLAS
	}{{"gonum", gonum.Implementation{}}, {"kernels", blas.Implementation{}}} {
		b.Run(use.name, func(b *testing.B) {
			gorgonia.Use(use.blas)
			s := newStock(p, rounds)
			var grads gorgonia.Nodes
			for _, part := range []struct {
				out *gorgonia.Node
				wrt gorgonia.Nodes
			}{{s.scores, s.weights[:nn.ValueCandidateWeight]}, {s.values, s.weights[nn.ValueCandidateWeight:]}} {
				shape := part.out.Shape()
				d := s.constant("d_"+part.out.Name(), shape[0], shape[1], randomVector(r, shape[0]))
				g, err := gorgonia.Backpropagate(gorgonia.Nodes{part.out}, gorgonia.Nodes{d}, part.wrt)
				if err != nil {
					b.Fatal(err)
				}
				grads = append(grads, g...)
			}
			vm := gorgonia.NewTapeMachine(s.ExactSubgraphRoots(append(grads, s.scores, s.values)...))
			defer vm.Close()
			start := cputime.Spent()
			for b.Loop() {
				if err := vm.RunAll(); err != nil {
					b.Fatal(err)
				}
				vm.Reset()
			}
			b.ReportMetric(float64(len(rounds)*b.N)/(cputime.Spent()-start).Seconds(), "rounds/s")
		})
	}
}
