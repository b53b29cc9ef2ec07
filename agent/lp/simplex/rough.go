package simplex

import (
	"math"
	"slices"
)

// roughSize is the number of jobs from which on near-copies are worth looking for,
// and the search goes by a shortlist also from the prices of a sample.
const roughSize = 20_000

// roughBits is how many of the bits of a rate do not count when near-copies are
// looked for: what is left tells rates apart that differ by more than 1e-3.
const roughBits = 42

// rough returns a solver of the instance in which near-copies are one job, for a
// guess of the prices: thousands of them make a sample as slow to solve as it is
// useless. It returns nil where there are few.
func (s *solver) rough() *solver {
	in := s.in
	if in.demand != nil {
		return nil // only rates are looked at
	}
	grid := make([]uint32, len(in.rate))
	class := make([]int32, in.n)
	var t table
	for j := range in.n {
		first, last := in.start[j], in.start[j+1]
		h := uint64(last - first)
		for i := first; i < last; i++ {
			grid[i] = uint32((math.Float64bits(in.rate[i]) + 1<<(roughBits-1)) >> roughBits)
			h = (h ^ uint64(grid[i])<<32 ^ uint64(in.vector[i])) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		class[j] = t.class(h, int32(j), func(c int32) bool {
			a, b := in.start[c], in.start[c+1]
			return slices.Equal(grid[a:b], grid[first:last]) && slices.Equal(in.vector[a:b], in.vector[first:last])
		})
		if len(t.firsts) > max(j, roughSize/10)/2 {
			return nil
		}
	}
	merged := in.choose(t.firsts, class)
	for j := range merged.count { // choose counts jobs of in, which may stand for several
		merged.count[j] = 0
	}
	for j, c := range class {
		merged.count[c] += in.count[j]
	}
	out := &solver{p: s.p, full: in, in: merged, class: class, budget: s.budget, keys: make([]column, merged.n), ceiling: s.ceiling}
	for j := range out.keys {
		out.keys[j] = pure(int32(j), merged.fastest[j])
	}
	return out
}

// spread returns the mean of how far, relatively, rates are from those of the job
// that stands for them.
func (s *solver) spread() float64 {
	total := 0.0
	for j, c := range s.class {
		rates := s.full.rate[s.full.start[j]:s.full.start[j+1]]
		for i, r := range s.in.rate[s.in.start[c]:s.in.start[c+1]] {
			total += math.Abs(rates[i]/r - 1)
		}
	}
	return total / float64(len(s.full.rate))
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
func (s *solver) roughLevels(jobs []int32, ceiling float64) guess {
	sub := s.roughOf(jobs)
	if sub == nil {
		return guess{}
	}
	e, m := sub.solveMaxMin(sub.in.all(), guess{}, ceiling)
	s.budget = sub.budget
	return guess{e.price, m.level, warmWidth}
}

// roughPrices returns a guess for Sum from the rough instance, or nil.
func (s *solver) roughPrices(jobs []int32) []float64 {
	sub := s.roughOf(jobs)
	if sub == nil {
		return nil
	}
	e := sub.solveSum(sub.in.all(), nil, 0)
	s.budget = sub.budget
	return e.price
}

// roughOf returns the solver of the rough instance if jobs are all there are, and
// notes how far its prices may be off. It returns nil once they have proved useless.
func (s *solver) roughOf(jobs []int32) *solver {
	if len(jobs) <= roughSize || len(jobs) < s.in.n || s.poor {
		return nil
	}
	sub := s.rough()
	if sub != nil {
		s.copies, s.poor, s.shift = true, sub.in.n < 2*s.in.k, sub.spread()/spreadParts
	}
	return sub
}

// spreadParts is which part of the spread of near-copies' rates prices are smoothed
// over at first: in much larger windows, all jobs of a kind do the same.
const spreadParts = 4

// shifted notes by how much the prices that e ended with differ from those it started
// from: those of near-copies differ from sample to sample by much less than others.
func (s *solver) shifted(e *core, start []float64) {
	s.shift = 0
	for k, p := range e.price {
		s.shift = max(s.shift, math.Abs(p-start[k])/max(start[k], e.box.unit[k]))
	}
}

// smooths reports whether prices over jobs, of a guess of this width, are to be
// smoothed, and the first and the last window for that.
func (s *solver) smooths(jobs []int32, width float64) (first, last float64, ok bool) {
	switch n := len(jobs); {
	case n <= 2*sampleSize:
		return 0, 0, false
	case s.copies:
		return s.shift, 0, n > copySize && s.shift > 4*smoothLeast && s.shift < copyWindow
	case n == s.in.n:
		return width, 0, true
	case n <= 2*sampleSize*sampleRatio: // the first sample's show copies
		return width, copyWindow, true
	}
	return width, sampledWidth, true
}

// copySize is the number of jobs from which on near-copies are worth smoothing.
const copySize = 4_000
