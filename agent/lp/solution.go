package lp

import (
	"context"
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Share is the part of its time that a job spends on one strategy.
type Share struct {
	Job      int // index into State.Jobs
	Strategy int // index into the job's Strategies
	Weight   float64
}

// Solution is an allocation and the answer of the program it was made from. The
// caller owns it.
type Solution struct {
	Allocation env.Allocation
	Shares     []Share // the fractional answer without its zeros, by job and strategy
	Status     simplex.Status
	// Objective is that of the fractional answer, Bound a proven bound of it from
	// above, in minimisation from below, Gap their relative difference. Of a
	// policy with several programs they are those of the last.
	Objective, Bound, Gap float64
	// Prices say by how much Objective would rise with one more GPU of each
	// type, shape [len(Cluster.Types)].
	Prices []float64
	Pivots int
}

// Solve solves the program of s and makes an allocation of whole jobs of the
// answer. When ctx ends during the search, the result is that of the best
// fractional answer so far: feasible, valid, and Gap says how good it is. The
// error is ctx's only if ctx has ended before. A state that is valid never gives
// any other.
func (p *Policy) Solve(ctx context.Context, s *env.State) (Solution, error) {
	a, err := p.answer(ctx, s)
	if err != nil {
		return Solution{}, err
	}
	return a.solution(), nil
}

func (a *answer) solution() Solution {
	r := a.result
	return Solution{
		Allocation: a.allocation,
		Shares:     a.program.shares(r.Shares),
		Status:     r.Status,
		Objective:  r.Objective, Bound: r.Bound, Gap: r.Gap,
		Prices: slices.Clone(r.Prices[:len(a.program.capacity)]), // a Session goes on from r
		Pivots: r.Pivots,
	}
}

// shares names the jobs and strategies of candidates.
func (p *program) shares(list []simplex.Share) []Share {
	out := make([]Share, len(list))
	j := 0
	for i, s := range list {
		for p.problem.Offsets[j+1] <= s.Candidate {
			j++
		}
		out[i] = Share{j, int(p.strategy[s.Candidate]), s.Weight}
	}
	return out
}
