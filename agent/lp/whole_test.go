package lp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// bestWhole returns the highest worth of any allocation of whole jobs, by trying
// all from job j on.
func bestWhole(p *program, free []int, j int) float64 {
	if j == len(p.state.Jobs) {
		return 0
	}
	best := bestWhole(p, free, j+1)
	first, last := p.candidates(j)
	for i := first; i < last; i++ {
		if st := p.strategyOf(j, i); st.GPUs <= free[st.Type] {
			free[st.Type] -= st.GPUs
			best = max(best, p.worth[i]+bestWhole(p, free, j+1))
			free[st.Type] += st.GPUs
		}
	}
	return best
}

// worthOf returns the worth of an allocation.
func worthOf(p *program, a env.Allocation) float64 {
	f := &fill{p: p}
	total := 0.0
	for j, k := range a {
		if k != env.Idle {
			total += f.worthOf(j, k)
		}
	}
	return total
}

// Rounding loses at most what the fractional jobs, one per GPU type at most, are
// worth: fractional >= best whole >= rounded >= fractional − Σ of those.
func TestWhole(t *testing.T) {
	r := rng.New(1, "whole")
	rounded, best := 0.0, 0.0
	for range 300 {
		s := agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(5)})
		for _, build := range []func(*env.State, *Config) *program{throughputProgram, srptProgram} {
			c := Config{Horizon: 3}
			p := build(s, &c)
			result, err := simplex.Solve(t.Context(), &p.problem, simplex.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, want := worthOf(p, whole(p, result)), bestWhole(p, s.Cluster.Capacity(), 0)
			lost, fractional := fractionalWorth(p, result.Shares)
			if fractional > len(s.Cluster.Types) {
				t.Errorf("%d fractional jobs on %d types", fractional, len(s.Cluster.Types))
			}
			slack := 1e-8 * (1 + result.Bound)
			if got > want+slack || want > result.Bound+slack || got < result.Objective-lost-slack {
				t.Errorf("rounded %v, best %v, fractional %v, of which %v in fractional jobs", got, want, result.Objective, lost)
			}
			if want > 0 {
				rounded, best = rounded+got/want, best+1
			}
		}
	}
	if mean := rounded / best; mean < 0.97 {
		t.Errorf("rounded answers are worth %.3f of the best on average, want 0.97", mean)
	}
}

// fractionalWorth returns what the jobs that are not whole contribute, and their
// number.
func fractionalWorth(p *program, shares []simplex.Share) (worth float64, jobs int) {
	for j := range p.state.Jobs {
		sum, total, most := 0.0, 0.0, 0.0
		for len(shares) > 0 && shares[0].Candidate < p.problem.Offsets[j+1] {
			sum += shares[0].Weight * p.worth[shares[0].Candidate]
			total += shares[0].Weight
			most = max(most, shares[0].Weight)
			shares = shares[1:]
		}
		if total > 1e-9 && math.Abs(most-1) > 1e-6 {
			worth, jobs = worth+sum, jobs+1
		}
	}
	return worth, jobs
}
