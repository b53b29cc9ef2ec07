package simplex

import "context"

// Solver solves a sequence of similar problems, each from where the last one
// ended, and keeps its memory between them. Its zero value is ready to use; it is
// not safe for concurrent use. What it returns is, for a problem after another, as
// good as what Solve returns, but another of several best answers may come out:
// where the same input has to give the same output, use Solve.
type Solver struct {
	last *Result
}

// Solve is the function of this name, started from the last answer where o.Warm is
// nil and the resources are the same in number.
func (s *Solver) Solve(ctx context.Context, p *Problem, o Options) (*Result, error) {
	if o.Warm == nil && s.last != nil && len(s.last.Prices) == len(p.Capacity) {
		o.Warm = s.last
	}
	r, err := Solve(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if r.Status.Feasible() {
		s.last = r
	}
	return r, nil
}

// Reset forgets the last answer.
func (s *Solver) Reset() { s.last = nil }
