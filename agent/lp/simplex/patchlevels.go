package simplex

import (
	"math"
	"slices"
)

// patchTries are the parts of the level, a bound, that are tried for an answer to
// MaxMin that was ended early.
// Each is followed by one nearer to the last, if it works.
var patchTries = [...]float64{0.995, 0.985, 0.96, 0.88, 0.7}

// patchLevels is patch for MaxMin: at a level, each job takes its cheapest mix at
// the prices, those first that would lose most by another, and where there is no
// room, the cheapest candidate that is fast enough and fits. It returns the weights
// at the first level tried at which all find room, nil if there is none. e's keys
// are mixes of m's level.
func (s *solver) patchLevels(e *core, m *mixPricer) []float64 {
	p := &patching{s: s, e: e, x: make([]float64, len(s.full.rate)), left: make([]float64, s.full.k)}
	order := p.orderByRegret(m)
	high := 1.0
	for _, low := range patchTries {
		try := *m
		try.level = low * m.level
		if !p.fill(&try, order) {
			high = low
			continue
		}
		best := slices.Clone(p.x)
		if try.level = (low + 3*high) / 4 * m.level; p.fill(&try, order) {
			return p.x
		}
		return best
	}
	return nil
}

// patchedLevels is patched for MaxMin.
func (s *solver) patchedLevels(e *core, m *mixPricer) *Result {
	for j := range e.in.n { // keys of the jobs that the search has not seen
		e.keys[j] = m.bracket(e.keys[j])
	}
	if e.in.demand != nil {
		return s.result(e, m)
	}
	e.setPrices(m.proof)
	e.settle(settleLevels, func() {
		e.normalize()
		e.needs(m, false)
	})
	e.normalize()
	e.newton(m, s.ceiling)
	r := &Result{Prices: make([]float64, len(s.p.Capacity)), JobPrices: s.ceilingPrices()}
	if m.level < s.ceiling {
		r.Prices, r.JobPrices = s.levelPrices(e, m)
	}
	x := s.patchLevels(e, m)
	if x != nil {
		r.Shares = s.sharesOf(sparse(x))
		return r
	}
	var weights []Share
	for j := range s.full.n {
		class := s.classOf(j)
		weights = spread(weights, len(weights), e.keys[class], s.full.start[j]-s.in.start[class], 1)
	}
	r.Shares = s.sharesOf(weights)
	return r
}

// orderByRegret returns all jobs, those first whose second best candidate costs
// most beyond the best, in levels.
func (p *patching) orderByRegret(m *mixPricer) []int32 {
	in := p.s.full
	level := make([]uint8, in.n)
	for j := range level {
		class := p.s.classOf(j)
		key := p.e.keys[class]
		cost := p.e.costOfMix(key)
		rate, _ := p.s.in.needed(class, m.level)
		first, shift := in.start[j], in.start[j]-p.s.in.start[class]
		second := math.Inf(1)
		for i := first; i < in.start[j+1]; i++ {
			if r := in.rate[i]; r >= rate && i != key.hi+shift && i != key.lo+shift {
				second = min(second, p.e.cost[in.vector[i]]*rate/r)
			}
		}
		l := levels - 1
		if second < 2*cost {
			l = max(0, min(levels-1, int((second-cost)/cost*levels)))
		}
		level[j] = uint8(levels - 1 - l)
	}
	return byLevel(level)
}

// fill lifts all jobs to m's level and reports whether there was room for it.
func (p *patching) fill(m *mixPricer, order []int32) bool {
	copy(p.left, p.s.full.capacity)
	clear(p.x)
	for _, j := range order {
		if !p.lift(m, j) {
			return false
		}
	}
	return true
}

// lift gives job j the mix of its key, or where there is no room for that, parts of
// the candidates that are fast enough, the cheapest first.
func (p *patching) lift(m *mixPricer, j int32) bool {
	in := p.s.full
	class := p.s.classOf(int(j))
	c := m.bracket(p.e.keys[class])
	shift := in.start[j] - p.s.in.start[class]
	if p.fits(c, shift) {
		for _, part := range [2]part{{column{hi: c.lo}, 1 - c.weight}, {column{hi: c.hi}, c.weight}} {
			if i := part.column.hi; i != none && part.amount > 0 {
				p.give(i+shift, part.amount)
			}
		}
		return true
	}
	rate, _ := p.s.in.needed(class, m.level)
	for missing := rate; missing > 1e-12*rate; {
		best, least := int32(none), math.Inf(1)
		for i := in.start[j]; i < in.start[j+1]; i++ {
			r := in.rate[i]
			if cost := p.e.cost[in.vector[i]] / r; r >= rate && cost < least && p.x[i] == 0 && p.room(i) > 1e-6 {
				best, least = i, cost
			}
		}
		if best == none {
			return false
		}
		part := min(missing/in.rate[best], p.room(best))
		p.give(best, part)
		missing -= part * in.rate[best]
	}
	return true
}

// fits reports whether there is room for both parts of c, which is a column of the
// merged instance, shift before those of the job.
func (p *patching) fits(c column, shift int32) bool {
	if c.lo != none && p.room(c.lo+shift) < 1-c.weight {
		return false
	}
	// Parts of one resource need room together; half the room for each is enough.
	room := p.room(c.hi + shift)
	if c.lo != none {
		room -= (1 - c.weight)
	}
	return room >= c.weight
}
