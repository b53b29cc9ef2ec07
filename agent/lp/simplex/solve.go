package simplex

import (
	"context"
	"fmt"
	"math"
)

// Solve returns the answer to p, which passes Check. It is Stopped instead of
// Optimal where ctx ended or the budget ran out during the search: feasible all
// the same. The error is ctx's if ctx has ended before the search, or wraps
// ErrProblem.
func Solve(ctx context.Context, p *Problem, o Options) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("simplex: solve: %w", err)
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	o.fillDefaults(p)
	if err := o.validate(p); err != nil {
		return nil, err
	}
	s := &solver{p: p, full: newInstance(p), budget: budget{ctx: ctx, limit: o.MaxPivots}}
	s.in, s.class = s.full.merge()
	r := s.solve(o.Warm)
	r.Pivots = s.budget.pivots
	finish(p, r, o.Gap)
	if check(p, r, o.Gap) != nil {
		// Numbers so far apart that float64 cannot hold the products.
		r = s.trivial()
		finish(p, r, o.Gap)
	}
	if err := check(p, r, o.Gap); err != nil {
		return nil, err
	}
	return r, nil
}

// finish fills in what follows from shares and prices.
func finish(p *Problem, r *Result, gap float64) {
	r.Objective = objective(p, r.Shares)
	r.Bound = bound(p, r.Prices, r.JobPrices)
	r.Gap = relativeGap(r.Objective, r.Bound)
	r.Status = Stopped
	if r.Gap <= gap {
		r.Status = Optimal
	}
}

// solver is one call of Solve.
type solver struct {
	p      *Problem
	full   *instance // every job
	in     *instance // identical ones merged
	class  []int32   // [full.n] job of in, nil if that is full
	keys   []column  // [in.n]
	caps   []float64
	budget budget
}

func (s *solver) solve(warm *Result) *Result {
	if s.in.n == 0 {
		return s.trivial()
	}
	jobs := make([]int32, s.in.n)
	s.keys = make([]column, s.in.n)
	for j := range jobs {
		jobs[j] = int32(j)
		s.keys[j] = pure(int32(j), s.in.fastest[j])
	}
	if s.p.Objective == Sum {
		e := s.solveSum(jobs, s.warmPrices(warm), warmWidth)
		if !s.budget.over {
			e.unperturb()
		}
		return s.result(e, nil)
	}
	ceiling := math.Inf(1)
	for _, i := range s.in.fastest {
		ceiling = min(ceiling, s.in.rate[i])
	}
	g := guess{prices: s.warmPrices(warm), width: warmWidth}
	if g.prices != nil {
		g.level = 1.02 * warm.Objective
	}
	return s.result(s.solveMaxMin(jobs, g, ceiling))
}

// warmPrices returns the prices of an earlier answer in the instance's units,
// nil if there are none that say anything.
func (s *solver) warmPrices(warm *Result) []float64 {
	if warm == nil {
		return nil
	}
	prices := make([]float64, s.in.k)
	any := false
	for k, resource := range s.in.resource {
		prices[k] = warm.Prices[resource] * s.in.unit[k]
		any = any || prices[k] > 0
	}
	if !any || !sanitize(prices) {
		return nil
	}
	return prices
}

// trivial is the answer that always is one: nobody runs, and each job is bounded
// by what it would get alone.
func (s *solver) trivial() *Result {
	r := &Result{Prices: make([]float64, len(s.p.Capacity)), Pivots: s.budget.pivots}
	if s.p.Objective == MaxMin {
		r.JobPrices = s.ceilingPrices()
	}
	return r
}

// ceilingPrices returns the job prices that prove the ceiling: only the slowest
// job counts.
func (s *solver) ceilingPrices() []float64 {
	prices := make([]float64, s.p.Jobs())
	slowest := none
	for j, i := range s.full.fastest {
		if slowest == none || s.full.rate[i] < s.full.rate[s.full.fastest[slowest]] {
			slowest = j
		}
	}
	if slowest != none {
		j := s.full.job[slowest]
		prices[j] = 1 / s.p.Target[j]
	}
	return prices
}
