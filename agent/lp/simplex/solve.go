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
	return new(Solver).solve(ctx, p, o)
}

// complete fills in what follows from shares and prices, as Check computes it, and
// reports what Check would.
func complete(p *Problem, r *Result, gap float64) error {
	if err := checkPrices(p, r); err != nil {
		return err
	}
	if !r.Status.Feasible() {
		return check(p, r, gap)
	}
	if err := checkShares(p, r.Shares); err != nil {
		return err
	}
	finish(p, r, gap)
	if math.IsNaN(r.Bound) || math.IsNaN(r.Objective) {
		return fmt.Errorf("%w: objective %v, bound %v", ErrCheck, r.Objective, r.Bound)
	}
	return checkStatus(r, gap)
}

// finish fills in what follows from shares and prices.
func finish(p *Problem, r *Result, gap float64) {
	if r.Status == Infeasible || r.Status == Unknown {
		return
	}
	r.Objective = objective(p, r.Shares)
	r.Bound = bound(p, r.Prices, r.JobPrices)
	r.Gap = relativeGap(p, r)
	r.Status = Stopped
	if r.Gap <= gap {
		r.Status = Optimal
	}
}

// solver is one call of Solve.
type solver struct {
	p       *Problem
	full    *instance // every job
	in      *instance // identical ones merged
	class   []int32   // [full.n] job of in, nil if that is full
	keys    []column  // [in.n]
	guess   []column  // keys of the last problem, candidates counted from the job's first
	caps    []float64
	ceiling float64 // of MaxMin
	list    []Share // memory of weights
	found   []Share // weights of the first phase, or nil
	copies  bool    // most jobs are near-copies
	poor    bool    // of so few kinds that they do not say what each resource is worth
	shift   float64 // by how much, relatively, the guess of prices may be off then
	budget  budget
}

func (s *solver) solve(warm *Result) *Result {
	if s.in.n == 0 {
		r := s.trivial()
		if s.p.wide() {
			if proof := s.hopeless(); proof != nil {
				return proof
			}
		}
		return r
	}
	jobs := make([]int32, s.in.n)
	s.keys = make([]column, s.in.n)
	for j := range jobs {
		jobs[j] = int32(j)
		s.keys[j] = s.firstKey(int32(j))
	}
	switch {
	case s.p.Objective == Total:
		e := s.solveTotal(jobs, s.warmPrices(warm), warmWidth)
		if s.budget.over {
			return s.stoppedTotal(e)
		}
		e.unperturb()
		return s.result(e, nil)
	case s.p.wide():
		return s.solveWide(jobs, s.warmPrices(warm))
	case s.p.Objective == Sum:
		e := s.solveSum(jobs, s.warmPrices(warm), warmWidth)
		if !s.budget.over {
			e.unperturb()
			return s.result(e, nil)
		}
		return s.patched(e)
	}
	return s.solveLevels(jobs, warm)
}

// firstKey returns a key of job j for a start: the one that the job of this number
// had last time, which is often the same job, else its fastest candidate.
func (s *solver) firstKey(j int32) column {
	first, n := s.in.start[j], s.in.start[j+1]-s.in.start[j]
	if int(j) >= len(s.guess) || s.p.Objective != MaxMin {
		return pure(j, s.in.fastest[j])
	}
	key := s.guess[j]
	if key.hi == none || key.hi >= n || key.lo >= n {
		return pure(j, s.in.fastest[j])
	}
	key.hi += first
	if key.lo != none {
		key.lo += first
	}
	return key
}

// relativeKeys returns the keys, which end with this, with candidates counted from
// their job's first.
func (s *solver) relativeKeys() []column {
	for j := range s.keys {
		key, first := &s.keys[j], s.in.start[j]
		if key.lo != none {
			key.lo -= first
		}
		if key.hi != none {
			key.hi -= first
		}
	}
	return s.keys
}

// solveLevels solves MaxMin.
func (s *solver) solveLevels(jobs []int32, warm *Result) *Result {
	ceiling := maxNumber * maxNumber
	for j := range s.in.n {
		if ceiling = min(ceiling, s.in.ceiling(int32(j))); ceiling < 0 {
			break
		}
	}
	if ceiling < 0 {
		if r := s.unreachable(); r != nil {
			return r
		}
		ceiling = 0
	}
	if ceiling == maxNumber*maxNumber {
		ceiling = 0 // nobody is to be lifted
	}
	g := guess{prices: s.warmPrices(warm), width: warmWidth}
	if g.prices != nil {
		g.level = max(0, warm.Objective)
	}
	s.ceiling = ceiling
	e, m := s.solveMaxMin(jobs, g, ceiling)
	switch {
	case m.hopeless:
	case s.budget.over:
		return s.patchedLevels(e, m)
	default:
		return s.result(e, m)
	}
	r := s.trivial()
	r.Status = Infeasible
	e.setPrices(m.proof)
	e.normalize()
	r.Prices, r.JobPrices = s.levelPrices(e, m)
	return r
}

// unreachable returns the proof that a job cannot have its base, or nil.
func (s *solver) unreachable() *Result {
	for j := range s.full.n {
		if s.full.demand == nil || s.full.ceiling(int32(j)) >= -feasibility*s.full.demand[j].base {
			continue
		}
		r := s.trivial()
		r.JobPrices = make([]float64, s.p.Jobs())
		r.JobPrices[s.full.job[j]] = 1
		r.Status = Infeasible
		return r
	}
	return nil
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

// trivial is the answer that always is one where no job needs anything: nobody
// runs, and each job is bounded by what it would get alone. In Total, where
// everybody has to run, all run their fastest candidate as much as there is room.
func (s *solver) trivial() *Result {
	r := &Result{Prices: make([]float64, len(s.p.Capacity)), Pivots: s.budget.pivots}
	if s.p.pricesJobs() {
		r.JobPrices = make([]float64, s.p.Jobs())
	}
	if s.p.Objective == MaxMin {
		r.JobPrices = s.ceilingPrices()
	}
	if s.p.Objective != Total {
		return r
	}
	x := make([]float64, len(s.full.rate))
	for j, i := range s.full.fastest {
		x[i] = 1
		rate := s.full.rate[i]
		if price := s.full.demand[j].weight / (rate * rate); price <= maxNumber*maxNumber {
			r.JobPrices[s.full.job[j]] = price
		}
	}
	r.Shares = s.sharesOf(sparse(x))
	return r
}

// fallback is the answer where the method's own, r, does not stand its check: that
// of the first phase, with r's prices, else the trivial one, if that is one.
func (s *solver) fallback(r *Result) *Result {
	if !s.demanding() {
		return s.trivial()
	}
	if s.found != nil && r.Status != Infeasible {
		r.Shares, r.Status = s.sharesOf(s.found), Stopped
		if complete(s.p, r, 0) == nil {
			return r
		}
	}
	u := s.trivial()
	u.Shares, u.Status = nil, Unknown
	return u
}

// ceilingPrices returns the job prices that prove the ceiling: only the slowest
// job counts.
func (s *solver) ceilingPrices() []float64 {
	prices := make([]float64, s.p.Jobs())
	slowest := none
	for j := range s.full.n {
		if s.full.demand != nil && !s.full.demand[j].lifted {
			continue
		}
		if slowest == none || s.full.ceiling(int32(j)) < s.full.ceiling(int32(slowest)) {
			slowest = j
		}
	}
	if slowest != none {
		j := s.full.job[slowest]
		prices[j] = 1 / s.p.Target[j]
	}
	return prices
}
