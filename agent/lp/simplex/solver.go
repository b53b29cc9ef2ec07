package simplex

import (
	"context"
	"fmt"
)

// Solver solves a sequence of similar problems, each from where the last one
// ended, and keeps its memory between them. Its zero value is ready to use; it is
// not safe for concurrent use. What it returns is, for a problem after another, as
// good as what Solve returns, but another of several best answers may come out:
// where the same input has to give the same output, use Solve.
type Solver struct {
	last *Result
	full instance // memory of the last problem's
	list []Share  // memory of its weights
	keys []column // its keys, candidates counted from the job's first
}

// Solve is the function of this name, started from the last answer where o.Warm is
// nil and the resources are the same in number.
func (s *Solver) Solve(ctx context.Context, p *Problem, o Options) (*Result, error) {
	if o.Warm == nil && s.last != nil && len(s.last.Prices) == len(p.Capacity) {
		o.Warm = s.last
	}
	r, err := s.solve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if r.Status.Feasible() {
		s.last = r
	}
	return r, nil
}

func (s *Solver) solve(ctx context.Context, p *Problem, o Options) (*Result, error) {
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
	s.full.read(p)
	one := &solver{p: p, full: &s.full, list: s.list, budget: budget{ctx: ctx, limit: o.MaxPivots, interrupt: o.Interrupt}}
	one.in, one.class = one.full.merge()
	if o.Warm != nil {
		one.guess = s.keys
	}
	r := one.solve(o.Warm)
	s.list, s.keys = one.list, one.relativeKeys()
	r.Pivots = one.budget.pivots
	if complete(p, r, o.Gap) != nil {
		// Numbers so far apart that float64 cannot hold the products, or a budget
		// that ended before every job had what it needs.
		r = one.fallback(r)
		if err := complete(p, r, o.Gap); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Reset forgets the last answer.
func (s *Solver) Reset() { s.last = nil }
