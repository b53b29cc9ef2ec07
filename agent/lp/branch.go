package lp

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// branching is a depth-first branch and bound for the whole answers of a Sum
// program. A node fixes some candidates to run and forbids others; its relaxation
// bounds every whole answer below it.
type branching struct {
	r       *run
	p       *program
	best    env.Allocation
	value   float64 // of best
	open    []node
	dropped float64 // highest bound of a node that was not searched
	nodes   int
}

// node is a choice of candidates, and a bound of all answers with it.
type node struct {
	forced    []int32 // candidates that run
	forbidden []int32 // candidates that do not
	bound     float64
	warm      *simplex.Result
}

func newBranching(r *run, p *program) *branching {
	return &branching{r: r, p: p, value: math.Inf(-1), dropped: math.Inf(-1)}
}

// tight is the relative gap at which a whole answer counts as the best.
const tight = 1e-9

// offer takes a, which is valid, if it is worth more than the best so far.
func (b *branching) offer(a env.Allocation) {
	value := 0.0
	for j, k := range a {
		if k != env.Idle {
			value += b.p.problem.Rate[b.p.candidateOf(j, k)]
		}
	}
	if value > b.value {
		b.best, b.value = a, value
	}
}

// candidateOf returns the candidate of job j's strategy k, which is one.
func (p *program) candidateOf(j, k int) int {
	first, last := p.candidates(j)
	n, _ := slices.BinarySearch(p.strategy[first:last], int32(k))
	return first + n
}

func (b *branching) search(root *simplex.Result) error {
	b.split(node{bound: root.Bound, warm: root}, root)
	for len(b.open) > 0 {
		n := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		if n.bound <= b.value*(1+tight) {
			continue
		}
		if b.nodes++; b.nodes > b.r.config.Nodes {
			b.dropped = max(b.dropped, n.bound)
			continue
		}
		if err := b.visit(n); err != nil {
			return err
		}
	}
	return nil
}

// visit solves the relaxation of n and branches where it is not whole.
func (b *branching) visit(n node) error {
	q, base, ok := b.restricted(n)
	if !ok {
		return nil // what is forced does not fit
	}
	result, err := b.r.solve(q, n.warm)
	if err != nil {
		return err
	}
	if result == nil { // the budget is spent
		b.dropped = max(b.dropped, n.bound)
		return nil
	}
	n.bound, n.warm = min(n.bound, base+result.Bound), result
	if n.bound <= b.value*(1+tight) {
		return nil
	}
	b.split(n, result)
	return nil
}

// split branches on the share that is furthest from whole: the job runs its
// candidate, or it does not. Answers without such a share are whole.
func (b *branching) split(n node, r *simplex.Result) {
	odd, most := int32(-1), 0.0 // candidate of that share
	for _, s := range r.Shares {
		if off := min(s.Weight, 1-s.Weight); off > most && off > 1e-7 {
			odd, most = s.Candidate, off
		}
	}
	b.offer(b.round(n, r))
	if odd < 0 {
		if n.bound > b.value*(1+tight) { // whole but for the solver's own gap
			b.dropped = max(b.dropped, n.bound)
		}
		return
	}
	without := n
	without.forbidden = append(slices.Clone(n.forbidden), odd)
	with := n
	with.forced = append(slices.Clone(n.forced), odd)
	b.open = append(b.open, without, with) // the last is searched first
}

// round makes whole jobs of a relaxation under what n forces.
func (b *branching) round(n node, r *simplex.Result) env.Allocation {
	f := newFill(b.p)
	for _, i := range n.forced {
		f.give(b.jobOf(i), int(i))
	}
	for _, s := range r.Shares {
		if s.Weight >= 1-1e-9 {
			f.give(b.jobOf(s.Candidate), int(s.Candidate))
		}
	}
	f.rest(func(_, i int) float64 { return b.p.worth[i] - b.p.costOf(i, r.Prices) })
	return f.given
}

func (b *branching) jobOf(i int32) int {
	n, found := slices.BinarySearch(b.p.problem.Offsets, i)
	if !found {
		n--
	}
	for b.p.problem.Offsets[n+1] <= i { // jobs without candidates share an offset
		n++
	}
	return n
}

// restricted returns the program of n without what it forces, and what that is
// worth. It reports false if that exceeds the capacity.
func (b *branching) restricted(n node) (*program, float64, bool) {
	q := &program{state: b.p.state, capacity: b.p.capacity, quotas: b.p.quotas, problem: b.p.problem}
	s := &q.problem
	s.Rate, s.Capacity = slices.Clone(s.Rate), slices.Clone(s.Capacity)
	base := 0.0
	for _, i := range n.forced {
		base += b.p.problem.Rate[i]
		for _, t := range s.Usages[s.Usage[i]] {
			s.Capacity[t.Resource] -= t.Amount
			if s.Capacity[t.Resource] < 0 {
				return nil, 0, false
			}
		}
		first, last := b.p.candidates(b.jobOf(i))
		clear(s.Rate[first:last]) // the job has what it runs
	}
	for _, i := range n.forbidden {
		s.Rate[i] = 0
	}
	// Candidates larger than what is left can run in part in the relaxation, not
	// in a whole answer.
	for i, u := range s.Usage {
		for _, t := range s.Usages[u] {
			if t.Amount > s.Capacity[t.Resource] {
				s.Rate[i] = 0
			}
		}
	}
	return q, base, true
}

// result returns the best answer found with the best bound that is left.
func (b *branching) result(root *simplex.Result) *simplex.Result {
	r := &simplex.Result{
		Prices: root.Prices, Objective: b.value, Status: simplex.Stopped,
		Bound: min(root.Bound, max(b.value, b.dropped)),
	}
	for j, k := range b.best {
		if k != env.Idle {
			r.Shares = append(r.Shares, simplex.Share{Candidate: int32(b.p.candidateOf(j, k)), Weight: 1})
		}
	}
	if r.Bound > 0 {
		r.Gap = max(0, r.Bound-r.Objective) / r.Bound
	}
	if r.Gap <= tight {
		r.Status = simplex.Optimal
	}
	return r
}
