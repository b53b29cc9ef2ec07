package simplex

import "math"

// mixPricer prices the program in which every job gets the rate level, no more
// and no less: its columns mix a candidate below the level, or none, and one at
// or above it. More than the level is never worth its price, because a share
// can be reduced.
type mixPricer struct {
	in    *instance
	level float64   // z; at most the highest rate of every job
	proof []float64 // [k] prices at which a higher level costs too much
}

func (m *mixPricer) cost(column) float64 { return 0 }

func (m *mixPricer) improve(e *core, j int32) (column, float64) {
	key := e.keys[j]
	before := m.costOf(e, key)
	best, cost, _ := m.best(e, key)
	if gain := before - cost; gain > e.tol*(before+e.floor) {
		return best, gain
	}
	return key, 0
}

func (m *mixPricer) costOf(e *core, c column) float64 {
	return (1-c.weight)*e.costOfCandidate(c.lo) + c.weight*e.costOfCandidate(c.hi)
}

// best returns the cheapest mix of the job of c, a mix of this level, with its
// cost and how fast the cost rises with the level. The line through the two
// candidates in the plane of rate and cost is lowered, at the level, until no
// candidate lies below it: the lower convex hull there.
func (m *mixPricer) best(e *core, c column) (_ column, cost, slope float64) {
	in := m.in
	first, last := in.start[c.job], in.start[c.job+1]
	rates, vectors := in.rate[first:last], in.vector[first:last]
	loRate, loCost := in.rateOf(c.lo), e.costOfCandidate(c.lo)
	hiRate, hiCost := in.rateOf(c.hi), e.costOfCandidate(c.hi)
	for range 2*len(rates) + 8 { // each round lowers the line: far fewer are needed
		slope = (hiCost - loCost) / (hiRate - loRate)
		at0 := loCost - slope*loRate
		least := at0 - 1e-13*(math.Abs(at0)+math.Abs(hiCost))
		below := int32(-2)
		if least > 0 {
			least, below = 0, none
		}
		for i, rate := range rates {
			if d := e.cost[vectors[i]] - slope*rate; d < least {
				least, below = d, first+int32(i)
			}
		}
		if below == -2 {
			break
		}
		if rate := in.rateOf(below); rate < m.level {
			c.lo, loRate, loCost = below, rate, e.costOfCandidate(below)
		} else {
			c.hi, hiRate, hiCost = below, rate, e.costOfCandidate(below)
		}
	}
	c.weight = m.weight(c)
	return c, m.costOf(e, c), slope
}

func (m *mixPricer) weight(c column) float64 {
	lo := m.in.rateOf(c.lo)
	return (m.level - lo) / (m.in.rateOf(c.hi) - lo)
}

// bracket turns a mix of another level into one of this level.
func (m *mixPricer) bracket(c column) column {
	if m.in.rateOf(c.lo) >= m.level {
		c.lo, c.hi = none, c.lo
	}
	if m.in.rateOf(c.hi) < m.level {
		c.lo, c.hi = c.hi, m.in.fastest[c.job]
	}
	c.weight = m.weight(c)
	return c
}
