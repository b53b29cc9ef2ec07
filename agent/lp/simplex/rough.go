package simplex

import (
	"math"
	"slices"
)

// roughSize is the number of jobs from which on near-copies are worth looking for,
// and the search goes by a shortlist also from the prices of a sample.
const roughSize = 20_000

// roughStep is how far rates may differ, about, for two jobs to count as one.
const roughStep = 1e-3

// rough returns a solver of the instance in which near-copies are one job, for a
// guess of the prices: thousands of them make a sample as slow to solve as it is
// useless. It returns nil where there are few.
func (s *solver) rough() *solver {
	in := s.in
	if in.demand != nil {
		return nil // only rates are looked at
	}
	grid := make([]int32, len(in.rate))
	for i, rate := range in.rate {
		grid[i] = int32(math.Round(math.Log(rate) / roughStep))
	}
	class := make([]int32, in.n)
	var firsts []int32
	heads := make(map[uint64][]int32) // classes of each hash
	for j := range in.n {
		first, last := in.start[j], in.start[j+1]
		h := uint64(last - first)
		for i := first; i < last; i++ {
			h = (h ^ uint64(uint32(grid[i]))<<32 ^ uint64(in.vector[i])) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		c := slices.IndexFunc(heads[h], func(c int32) bool {
			a, b := in.start[firsts[c]], in.start[firsts[c]+1]
			return slices.Equal(grid[a:b], grid[first:last]) && slices.Equal(in.vector[a:b], in.vector[first:last])
		})
		if c >= 0 {
			class[j] = heads[h][c]
			continue
		}
		class[j] = int32(len(firsts))
		heads[h] = append(heads[h], class[j])
		firsts = append(firsts, int32(j))
		if len(firsts) > in.n/4 {
			return nil
		}
	}
	if len(firsts) < 2*in.k {
		return nil // too few to say what each resource is worth
	}
	merged := in.choose(firsts, class)
	for j := range merged.count { // choose counts jobs of in, which may stand for several
		merged.count[j] = 0
	}
	for j, c := range class {
		merged.count[c] += in.count[j]
	}
	out := &solver{p: s.p, full: in, in: merged, class: class, budget: s.budget, keys: make([]column, merged.n)}
	for j := range out.keys {
		out.keys[j] = pure(int32(j), merged.fastest[j])
	}
	return out
}

// all returns the numbers of all jobs.
func (in *instance) all() []int32 {
	jobs := make([]int32, in.n)
	for j := range jobs {
		jobs[j] = int32(j)
	}
	return jobs
}

// roughLevels returns a guess for MaxMin from the rough instance; without prices
// where there is none.
func (s *solver) roughLevels(ceiling float64) guess {
	sub := s.rough()
	if sub == nil {
		return guess{}
	}
	e, m := sub.solveMaxMin(sub.in.all(), guess{}, ceiling)
	s.budget = sub.budget
	return guess{e.price, m.level, warmWidth}
}

// roughPrices returns a guess for Sum from the rough instance, or nil.
func (s *solver) roughPrices() []float64 {
	sub := s.rough()
	if sub == nil {
		return nil
	}
	e := sub.solveSum(sub.in.all(), nil, 0)
	s.budget = sub.budget
	return e.price
}
