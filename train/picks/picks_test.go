package picks

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// randomSequence returns a sequence as JobStrategy-v0 makes them: row 0, stop,
// becomes legal after the first pick and ends the round, the others stop being
// legal for good at some time; some are never legal.
func randomSequence(t testing.TB, r *rand.Rand, n int) *Sequence {
	t.Helper()
	q := &Sequence{}
	q.Reset(n)
	mask := make([]bool, n)
	for i := 1; i < n; i++ {
		mask[i] = r.IntN(5) > 0
	}
	mask[1+r.IntN(n-1)] = true
	for {
		a := sample(mask, r)
		if err := q.Add(a, mask); err != nil {
			t.Fatal(err)
		}
		if a == 0 {
			return q
		}
		mask[a], mask[0] = false, true
		for i := 1; i < n; i++ {
			mask[i] = mask[i] && r.IntN(4) > 0
		}
	}
}

func sample(mask []bool, r *rand.Rand) env.Action {
	o := &env.Observation{Mask: mask}
	return (&env.Space{}).Sample(o, r)
}

func randomScores(r *rand.Rand, n int, scale float64) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(scale * r.NormFloat64())
	}
	return s
}

// slowTerms sums the definitions directly, O(N·P).
func slowTerms(q *Sequence, scores, reference []float64) Terms {
	t := Terms{}
	for p, a := range q.Actions {
		logP, logQ := slowSoftmax(q, p, scores), slowSoftmax(q, p, reference)
		t.LogProb += logP[a]
		for i := range scores {
			if q.Legal(i, p) {
				t.Entropy -= math.Exp(logP[i]) * logP[i]
				t.KL += math.Exp(logP[i]) * (logP[i] - logQ[i])
			}
		}
	}
	return t
}

func slowSoftmax(q *Sequence, p int, scores []float64) []float64 {
	z, logP := 0.0, make([]float64, len(scores))
	for i, s := range scores {
		if q.Legal(i, p) {
			z += math.Exp(s)
		}
	}
	for i, s := range scores {
		logP[i] = s - math.Log(z)
	}
	return logP
}

func slowSetLoss(q *Sequence, set int, scores []float64) float64 {
	loss := 0.0
	for p := range q.Actions {
		logP, right := slowSoftmax(q, p, scores), 0.0
		for k := p; k < max(set, p+1); k++ {
			if q.Legal(int(q.Actions[k]), p) {
				right += math.Exp(logP[q.Actions[k]])
			}
		}
		loss -= math.Log(right)
	}
	return loss
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*(1+math.Abs(want))
}

func TestTermsMatchSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var e Evaluator
	for range 300 {
		n := 2 + r.IntN(30)
		q, s, ref := randomSequence(t, r, n), randomScores(r, n, 4), randomScores(r, n, 4)
		got, want := e.Forward(q, s, ref), slowTerms(q, wide(s), wide(ref))
		if !near(got.LogProb, want.LogProb, 1e-9) || !near(got.Entropy, want.Entropy, 1e-9) || !near(got.KL, want.KL, 1e-9) {
			t.Fatalf("%d picks of %d rows: got %+v, want %+v", len(q.Actions), n, got, want)
		}
	}
}

func TestDerivativesMatchFiniteDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var e Evaluator
	c := Coefficients{LogProb: 1.3, Entropy: -0.7, KL: 0.4}
	for range 50 {
		n := 2 + r.IntN(20)
		q, s, ref := randomSequence(t, r, n), randomScores(r, n, 2), randomScores(r, n, 2)
		got, set := make([]float32, n), len(q.Actions)-1
		e.Forward(q, s, ref)
		e.Backward(got, c)
		e.SetLoss(set, 0.9, got)
		f := func(x []float64) float64 {
			t := slowTerms(q, x, wide(ref))
			return c.LogProb*t.LogProb + c.Entropy*t.Entropy + c.KL*t.KL + 0.9*slowSetLoss(q, set, x)
		}
		x := wide(s)
		for i := range x {
			want := centralDifference(f, x, i)
			if !near(float64(got[i]), want, 1e-5) {
				t.Fatalf("row %d of %d, legal [%d, %d): derivative %v, finite difference %v", i, n, q.From[i], q.Until[i], got[i], want)
			}
		}
	}
}

func centralDifference(f func([]float64) float64, x []float64, i int) float64 {
	const step = 1e-5
	at := x[i]
	x[i] = at + step
	up := f(x)
	x[i] = at - step
	down := f(x)
	x[i] = at
	return (up - down) / (2 * step)
}

func TestSetLossMatchesSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	var e Evaluator
	for range 200 {
		n := 2 + r.IntN(30)
		q, s := randomSequence(t, r, n), randomScores(r, n, 3)
		for _, set := range []int{0, len(q.Actions) - 1} {
			e.Forward(q, s, nil)
			if got, want := e.SetLoss(set, 1, make([]float32, n)), slowSetLoss(q, set, wide(s)); !near(got, want, 1e-9) {
				t.Fatalf("set of %d of %d picks: loss %v, want %v", set, len(q.Actions), got, want)
			}
		}
	}
}

// A row that was never legal has exactly zero derivative.
func TestIllegalRowsHaveNoDerivative(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	var e Evaluator
	seen := 0
	for range 100 {
		n := 5 + r.IntN(20)
		q, s, ref := randomSequence(t, r, n), randomScores(r, n, 5), randomScores(r, n, 5)
		d := make([]float32, n)
		e.Forward(q, s, ref)
		e.Backward(d, Coefficients{1, 1, 1})
		e.SetLoss(len(q.Actions)-1, 1, d)
		for i := range d {
			if q.Until[i] == 0 {
				seen++
				if d[i] != 0 {
					t.Fatalf("row %d was never legal, but has derivative %v", i, d[i])
				}
			}
		}
	}
	if seen == 0 {
		t.Fatal("no row was illegal: the test shows nothing")
	}
}

// Scores thousands apart neither overflow nor give a legal row probability 0.
func TestExtremeScoresStayFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	var e Evaluator
	for range 100 {
		n := 2 + r.IntN(20)
		q, s, ref := randomSequence(t, r, n), randomScores(r, n, 1e4), randomScores(r, n, 1e4)
		d := make([]float32, n)
		terms := e.Forward(q, s, ref)
		e.Backward(d, Coefficients{1, 1, 1})
		loss := e.SetLoss(len(q.Actions)-1, 1, d)
		for _, x := range append(wide(d), terms.LogProb, terms.Entropy, terms.KL, loss) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("scores %v: got %v", s, x)
			}
		}
	}
}

func TestAddRefusesWhatIsNoInterval(t *testing.T) {
	q := &Sequence{}
	q.Reset(3)
	if err := q.Add(1, []bool{true, false, false}); !errors.Is(err, env.ErrInvalidAction) {
		t.Errorf("illegal pick: got %v, want ErrInvalidAction", err)
	}
	for _, mask := range [][]bool{{true, true, true}, {true, false, true}} {
		if err := q.Add(2, mask); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Add(2, []bool{true, true, true}); !errors.Is(err, ErrNotInterval) {
		t.Errorf("row 1 legal again: got %v, want ErrNotInterval", err)
	}
	if len(q.Actions) != 2 || q.Until[0] != 2 {
		t.Errorf("refused pick changed the sequence: %+v", q)
	}
}

func TestEvaluatorDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	var e Evaluator
	q, s, d := randomSequence(t, r, 200), randomScores(r, 200, 2), make([]float32, 200)
	run := func() {
		e.Forward(q, s, s)
		e.Backward(d, Coefficients{1, 1, 1})
		e.SetLoss(len(q.Actions)-1, 1, d)
	}
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations per round, want 0", n)
	}
}
