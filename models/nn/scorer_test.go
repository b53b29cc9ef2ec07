package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// networks are the sizes that tests go through: the least, uneven ones, that of
// the shipped policies and ones beyond every strip of the product.
var networks = []Dims{
	{1, 1, 1, 1},
	{5, 3, 7, 2},
	{32, 9, 32, 64},
	{3, 70, 65, 130},
	{129, 2, 130, 20},
}

// counts are numbers of candidates around the limits of a strip.
var counts = []int{0, 1, 2, 30, stripRows - 1, stripRows, stripRows + 1, stripRows + 70}

func score(s *Scorer, o *decision, m *Scratch) []float32 {
	dst := make([]float32, len(o.mask))
	s.Score(dst, o.global, o.candidates, o.mask, m)
	return dst
}

// near reports whether a float32 result equals its twin in float64, for sums of
// thousands of terms of either sign.
func near(got float32, want, scale float64) bool {
	return math.Abs(float64(got)-want) <= 2e-5*(1+scale)
}

// largest returns the largest absolute value, the scale of rounding errors.
func largest(x []float64) float64 {
	top := 0.0
	for _, v := range x {
		top = max(top, math.Abs(v))
	}
	return top
}

func TestForwardPassEqualsSlowTwin(t *testing.T) {
	r := stream(1)
	var m Scratch // shared by all sizes: what an earlier pass left must not show
	for _, d := range networks {
		p := randomParams(r, d)
		s, c := NewScorer(p), NewCritic(p)
		for _, n := range counts {
			for _, legal := range []float64{0, 0.05, 0.5, 1} {
				o := randomDecision(r, d, n, legal)
				name := fmt.Sprintf("%+v, %d candidates, %v legal", d, n, legal)
				want := slowScores(p, o)
				scale := largest(want)
				for i, got := range score(s, o, &m) {
					if !near(got, want[i], scale) {
						t.Fatalf("%s: score %d: got %v, want %v", name, i, got, want[i])
					}
				}
				if got, want := c.Value(o.global, o.candidates, o.mask, &m), slowValue(p, o); !near(got, want, math.Abs(want)) {
					t.Fatalf("%s: value: got %v, want %v", name, got, want)
				}
			}
		}
	}
}

// Candidates in another order have the same scores in that order, and the value
// stays.
func TestPermutationEquivariance(t *testing.T) {
	r := stream(2)
	d := Dims{6, 3, 20, 10}
	p := randomParams(r, d)
	s, c := NewScorer(p), NewCritic(p)
	var m Scratch
	for _, n := range []int{2, 17, 150} {
		o := randomDecision(r, d, n, 0.6)
		order := r.Perm(n)
		q := &decision{global: o.global, candidates: make([]float32, len(o.candidates)), mask: make([]bool, n)}
		for to, from := range order {
			copy(q.row(d, to), o.row(d, from))
			q.mask[to] = o.mask[from]
		}
		want, got := score(s, o, &m), score(s, q, &m)
		for to, from := range order {
			if math.Abs(float64(got[to]-want[from])) > 1e-5*(1+math.Abs(float64(want[from]))) {
				t.Errorf("%d candidates: row %d moved to %d has score %v, before %v", n, from, to, got[to], want[from])
			}
		}
		a, b := c.Value(o.global, o.candidates, o.mask, &m), c.Value(q.global, q.candidates, q.mask, &m)
		if math.Abs(float64(a-b)) > 1e-5*(1+math.Abs(float64(a))) {
			t.Errorf("%d candidates: value %v in one order, %v in another", n, a, b)
		}
	}
}

// A row that is not legal is padding to the others: its values, and whether it
// is there at all, change no other score and no value, to the last bit.
func TestIllegalRowsDoNotReachOthers(t *testing.T) {
	r := stream(3)
	d := Dims{4, 2, 12, 6}
	p := randomParams(r, d)
	s, c := NewScorer(p), NewCritic(p)
	var m Scratch
	for range 20 {
		o := randomDecision(r, d, 40, 0.5)
		o.mask[0], o.mask[39] = true, false
		before, value := score(s, o, &m), c.Value(o.global, o.candidates, o.mask, &m)
		for i, legal := range o.mask {
			if !legal {
				fillNormal(r, o.row(d, i), 100)
			}
		}
		after := score(s, o, &m)
		for i, legal := range o.mask {
			if legal && after[i] != before[i] {
				t.Fatalf("score of legal row %d: got %v, before %v", i, after[i], before[i])
			}
		}
		if got := c.Value(o.global, o.candidates, o.mask, &m); got != value {
			t.Fatalf("value: got %v, before %v", got, value)
		}
		o.candidates, o.mask = o.candidates[:39*d.Candidate], o.mask[:39]
		if got := score(s, o, &m); !slices.Equal(got, after[:39]) {
			t.Fatal("leaving out an illegal row changed the scores of the others")
		}
	}
}

// A legal row does reach the others, through the mean: without this the test
// above would pass on a network without context.
func TestLegalRowsReachOthers(t *testing.T) {
	r := stream(4)
	d := Dims{4, 2, 12, 6}
	s := NewScorer(randomParams(r, d))
	o := randomDecision(r, d, 5, 1)
	var m Scratch
	before := score(s, o, &m)
	fillNormal(r, o.row(d, 4), 10)
	if after := score(s, o, &m); after[0] == before[0] {
		t.Error("another legal row did not change a score")
	}
}

func TestForwardPassDoesNotAllocate(t *testing.T) {
	r := stream(5)
	for _, d := range networks {
		p := randomParams(r, d)
		s, c := NewScorer(p), NewCritic(p)
		o := randomDecision(r, d, 300, 0.5)
		dst := make([]float32, 300)
		var m Scratch
		got := testing.AllocsPerRun(5, func() {
			s.Score(dst, o.global, o.candidates, o.mask, &m)
			c.Value(o.global, o.candidates, o.mask, &m)
		})
		if got != 0 {
			t.Errorf("%+v: got %v allocations, want 0", d, got)
		}
	}
}

// Scores depend on the first ScorerSize parameters and the value on the others,
// on each of them.
func TestEveryParameterCounts(t *testing.T) {
	r := stream(6)
	d := Dims{3, 2, 4, 3}
	o := randomDecision(r, d, 12, 0.7)
	o.mask[0] = true
	p := randomParams(r, d)
	for i := range p.Flat {
		p.Flat[i] = float32(math.Abs(float64(p.Flat[i]))) + 0.1 // keeps units on
	}
	for i := range o.candidates {
		o.candidates[i] = float32(math.Abs(float64(o.candidates[i]))) + 0.1
	}
	for i := range o.global {
		o.global[i] = float32(math.Abs(float64(o.global[i]))) + 0.1
	}
	var m Scratch
	pass := func() ([]float32, float32) {
		return score(NewScorer(p), o, &m), NewCritic(p).Value(o.global, o.candidates, o.mask, &m)
	}
	scores, value := pass()
	for i := range p.Flat {
		kept := p.Flat[i]
		p.Flat[i] += 0.5
		s, v := pass()
		p.Flat[i] = kept
		if got, want := !slices.Equal(s, scores), i < d.ScorerSize(); got != want {
			t.Errorf("parameter %d: changes scores: got %v, want %v", i, got, want)
		}
		if got, want := v != value, i >= d.ScorerSize(); got != want {
			t.Errorf("parameter %d: changes the value: got %v, want %v", i, got, want)
		}
	}
}

func TestScorerAndCriticCopyTheirParameters(t *testing.T) {
	r := stream(7)
	d := Dims{3, 2, 4, 3}
	p := randomParams(r, d)
	s, c := NewScorer(p), NewCritic(p)
	o := randomDecision(r, d, 6, 1)
	var m Scratch
	scores, value := score(s, o, &m), c.Value(o.global, o.candidates, o.mask, &m)
	fillNormal(r, p.Flat, 1)
	if got := score(s, o, &m); !slices.Equal(got, scores) {
		t.Error("changing the parameters changed a scorer made of them")
	}
	if got := c.Value(o.global, o.candidates, o.mask, &m); got != value {
		t.Error("changing the parameters changed a critic made of them")
	}
}

func TestFaultsShowInScores(t *testing.T) {
	d := Dims{2, 2, 4, 2}
	p := randomParams(stream(8), d)
	p.Tensors[ScoreCandidateWeight].Data[0] = float32(math.NaN())
	o := randomDecision(stream(9), d, 3, 1)
	for i := range o.candidates {
		o.candidates[i] = 1
	}
	var m Scratch
	for i, got := range score(NewScorer(p), o, &m) {
		if got == got {
			t.Errorf("score %d with a NaN weight: got %v, want NaN", i, got)
		}
	}
}

func TestShapesThatDoNotFitPanic(t *testing.T) {
	d := Dims{2, 3, 4, 2}
	p := NewParams(d)
	good := func() *decision { return randomDecision(stream(10), d, 3, 1) }
	for name, spoil := range map[string]func(o *decision){
		"global":     func(o *decision) { o.global = o.global[:2] },
		"candidates": func(o *decision) { o.candidates = o.candidates[:5] },
		"mask":       func(o *decision) { o.mask = o.mask[:2] },
	} {
		o := good()
		spoil(o)
		if !panics(func() { score(NewScorer(p), o, new(Scratch)) }) {
			t.Errorf("%s: Score did not panic", name)
		}
		if !panics(func() { NewCritic(p).Value(o.global, o.candidates, o.mask, new(Scratch)) }) {
			t.Errorf("%s: Value did not panic", name)
		}
	}
	o := good()
	if !panics(func() { NewScorer(p).Score(make([]float32, 2), o.global, o.candidates, o.mask, new(Scratch)) }) {
		t.Error("dst too short: Score did not panic")
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func BenchmarkScore(b *testing.B) {
	d := Dims{32, 9, 32, 64}
	p := NewParams(d)
	r := rand.New(rand.NewPCG(1, 1))
	p.Initialize(r)
	s := NewScorer(p)
	for _, n := range []int{181, 16_001} {
		o := randomDecision(r, d, n, 0.5)
		dst := make([]float32, n)
		var m Scratch
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Score(dst, o.global, o.candidates, o.mask, &m)
			}
		})
	}
}
