package lp

import (
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// maxPasses bounds how often candidates are priced in; it has taken 1 to 4 passes.
const maxPasses = 12

// lazily solves a program with few candidates per job, then prices the others and
// adds those that would improve the answer, until there are none: the answer is
// that of all candidates, and its bound is computed over all of them. Candidates
// that another of the same job dominates never come in. It is for jobs with many
// strategies, of which an answer uses one or two.
func lazily(build func(*env.State, *Config) *program) func(*run) (*program, *simplex.Result, error) {
	return func(r *run) (*program, *simplex.Result, error) {
		p := build(r.state, r.config)
		pool := newPool(p, r.config.Columns)
		if pool.complete() {
			result, err := r.solve(p, nil)
			return p, result, err
		}
		var best, warm *simplex.Result
		for range maxPasses {
			part := pool.program()
			result, err := r.solve(part, warm)
			if err != nil {
				return nil, nil, err
			}
			if result == nil {
				break
			}
			warm = result
			best = &simplex.Result{
				Shares: pool.original(result.Shares), Prices: result.Prices, JobPrices: result.JobPrices,
				Pivots: result.Pivots,
			}
			if err := simplex.Certify(&p.problem, best, 0); err != nil {
				return nil, nil, err
			}
			if best.Status == simplex.Optimal || !pool.priceIn(best) {
				break
			}
		}
		r.stages = append(r.stages, Stage{Problem: &p.problem, Result: best})
		return p, best, nil
	}
}

// pool is a program and the candidates of it that are in use.
type pool struct {
	p         *program
	in        []bool // [M]
	dominated []bool // [M]
	index     []int32
}

// newPool starts with the columns candidates of each job that yield most per GPU,
// and with its best.
func newPool(p *program, columns int) *pool {
	m := len(p.strategy)
	w := &pool{p: p, in: make([]bool, m), dominated: make([]bool, m)}
	var order []int
	for j := range p.state.Jobs {
		first, last := p.candidates(j)
		order = order[:0]
		best := first
		for i := first; i < last; i++ {
			if w.dominated[i] = p.dominates(j, i); !w.dominated[i] {
				order = append(order, i)
			}
			if p.problem.Rate[i] > p.problem.Rate[best] {
				best = i
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			x := p.problem.Rate[a] / p.strategyOf(j, a).Held()
			y := p.problem.Rate[b] / p.strategyOf(j, b).Held()
			switch {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		for _, i := range order[:min(columns, len(order))] {
			w.in[i] = true
		}
		if first < last {
			w.in[best] = true
		}
	}
	return w
}

// dominates reports whether another candidate of job j is at least as good as i in
// everything: the same GPU type, no more GPUs, no less rate; the first of equals
// counts.
func (p *program) dominates(j, i int) bool {
	first, last := p.candidates(j)
	a := p.strategyOf(j, i)
	for n := first; n < last; n++ {
		b := p.strategyOf(j, n)
		if n == i || b.Type != a.Type || b.Parts() > a.Parts() || p.problem.Rate[n] < p.problem.Rate[i] {
			continue
		}
		if b.Parts() < a.Parts() || p.problem.Rate[n] > p.problem.Rate[i] || n < i {
			return true
		}
	}
	return false
}

// complete reports whether all that could matter is in.
func (w *pool) complete() bool {
	for i, in := range w.in {
		if !in && !w.dominated[i] {
			return false
		}
	}
	return true
}

// program returns the program of the candidates in use.
func (w *pool) program() *program {
	p := &program{state: w.p.state, capacity: w.p.capacity, quotas: w.p.quotas, problem: w.p.problem}
	q := &p.problem
	q.Offsets, q.Rate, q.Usage = make([]int32, 1, len(q.Offsets)), nil, nil
	w.index = w.index[:0]
	for j := range w.p.state.Jobs {
		first, last := w.p.candidates(j)
		for i := first; i < last; i++ {
			if w.in[i] {
				w.index = append(w.index, int32(i))
				q.Rate = append(q.Rate, w.p.problem.Rate[i])
				q.Usage = append(q.Usage, w.p.problem.Usage[i])
			}
		}
		q.Offsets = append(q.Offsets, int32(len(w.index)))
	}
	return p
}

// original returns shares of the last program's candidates as those of all.
func (w *pool) original(shares []simplex.Share) []simplex.Share {
	out := make([]simplex.Share, len(shares))
	for n, s := range shares {
		out[n] = simplex.Share{Candidate: w.index[s.Candidate], Weight: s.Weight}
	}
	return out
}

// priceIn takes in the candidates that gain, at the prices of r, more than the
// best of their job in use. It reports whether there are any.
func (w *pool) priceIn(r *simplex.Result) bool {
	q := &w.p.problem
	cost := make([]float64, len(q.Usages))
	for n, u := range q.Usages {
		for _, t := range u {
			cost[n] += float64(r.Prices[t.Resource] * t.Amount)
		}
	}
	added := false
	for j := range w.p.state.Jobs {
		worth := 1.0
		if q.Objective == simplex.MaxMin {
			worth = r.JobPrices[j]
		}
		gain := 0.0
		first, last := w.p.candidates(j)
		for i := first; i < last; i++ {
			if w.in[i] {
				gain = max(gain, worth*q.Rate[i]-cost[q.Usage[i]])
			}
		}
		for i := first; i < last; i++ {
			value := worth * q.Rate[i]
			if !w.in[i] && !w.dominated[i] && value-cost[q.Usage[i]] > gain+1e-9*value {
				w.in[i], added = true, true
			}
		}
	}
	return added
}
