package ppo

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/picks"
)

// randomSample is a round of three picks over five rows.
func randomSample(t *testing.T, r *rand.Rand) *sample {
	t.Helper()
	q := &picks.Sequence{}
	q.Reset(5)
	mask := []bool{false, true, true, true, false}
	for _, a := range []int{2, 1, 0} {
		if a == 0 {
			mask[0] = true
		}
		if a == 1 {
			mask[0] = true
		}
		if err := q.Add(env.Action(a), mask); err != nil {
			t.Fatal(err)
		}
		mask[a] = false
	}
	ref := make([]float32, 5)
	for i := range ref {
		ref[i] = float32(r.NormFloat64())
	}
	return &sample{round: q, advantage: r.NormFloat64(), target: r.NormFloat64(), reference: ref}
}

// The derivative of the whole loss, with clipping, entropy, leash and value,
// equals central differences. Samples with the ratio on either side of both
// limits of the clip are drawn.
func TestLossDerivativeMatchesFiniteDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := lossWeights{clip: 0.2, entropy: 0.05, leash: 0.3, value: 0.7}
	var e picks.Evaluator
	clipped, free := 0, 0
	for range 400 {
		s := randomSample(t, r)
		scores := make([]float32, 5)
		for i := range scores {
			scores[i] = float32(r.NormFloat64())
		}
		s.logProb = e.Forward(s.round, scores, nil).LogProb - 0.4*r.NormFloat64()
		value := float32(r.NormFloat64())
		dScores := make([]float32, 5)
		at, dValue := w.round(&e, s, scores, value, 1, dScores)
		if math.Abs(at.ratio-1.2) < 1e-3 || math.Abs(at.ratio-0.8) < 1e-3 {
			continue // the kink of the clip has no derivative
		}
		if at.clipped {
			clipped++
		} else {
			free++
		}
		f := func(x []float32, v float32) float64 {
			t, _ := w.round(&e, s, x, v, 1, make([]float32, 5))
			return w.loss(t)
		}
		const step = 1.0 / 1024
		for i := range scores {
			up, down := append([]float32(nil), scores...), append([]float32(nil), scores...)
			up[i] += step
			down[i] -= step
			got, want := float64(dScores[i]), (f(up, value)-f(down, value))/(float64(up[i])-float64(down[i]))
			if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) && !crossesClip(&e, s, up, down) {
				t.Fatalf("row %d, ratio %v, advantage %v: derivative %v, finite difference %v", i, at.ratio, s.advantage, got, want)
			}
		}
		if want := (f(scores, value+step) - f(scores, value-step)) / (2 * step); math.Abs(float64(dValue)-want) > 1e-3 {
			t.Fatalf("value: derivative %v, finite difference %v", dValue, want)
		}
	}
	if clipped < 50 || free < 50 {
		t.Fatalf("%d samples were clipped and %d were not: the test shows too little", clipped, free)
	}
}

// crossesClip reports whether a limit of the clip lies between two scores.
func crossesClip(e *picks.Evaluator, s *sample, up, down []float32) bool {
	a := math.Exp(e.Forward(s.round, up, nil).LogProb - s.logProb)
	b := math.Exp(e.Forward(s.round, down, nil).LogProb - s.logProb)
	for _, limit := range []float64{0.8, 1.2} {
		if (a-limit)*(b-limit) <= 0 {
			return true
		}
	}
	return false
}

// Beyond the clip, in the direction that the advantage rewards, the policy's
// derivative is exactly zero: the other terms are turned off.
func TestClippedRatioHasNoDerivative(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	var e picks.Evaluator
	for _, c := range []struct{ advantage, logRatio float64 }{{1, 0.5}, {-1, -0.5}} {
		s, scores, d := randomSample(t, r), make([]float32, 5), make([]float32, 5)
		s.advantage = c.advantage
		s.logProb = e.Forward(s.round, scores, nil).LogProb - c.logRatio
		lossWeights{clip: 0.2}.round(&e, s, scores, 0, 1, d)
		for i, x := range d {
			if x != 0 {
				t.Errorf("advantage %v, log ratio %v: row %d has derivative %v, want 0", c.advantage, c.logRatio, i, x)
			}
		}
	}
}
