package simplex

import "math"

// hull returns the mix of two candidates of the job of c, or of one and none,
// that has this rate at the lowest cost less value, and how fast that rises with
// the rate. c is a mix of this rate to start from; values are those of the job's
// candidates, nil for 0. The line through the two candidates in the plane of rate
// and cost is lowered, at the rate, until no candidate lies below it: that is the
// lower convex hull there.
func (e *core) hull(c column, rate float64, values []float64) (_ column, slope float64) {
	in := e.in
	first, last := in.start[c.job], in.start[c.job+1]
	rates, vectors := in.rate[first:last], in.vector[first:last]
	loRate, loCost := 0.0, 0.0
	if c.lo != none {
		loRate, loCost = rates[c.lo-first], e.netCost(c.lo, first, values)
	}
	hiRate, hiCost := in.rateOf(c.hi), e.netCost(c.hi, first, values)
	for range 2*len(rates) + 8 { // each round lowers the line: far fewer are needed
		slope = (hiCost - loCost) / (hiRate - loRate)
		at0 := loCost - slope*loRate
		least := at0 - 1e-13*(math.Abs(at0)+math.Abs(hiCost))
		below := int32(-2)
		if least > 0 {
			least, below = 0, none
		}
		if values == nil {
			for i, r := range rates {
				if d := e.cost[vectors[i]] - slope*r; d < least {
					least, below = d, first+int32(i)
				}
			}
		} else {
			for i, r := range rates {
				if d := e.cost[vectors[i]] - values[i] - slope*r; d < least {
					least, below = d, first+int32(i)
				}
			}
		}
		if below == -2 {
			break
		}
		if r := in.rateOf(below); r < rate {
			c.lo, loRate, loCost = below, r, e.netCost(below, first, values)
		} else {
			c.hi, hiRate, hiCost = below, r, e.netCost(below, first, values)
		}
	}
	c.weight = in.weightOf(c, rate)
	return c, slope
}

// netCost returns the cost of candidate i, 0 for none, less its value if there are
// any; first is the first candidate of its job.
func (e *core) netCost(i, first int32, values []float64) float64 {
	switch {
	case i == none:
		return 0
	case values == nil:
		return e.cost[e.in.vector[i]]
	}
	return e.cost[e.in.vector[i]] - values[i-first]
}

// weightOf returns the weight of hi with which c has this rate.
func (in *instance) weightOf(c column, rate float64) float64 {
	lo := in.rateOf(c.lo)
	return (rate - lo) / (in.rateOf(c.hi) - lo)
}

// bracket turns a mix of another rate into one of this rate.
func (in *instance) bracket(c column, rate float64) column {
	if c.lo != none && in.rateOf(c.lo) >= rate {
		c.lo, c.hi = none, c.lo
	}
	if c.hi == none || in.rateOf(c.hi) < rate {
		c.lo, c.hi = c.hi, in.fastest[c.job]
	}
	if c.lo != none && in.rateOf(c.lo) >= in.rateOf(c.hi) { // both are the fastest
		c.lo = none
	}
	c.weight = in.weightOf(c, rate)
	return c
}

// slopeOf returns how fast the cost of a job's mix rises with its rate.
func (e *core) slopeOf(c column) float64 {
	return (e.costOfCandidate(c.hi) - e.costOfCandidate(c.lo)) / (e.in.rateOf(c.hi) - e.in.rateOf(c.lo))
}

// costOfMix returns λ·usage of a job's column.
func (e *core) costOfMix(c column) float64 {
	return (1-c.weight)*e.costOfCandidate(c.lo) + c.weight*e.costOfCandidate(c.hi)
}
