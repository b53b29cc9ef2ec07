package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// whole turns the answer of a sum program into an allocation of whole jobs. A
// basic answer has at most one fractional job per GPU type, so that dropping
// those loses at most the value of that many jobs. What they leave goes to waiting
// jobs in the order of value less the price of the GPUs, v[j,s] − λ·u[j,s]: 0 or
// more for the fractional ones, and below 0 by what each other candidate misses.
// Then jobs that run may grow.
func whole(p *program, r *simplex.Result) env.Allocation {
	f := newFill(p)
	j := 0
	for _, s := range r.Shares {
		for p.problem.Offsets[j+1] <= s.Candidate {
			j++
		}
		if s.Weight >= 1-1e-9 {
			f.give(j, int(s.Candidate))
		}
	}
	f.rest(func(j, i int) float64 { return p.worth[i] - p.costOf(i, r.Prices) })
	return f.given
}
