package simplex

import (
	"math"
	"slices"
)

// solveMaxMin solves the program over jobs from the guess of prices and level,
// or, without one, from those of a sample. ceiling is what the slowest job gets
// with everything for itself. It returns the core with the answer, at
// pricer.level, as basis.
func (s *solver) solveMaxMin(jobs []int32, g guess, ceiling float64) (*core, *mixPricer) {
	rough := s.roughLevels(jobs, ceiling)
	if rough.prices != nil {
		g = rough
	}
	if g.prices == nil && len(jobs) > 2*sampleSize {
		e, m := s.solveMaxMin(s.in.sample(jobs), guess{}, ceiling)
		g = guess{e.price, m.level, sampledWidth}
	}
	m := &mixPricer{in: s.in, hasty: g.prices != nil && (g.width == warmWidth || len(jobs) > roughSize)}
	e := newCore(s.in, m, jobs, s.keys, &s.budget)
	if g.prices == nil {
		g = guess{s.in.typicalPrices(jobs), ceiling, coldWidth}
	}
	copy(e.price, g.prices)
	k := float64(s.in.k)
	for r, c := range e.capacity {
		e.box.cap[r] = 1.5 / c // prices·capacity is 1
		e.box.unit[r] = 0.3 / (k * c)
	}
	e.floor = 1 / s.in.countOf(jobs) // what a job costs on average
	e.box.setAll(g.width)
	e.normalize()
	start := slices.Clone(e.price)
	m.level = min(g.level, ceiling)
	switch smooth := s.smoothLevels(e, m, g.width); {
	case smooth && len(jobs) < s.in.n:
		return e, m
	case !smooth && rough.prices != nil && s.poor:
		return s.solveMaxMin(jobs, guess{}, ceiling)
	}
	e.newton(m, ceiling)
	s.descend(e, m, ceiling)
	if !sanitize(e.price) {
		clear(e.price)
	}
	if len(jobs) < s.in.n && !s.copies {
		sm := newSmoothing(e, m)
		sm.level = &m.level
		s.copies = sm.copies()
	}
	s.shifted(e, start)
	return e, m
}

// smoothLevels moves the prices and the level near to the best ones, and, if they
// are those of all jobs, the box with them. It reports whether that worked; else
// only keys have changed.
func (s *solver) smoothLevels(e *core, m *mixPricer, width float64) bool {
	first, last, ok := s.smooths(e.jobs, width)
	if !ok || !(m.level > 0) {
		return false
	}
	if width == warmWidth && !s.copies {
		first = warmWindow
	}
	prices, level := slices.Clone(e.price), m.level
	sm := newSmoothing(e, m)
	sm.level, sm.top = &m.level, s.ceiling
	if !sm.run(first, last, !s.copies) {
		e.setPrices(prices)
		m.level = level
		return false
	}
	e.normalize()
	if last == 0 {
		m.hasty = true
		e.box.setAll(sm.window)
		e.short = shortlist{pricer: m, jobs: sm.active, part: sm.part, stays: true}
	}
	return true
}

// warmWindow is the window to start from at the prices of a similar problem: mixes
// change at smaller differences of the prices than candidates do.
const warmWindow = 1e-3

// descend lowers the level until it can be reached.
func (s *solver) descend(e *core, m *mixPricer, ceiling float64) {
	from := make([]float64, s.in.k)
	for range maxStages {
		copy(from, e.price)
		if !s.lower(e, m) {
			return
		}
		e.normalize()
		before := m.level
		e.newton(m, ceiling)
		switch {
		case m.level < before && e.short.stays:
		case m.level < before:
			e.box.shrink()
			e.short.jobs = e.short.jobs[:0]
		case m.hasty: // the shortlist was too short: once more without
			m.hasty, m.level, e.short = false, before, shortlist{}
			e.setPrices(from)
			e.normalize()
			e.newton(m, ceiling)
			e.box.setAll(warmWidth)
		default:
			return // as far as the precision of the numbers goes
		}
	}
}

// maxStages bounds how often the level is lowered; it has taken 1 to 3 times.
const maxStages = 100

// guess is where a solve starts.
type guess struct {
	prices []float64 // nil for none
	level  float64
	width  float64
}

// lower finds the least θ at m's level, with keys that fit the prices, and
// reports whether the level is to be lowered.
func (s *solver) lower(e *core, m *mixPricer) bool {
	e.box.set(e.price)
	if !e.startScaled() {
		s.budget.over = true
	}
	if m.hasty {
		e.short.alone = true // a level that is reached and bounded needs no more
		if len(e.short.jobs) == 0 {
			e.shorten()
		}
	}
	e.optimize()
	return !s.budget.over && e.theta() > 1+2e-10
}

// theta returns the part of the capacity that the basis takes.
func (e *core) theta() float64 {
	used := e.usageOfKeys()
	for r, c := range e.cols {
		if c.job >= 0 {
			e.in.addColumn(used, c, e.x[r])
			e.in.addColumn(used, e.keys[c.job], -e.x[r])
		}
	}
	most := 0.0
	for k, u := range used {
		most = max(most, u/e.capacity[k])
	}
	return most
}

// normalize scales the prices such that the capacity costs 1 in all.
func (e *core) normalize() {
	total := 0.0
	if !sanitize(e.price) {
		clear(e.price)
	}
	for k, c := range e.capacity {
		total += e.price[k] * c
	}
	for k, c := range e.capacity {
		if total > 0 {
			e.price[k] /= total
		} else {
			e.price[k] = 1 / (c * float64(len(e.capacity)))
		}
	}
	e.requote()
}

// newton moves m's level to the highest at which what all jobs need costs no
// more, at the prices, than the capacity, which costs 1; at most to ceiling. The
// cost is convex and increasing in the level. It leaves keys that fit.
func (e *core) newton(m *mixPricer, ceiling float64) {
	m.proof = append(m.proof[:0], e.price...)
	enough := 0.0 // what the cost may be over 1
	for i := range 60 {
		cost, slope := e.needs(m, i > 0)
		if i == 0 && m.hasty {
			enough = 0.02 * (cost - 1)
		}
		if i > 0 && cost > 1 && cost-1 <= enough {
			return // the next prices ask for another level anyway
		}
		if cost <= 1+1e-12 && (i > 0 || m.level == ceiling) {
			return
		}
		if m.level == 0 && cost > 1 {
			m.hopeless = cost > 1+feasibleSlack
			return
		}
		next := max(0, m.level-(cost-1)/slope)
		if !(next < ceiling) { // also NaN
			next = ceiling
		}
		if math.Abs(next-m.level) <= 1e-14*m.level {
			return
		}
		m.level = next
	}
}

// needs moves all keys to the cheapest mixes of m's level and returns what they
// cost and how fast that rises with the level. known says that they are the cheapest
// of another level at the same prices: a mix stays the cheapest on its whole edge of
// the hull, so that only the jobs that leave theirs have to look at all candidates.
func (e *core) needs(m *mixPricer, known bool) (cost, slope float64) {
	for _, j := range e.jobs {
		e.quote(j)
		rate, rise := e.in.needed(j, m.level)
		key := e.keys[j]
		c := e.in.bracket(key, rate)
		var s float64
		if known && c.lo == key.lo && c.hi == key.hi {
			s = e.slopeOf(c)
		} else {
			c, s = e.hull(c, rate, nil)
		}
		e.keys[j] = c
		cost += e.in.count[j] * e.costOfMix(c)
		slope += e.in.count[j] * s * rise
	}
	return cost, slope
}

// typicalPrices returns a price for each resource: the rate that a candidate
// gets from a unit of it, the mean of its logarithm over the candidates of jobs.
func (in *instance) typicalPrices(jobs []int32) []float64 {
	sum, n := make([]float64, in.k), make([]float64, in.k)
	for _, j := range jobs {
		for i := in.start[j]; i < in.start[j+1]; i++ {
			q := in.vector[i]
			for t := in.ptr[q]; t < in.ptr[q+1]; t++ {
				sum[in.row[t]] += math.Log(in.rate[i] / in.amount[t])
				n[in.row[t]]++
			}
		}
	}
	for k := range sum {
		sum[k] = math.Exp(sum[k] / max(n[k], 1))
	}
	return sum
}
