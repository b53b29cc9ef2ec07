package lp

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// fill is an allocation of whole jobs in the making.
type fill struct {
	p      *program
	budget *env.Budget
	given  env.Allocation
}

func newFill(p *program) *fill {
	return &fill{p, env.NewBudget(p.state), env.NewAllocation(len(p.state.Jobs))}
}

// give runs job j in its candidate i if the GPUs are there and j has none yet,
// and reports whether it did.
func (f *fill) give(j, i int) bool {
	job, st := &f.p.state.Jobs[j], f.p.strategyOf(j, i)
	if f.given[j] != env.Idle || !f.budget.Fits(job, st) {
		return false
	}
	f.budget.Take(job, st)
	f.given[j] = int(f.p.strategy[i])
	return true
}

// choice is a candidate and how much it is wanted.
type choice struct {
	key       float64
	id        int64 // of the job: breaks ties, then the order of strategies
	job       int32
	candidate int32
}

// sortChoices puts the most wanted first.
func sortChoices(list []choice) {
	slices.SortFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(a.id, b.id), cmp.Compare(a.candidate, b.candidate))
	})
}

// waiting gives the GPUs that are left to jobs without any, most wanted
// candidate first by key. After it no waiting job could run in what is left.
func (f *fill) waiting(key func(j, i int) float64) {
	var list []choice
	for j := range f.given {
		if f.given[j] != env.Idle {
			continue
		}
		first, last := f.p.candidates(j)
		for i := first; i < last; i++ {
			if f.budget.Fits(&f.p.state.Jobs[j], f.p.strategyOf(j, i)) {
				list = append(list, choice{key(j, i), f.p.state.Jobs[j].ID, int32(j), int32(i)})
			}
		}
	}
	sortChoices(list)
	for _, c := range list {
		f.give(int(c.job), int(c.candidate))
	}
}

// grow moves jobs to candidates that are worth more, where the GPUs that are
// left allow it, largest gain first; each job once, and none to a slower one if it
// needs a rate. It may leave GPUs of the types that jobs came from.
func (f *fill) grow() {
	var list []choice
	for j, k := range f.given {
		if k == env.Idle {
			continue
		}
		worth := f.worthOf(j, k)
		first, last := f.p.candidates(j)
		for i := first; i < last; i++ {
			if f.p.worth[i] > worth && !f.tooSlow(j, i) && f.canMove(j, i) {
				list = append(list, choice{f.p.worth[i] - worth, f.p.state.Jobs[j].ID, int32(j), int32(i)})
			}
		}
	}
	sortChoices(list)
	moved := make([]bool, len(f.given))
	for _, c := range list {
		if j := int(c.job); !moved[j] && f.canMove(j, int(c.candidate)) {
			job := &f.p.state.Jobs[j]
			f.budget.Return(job, &job.Strategies[f.given[j]])
			f.given[j] = env.Idle
			moved[j] = f.give(j, int(c.candidate))
		}
	}
}

// tooSlow reports whether job j needs a rate and candidate i is slower than what it
// runs: that may be worth more only because it costs less.
func (f *fill) tooSlow(j, i int) bool {
	floor := f.p.problem.Floor
	return floor != nil && floor[j] > 0 &&
		f.p.strategyOf(j, i).Throughput < f.p.state.Jobs[j].Strategies[f.given[j]].Throughput
}

// canMove reports whether job j, which runs, could run in candidate i instead.
func (f *fill) canMove(j, i int) bool {
	job := &f.p.state.Jobs[j]
	from := &job.Strategies[f.given[j]]
	f.budget.Return(job, from)
	fits := f.budget.Fits(job, f.p.strategyOf(j, i))
	f.budget.Take(job, from)
	return fits
}

// rest gives away what is left: to waiting jobs by key, then to jobs that run and
// can grow, then what those leave to waiting jobs again.
func (f *fill) rest(key func(j, i int) float64) {
	f.waiting(key)
	f.grow()
	f.waiting(key)
}

// worthOf returns the worth of job j's strategy k, which is a candidate.
func (f *fill) worthOf(j, k int) float64 {
	first, last := f.p.candidates(j)
	n, _ := slices.BinarySearch(f.p.strategy[first:last], int32(k))
	return f.p.worth[first+n]
}
