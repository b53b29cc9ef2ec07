package simplex

import "math"

// floorPricer prices Sum where candidates have values of their own and jobs need
// rates: its columns are the candidates that are fast enough, and mixes of exactly
// the rate that is needed.
type floorPricer struct {
	in     *instance
	values []float64 // [m]; zeros where only an answer is sought
}

func (f *floorPricer) cost(c column) float64 {
	v := 0.0
	if c.lo != none {
		v += (1 - c.weight) * f.values[c.lo]
	}
	if c.hi != none {
		v += c.weight * f.values[c.hi]
	}
	return -v
}

func (f *floorPricer) improve(e *core, j int32) (column, float64) {
	key := e.keys[j]
	best, _ := f.best(e, key)
	before, after := e.costOfMix(key), e.costOfMix(best)
	gain := before + f.cost(key) - after - f.cost(best)
	size := before + math.Abs(f.cost(key)) + math.Abs(f.cost(best)) + math.Abs(after)
	if gain <= e.tol*(size+e.floor) || best == key {
		return key, 0
	}
	return best, gain
}

// best returns the column of the job of c of the least cost less value, and the
// price of the job's rate: how fast that rises with the rate it needs.
func (f *floorPricer) best(e *core, c column) (column, float64) {
	in, j := f.in, c.job
	first, last := in.start[j], in.start[j+1]
	floor := 0.0
	if in.demand != nil {
		floor = in.demand[j].base
	}
	least, best := 0.0, int32(none)
	if c.weight == 1 && c.lo == none && c.hi != none {
		least, best = e.cost[in.vector[c.hi]]-f.values[c.hi], c.hi // stays on ties
		if least > 0 {
			least, best = 0, none
		}
	}
	for i := first; i < last; i++ {
		d := e.cost[in.vector[i]] - f.values[i]
		if d < least || d == least && best != none && in.rate[i] > in.rate[best] && in.rate[best] < floor {
			least, best = d, i
		}
	}
	if in.rateOf(best) >= floor {
		if best == none {
			return empty(j), 0
		}
		return pure(j, best), 0
	}
	c, slope := e.hull(in.bracket(c, floor), floor, f.values[first:last])
	return c, max(slope, 0)
}
