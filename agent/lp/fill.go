package lp

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// fill is an allocation of whole jobs in the making.
type fill struct {
	p     *program
	free  []int // [T] GPUs not given yet
	given env.Allocation
}

func newFill(p *program) *fill {
	return &fill{p, slices.Clone(p.capacity), env.NewAllocation(len(p.state.Jobs))}
}

// give runs job j in its candidate i if the GPUs are there and j has none yet,
// and reports whether it did.
func (f *fill) give(j, i int) bool {
	st := f.p.strategyOf(j, i)
	if f.given[j] != env.Idle || st.GPUs > f.free[st.Type] {
		return false
	}
	f.free[st.Type] -= st.GPUs
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
			if st := f.p.strategyOf(j, i); st.GPUs <= f.free[st.Type] {
				list = append(list, choice{key(j, i), f.p.state.Jobs[j].ID, int32(j), int32(i)})
			}
		}
	}
	sortChoices(list)
	for _, c := range list {
		f.give(int(c.job), int(c.candidate))
	}
}

// grow moves jobs to candidates of the same type that are worth more, where the
// GPUs that are left allow it, largest gain first.
func (f *fill) grow() {
	var list []choice
	for j, k := range f.given {
		if k == env.Idle {
			continue
		}
		st := &f.p.state.Jobs[j].Strategies[k]
		if f.free[st.Type] == 0 {
			continue
		}
		worth := f.worthOf(j, k)
		first, last := f.p.candidates(j)
		for i := first; i < last; i++ {
			if to := f.p.strategyOf(j, i); to.Type == st.Type && f.p.worth[i] > worth && to.GPUs <= st.GPUs+f.free[st.Type] {
				list = append(list, choice{f.p.worth[i] - worth, f.p.state.Jobs[j].ID, int32(j), int32(i)})
			}
		}
	}
	sortChoices(list)
	moved := make([]bool, len(f.given))
	for _, c := range list {
		j := int(c.job)
		from, to := &f.p.state.Jobs[j].Strategies[f.given[j]], f.p.strategyOf(j, int(c.candidate))
		if !moved[j] && to.GPUs <= from.GPUs+f.free[to.Type] {
			f.free[to.Type] += from.GPUs - to.GPUs
			f.given[j], moved[j] = int(f.p.strategy[c.candidate]), true
		}
	}
}

// worthOf returns the worth of job j's strategy k, which is a candidate.
func (f *fill) worthOf(j, k int) float64 {
	first, last := f.p.candidates(j)
	n, _ := slices.BinarySearch(f.p.strategy[first:last], int32(k))
	return f.p.worth[first+n]
}
