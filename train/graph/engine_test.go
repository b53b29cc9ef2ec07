package graph

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/cputime"
)

var dims = nn.Dims{Candidate: 5, Global: 3, Hidden: 8, Value: 6}

// randomRounds returns rounds with 1 to most candidates, some of them illegal.
func randomRounds(r *rand.Rand, d nn.Dims, n, most int) []*env.Observation {
	rounds := make([]*env.Observation, n)
	for i := range rounds {
		rows := 1 + r.IntN(most)
		o := &env.Observation{
			Global:     randomVector(r, d.Global),
			Candidates: randomVector(r, rows*d.Candidate),
			Mask:       make([]bool, rows),
		}
		for k := range o.Mask {
			o.Mask[k] = r.IntN(4) > 0
		}
		rounds[i] = o
	}
	return rounds
}

func randomVector(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func randomParams(r *rand.Rand, d nn.Dims) *nn.Params {
	p := nn.NewParams(d)
	for i := range p.Flat {
		p.Flat[i] = float32(0.4 * r.NormFloat64())
	}
	return p
}

// slowParams are parameters in float64, by tensor.
type slowParams struct {
	shape  [][]int
	values [][]float64
}

func slow(p *nn.Params) *slowParams {
	s := &slowParams{}
	for _, t := range p.Tensors {
		s.shape = append(s.shape, t.Shape)
		s.values = append(s.values, wide(t.Data))
	}
	return s
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for k := range y {
		y[k] = float64(x[k])
	}
	return y
}

// network computes scores and value in float64, term by term.
func (p *slowParams) network(o *env.Observation) (scores []float64, value float64) {
	at := func(i, row, col int) float64 {
		cols := 1
		if len(p.shape[i]) == 2 {
			cols = p.shape[i][1]
		}
		return p.values[i][row*cols+col]
	}
	apply := func(i int, x []float64) []float64 { // weight i times x
		y := make([]float64, p.shape[i][0])
		for row := range y {
			for col := range x {
				y[row] += at(i, row, col) * x[col]
			}
		}
		return y
	}
	sum := func(xs ...[]float64) []float64 {
		y := make([]float64, len(xs[0]))
		for _, x := range xs {
			for k := range y {
				y[k] += x[k]
			}
		}
		return y
	}
	relu := func(x []float64) []float64 {
		y := slices.Clone(x)
		for k := range y {
			y[k] = max(0, y[k])
		}
		return y
	}
	mean := func(rows [][]float64) []float64 {
		legal := slices.Contains(o.Mask, true)
		y, n := make([]float64, len(rows[0])), 0.0
		for i, row := range rows {
			if o.Mask[i] || !legal {
				y, n = sum(y, row), n+1
			}
		}
		for k := range y {
			y[k] /= n
		}
		return y
	}
	f := len(o.Candidates) / o.N()
	global := wide(o.Global)
	var x, h1 [][]float64
	for i := range o.Mask {
		x = append(x, wide(o.Candidates[i*f:][:f]))
		h1 = append(h1, relu(sum(apply(nn.ScoreCandidateWeight, x[i]), apply(nn.ScoreGlobalWeight, global), p.values[nn.ScoreGlobalBias])))
	}
	context := sum(apply(nn.ScoreContextWeight, mean(h1)), p.values[nn.ScoreContextBias])
	for i := range o.Mask {
		h2 := relu(sum(apply(nn.ScoreHiddenWeight, h1[i]), context))
		scores = append(scores, apply(nn.ScoreOutputWeight, h2)[0]+apply(nn.ScoreLinearWeight, x[i])[0])
	}
	h := relu(sum(apply(nn.ValueCandidateWeight, mean(x)), apply(nn.ValueGlobalWeight, global), p.values[nn.ValueGlobalBias]))
	return scores, apply(nn.ValueOutputWeight, h)[0] + at(nn.ValueOutputBias, 0, 0)
}

// halfSquares is the loss Σ s²/2 + Σ v²/2.
func halfSquares(_ int, scores []float32, value float32, dScores []float32) float32 {
	copy(dScores, scores)
	return value
}

func (p *slowParams) loss(rounds []*env.Observation) float64 {
	loss := 0.0
	for _, o := range rounds {
		scores, value := p.network(o)
		for _, s := range scores {
			loss += s * s / 2
		}
		loss += value * value / 2
	}
	return loss
}

func both(l Loss) Objective { return Objective{l, Scores | Values} }

func newEngine(t *testing.T, d nn.Dims) *Engine {
	t.Helper()
	e, err := NewEngine(d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Gorgonia's forward pass, the one that serves and the slow twin agree.
func TestForwardsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p, rounds := randomParams(r, dims), randomRounds(r, dims, 7, 20)
	scorers, err := newScorer(capacity(rounds), dims)
	if err != nil {
		t.Fatal(err)
	}
	critics, err := newCritic(chunkRounds, dims)
	if err != nil {
		t.Fatal(err)
	}
	scorers.fill(rounds)
	critics.fill(rounds)
	var outputs [2][]float32
	for i, n := range []*network{scorers.network, critics.network} {
		n.load(p, 1)
		if outputs[i], err = n.forward(); err != nil {
			t.Fatal(err)
		}
	}
	graphScores, graphValues := outputs[0], outputs[1]
	scorer, critic := nn.NewScorer(p), nn.NewCritic(p)
	var scratch nn.Scratch
	row := 0
	for i, o := range rounds {
		want, wantValue := slow(p).network(o)
		got := make([]float32, o.N())
		scorer.Score(got, o.Global, o.Candidates, o.Mask, &scratch)
		value := critic.Value(o.Global, o.Candidates, o.Mask, &scratch)
		for k := range want {
			if math.Abs(float64(got[k])-want[k]) > 1e-5 || math.Abs(float64(graphScores[row+k])-want[k]) > 1e-5 {
				t.Errorf("round %d, candidate %d: nn %v, graph %v, want %v", i, k, got[k], graphScores[row+k], want[k])
			}
		}
		if math.Abs(float64(value)-wantValue) > 1e-5 || math.Abs(float64(graphValues[i])-wantValue) > 1e-5 {
			t.Errorf("round %d: value: nn %v, graph %v, want %v", i, value, graphValues[i], wantValue)
		}
		row += o.N()
	}
}

// Every parameter's derivative equals the central difference of the twin's loss.
func TestGradientMatchesFiniteDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	p, rounds := randomParams(r, dims), randomRounds(r, dims, 40, 12) // two chunks
	grad := make([]float32, dims.Size())
	if err := newEngine(t, dims).Gradient(context.Background(), p, rounds, both(halfSquares), grad); err != nil {
		t.Fatal(err)
	}
	views, twin := p.View(grad), slow(p)
	for i, tensor := range p.Tensors {
		for k := range tensor.Data {
			want := twin.centralDifference(rounds, &twin.values[i][k])
			if got := float64(views[i].Data[k]); math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Errorf("%s[%d]: gradient %v, finite difference %v", tensor.Name, k, got, want)
			}
		}
	}
}

func (p *slowParams) centralDifference(rounds []*env.Observation, x *float64) float64 {
	const step = 1e-6
	at := *x
	*x = at + step
	up := p.loss(rounds)
	*x = at - step
	down := p.loss(rounds)
	*x = at
	return (up - down) / (2 * step)
}

// The engine keeps graphs between calls: inputs and weights of an earlier call
// must leave no trace.
func TestGradientForgetsEarlierCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	p, q := randomParams(r, dims), randomParams(r, dims)
	rounds, others := randomRounds(r, dims, 9, 6), randomRounds(r, dims, 30, 6)
	want, got := make([]float32, dims.Size()), make([]float32, dims.Size())
	if err := newEngine(t, dims).Gradient(context.Background(), p, rounds, both(halfSquares), want); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, dims)
	if err := e.Gradient(context.Background(), q, others, both(halfSquares), got); err != nil {
		t.Fatal(err)
	}
	if err := e.Gradient(context.Background(), p, rounds, both(halfSquares), got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("gradient differs after another batch")
	}
}

func TestGradientDoesNotDependOnProcessors(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	p, rounds := randomParams(r, dims), randomRounds(r, dims, 300, 30)
	var want []float32
	for _, procs := range []int{1, 2, 4} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		got := make([]float32, dims.Size())
		if err := newEngine(t, dims).Gradient(context.Background(), p, rounds, both(halfSquares), got); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("GOMAXPROCS %d: gradient differs from that of 1", procs)
		}
	}
}

// Leaving a head out leaves the gradient of the other as it is.
func TestHeadsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	p, rounds, e := randomParams(r, dims), randomRounds(r, dims, 50, 10), newEngine(t, dims)
	gradient := func(h Heads) []float32 {
		grad := make([]float32, dims.Size())
		if err := e.Gradient(context.Background(), p, rounds, Objective{halfSquares, h}, grad); err != nil {
			t.Fatal(err)
		}
		return grad
	}
	all, scores, values, at := gradient(Scores|Values), gradient(Scores), gradient(Values), dims.ScorerSize()
	if !slices.Equal(scores[:at], all[:at]) || !slices.Equal(values[at:], all[at:]) {
		t.Error("gradient of one head differs where the other is left out")
	}
	for i := range all {
		if left := values[:at]; i < at && left[i] != 0 || i >= at && scores[i] != 0 {
			t.Fatalf("parameter %d of the head left out has a gradient", i)
		}
	}
}

// A candidate whose derivative is zero contributes exactly nothing through its
// score: a loss that never touches scores leaves the scorer's gradient zero.
func TestNoDerivativeNoGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	p, rounds := randomParams(r, dims), randomRounds(r, dims, 5, 10)
	grad := make([]float32, dims.Size())
	valueOnly := func(_ int, _ []float32, v float32, _ []float32) float32 { return v }
	if err := newEngine(t, dims).Gradient(context.Background(), p, rounds, both(valueOnly), grad); err != nil {
		t.Fatal(err)
	}
	for i, x := range grad[:dims.ScorerSize()] {
		if x != 0 {
			t.Fatalf("scorer parameter %d has gradient %v, want exactly 0", i, x)
		}
	}
}

func TestGradientRefusesNonFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	rounds := randomRounds(r, dims, 3, 10)
	good, bad := randomParams(r, dims), randomParams(r, dims)
	bad.Tensors[nn.ScoreGlobalBias].Data[0] = float32(math.Inf(1))
	nan := func(_ int, _ []float32, _ float32, d []float32) float32 { d[0] = float32(math.NaN()); return 0 }
	for name, c := range map[string]struct {
		p    *nn.Params
		loss Loss
	}{"weights": {bad, halfSquares}, "derivative": {good, nan}} {
		err := newEngine(t, dims).Gradient(context.Background(), c.p, rounds, both(c.loss), make([]float32, dims.Size()))
		if !errors.Is(err, ErrNonFinite) {
			t.Errorf("%s: got error %v, want ErrNonFinite", name, err)
		}
	}
}

func TestChunksCoverEveryRoundOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	rounds := randomRounds(r, nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1}, 500, 900)
	next := 0
	for _, s := range chunks(rounds) {
		rows := 0
		for _, o := range rounds[s.from:s.to] {
			rows += o.N()
		}
		if s.from != next || s.to <= s.from || s.to-s.from > chunkRounds || s.to-s.from > 1 && rows > chunkRows {
			t.Fatalf("chunk %v with %d rows follows round %d", s, rows, next)
		}
		next = s.to
	}
	if next != len(rounds) {
		t.Errorf("chunks end at round %d of %d", next, len(rounds))
	}
}

// BenchmarkGradient reports rounds per second of CPU time for the sizes of the
// demo: 150 candidates of 32 features.
func BenchmarkGradient(b *testing.B) {
	d := nn.Dims{Candidate: 32, Global: 9, Hidden: 32, Value: 64}
	r := rand.New(rand.NewPCG(8, 1))
	p, rounds := randomParams(r, d), randomRounds(r, d, 512, 300)
	e, err := NewEngine(d)
	if err != nil {
		b.Fatal(err)
	}
	grad := make([]float32, d.Size())
	start := cputime.Spent()
	for b.Loop() {
		if err := e.Gradient(context.Background(), p, rounds, both(halfSquares), grad); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(rounds)*b.N)/(cputime.Spent()-start).Seconds(), "rounds/s")
}
