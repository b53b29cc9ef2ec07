package ppo

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/train/rollout"
)

// GAE writes the generalized advantage estimates of one episode of T rounds to
// dst (Schulman et al., ICLR 2016, eq. 16), with a discount per round:
//
//	δ[t] = r[t] + γ[t]·v[t+1] − v[t]
//	Â[t] = δ[t] + γ[t]·λ·Â[t+1]
//
// r, gamma and dst have shape [T]; v has shape [T+1] and ends with the value of
// the final state: 0 where the episode terminated, the critic's value where it
// was only cut off.
func GAE(dst, r, v, gamma []float64, lambda float64) {
	next := 0.0
	for t := len(r) - 1; t >= 0; t-- {
		next = r[t] + gamma[t]*v[t+1] - v[t] + gamma[t]*lambda*next
		dst[t] = next
	}
}

// discounts returns exp(−Δt/horizon) of every round of e.
func discounts(e *rollout.Episode, horizon time.Duration) []float64 {
	gamma := make([]float64, len(e.Rounds))
	for t := range e.Rounds {
		gamma[t] = math.Exp(-e.Rounds[t].Elapsed.Seconds() / horizon.Seconds())
	}
	return gamma
}

// rewards returns the rewards of e times scale.
func rewards(e *rollout.Episode, scale float64) []float64 {
	r := make([]float64, len(e.Rounds))
	for t := range r {
		r[t] = e.Rounds[t].Reward * scale
	}
	return r
}

// values returns the critic's values of e, shape [T+1].
func values(e *rollout.Episode) []float64 {
	v := make([]float64, len(e.Rounds)+1)
	for t := range e.Rounds {
		v[t] = e.Rounds[t].Value
	}
	v[len(e.Rounds)] = e.Bootstrap
	return v
}

// returns writes the discounted returns-to-go, shape [T+1], ending with the
// value of the final state: GAE with λ = 1 and no baseline.
func returns(r, gamma []float64, final float64) []float64 {
	g := make([]float64, len(r)+1)
	g[len(r)] = final
	for t := len(r) - 1; t >= 0; t-- {
		g[t] = r[t] + gamma[t]*g[t+1]
	}
	return g
}
