package ppo

import (
	"math"

	"github.com/yardmaster/yardmaster/train/picks"
)

// sample is one recorded round with its targets.
type sample struct {
	round     *picks.Sequence
	logProb   float64   // of the policy that played
	advantage float64   // normalised
	target    float64   // for the critic
	value     float64   // the critic's at the time of playing
	reference []float32 // scores of the policy on the leash, or empty
}

// weights of the terms of the loss.
type lossWeights struct {
	clip      float64 // ε
	entropy   float64
	leash     float64
	value     float64
	clipValue bool // the clipped value loss
	reinforce bool // no ratio
}

// terms of the loss of one round.
type terms struct {
	policy, entropy, leash, value float64
	ratio, kl                     float64 // kl: estimator k3, (r − 1) − log r (Schulman, 2020)
	clipped                       bool
}

// loss is what is minimised, per round.
func (w lossWeights) loss(t terms) float64 {
	return t.policy - w.entropy*t.entropy + w.leash*t.leash + w.value*t.value
}

// maxLogRatio keeps exp from overflowing; far beyond any clipping.
const maxLogRatio = 20

// round evaluates the loss of s under scores and value, writes scale times its
// derivative with respect to the scores to dScores and returns that with respect
// to the value:
//
//	policy  = −min(r·Â, clip(r, 1−ε, 1+ε)·Â),  r = π(picks) / π_old(picks),
//	          or with reinforce −Â·log π(picks)
//	entropy = mean over the picks of the entropy of their distribution
//	leash   = mean over the picks of KL(π ‖ reference)
//	value   = (v − target)² / 2, or with clipValue the larger of it and of
//	          (clip(v, v_old−ε, v_old+ε) − target)² / 2
func (w lossWeights) round(e *picks.Evaluator, s *sample, scores []float32, value float32, scale float64, dScores []float32) (t terms, dValue float32) {
	now := e.Forward(s.round, scores, s.reference)
	logRatio := min(max(now.LogProb-s.logProb, -maxLogRatio), maxLogRatio)
	t.ratio = math.Exp(logRatio)
	t.kl = t.ratio - 1 - logRatio
	bounded := min(max(t.ratio, 1-w.clip), 1+w.clip)
	t.clipped = bounded != t.ratio
	t.policy = -min(t.ratio*s.advantage, bounded*s.advantage)
	dLogProb := 0.0
	if t.ratio*s.advantage <= bounded*s.advantage && math.Abs(logRatio) < maxLogRatio {
		dLogProb = -t.ratio * s.advantage
	}
	if w.reinforce {
		t.policy, dLogProb, t.clipped = -s.advantage*now.LogProb, -s.advantage, false
	}
	n := float64(len(s.round.Actions))
	t.entropy, t.leash = now.Entropy/n, now.KL/n
	miss := float64(value) - s.target
	t.value = miss * miss / 2
	if near := min(max(float64(value), s.value-w.clip), s.value+w.clip) - s.target; w.clipValue && near*near > miss*miss {
		t.value, miss = near*near/2, 0
	}
	e.Backward(dScores, picks.Coefficients{LogProb: scale * dLogProb, Entropy: -scale * w.entropy / n, KL: scale * w.leash / n})
	return t, float32(scale * w.value * miss)
}
