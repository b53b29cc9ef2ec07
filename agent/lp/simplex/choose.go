package simplex

import "math"

func (s sumPricer) reply(e *core, j int32, part float64) bool {
	first, last := s.in.start[j], s.in.start[j+1]
	rates, vectors, costs := s.in.rate[first:last], s.in.vector[first:last], e.cost
	best, second := 0.0, math.Inf(-1)
	bestAt, secondAt := none, none
	for i, r := range rates {
		if v := r - costs[vectors[i]]; v > second {
			if v > best {
				second, secondAt = best, bestAt
				best, bestAt = v, i
			} else {
				second, secondAt = v, i
			}
		}
	}
	size := e.floor
	if secondAt != none {
		size += costs[vectors[secondAt]]
	}
	e.keys[j] = empty(j)
	if bestAt != none {
		size += costs[vectors[bestAt]]
		e.keys[j] = pure(j, first+int32(bestAt))
	}
	return best-second < part*size
}

func (s sumPricer) choices(e *core, j int32, window float64, list []choice) ([]choice, float64) {
	first, last := s.in.start[j], s.in.start[j+1]
	rates, vectors, costs := s.in.rate[first:last], s.in.vector[first:last], e.cost
	best, size := 0.0, e.floor
	for i, r := range rates {
		if c := costs[vectors[i]]; r-c > best {
			best, size = r-c, e.floor+c
		}
	}
	w := 2 * window * size
	if best < w {
		list = append(list, choice{vector: none, loss: best})
	}
	for i, r := range rates {
		if v := r - costs[vectors[i]]; best-v < w {
			list = append(list, choice{vector: vectors[i], loss: best - v})
		}
	}
	return list, w
}

func (s sumPricer) target(int32) (rate, rise float64) { return 0, 0 }

func (m *mixPricer) reply(e *core, j int32, part float64) bool {
	c := m.bracket(e.keys[j])
	near := m.near(e, c, part)
	if near { // another mix may even be better
		c, _, _ = m.best(e, c)
		near = m.near(e, c, part)
	}
	e.keys[j] = c
	lo, hi := m.in.rateOf(c.lo), m.in.rateOf(c.hi)
	// At another level it may need another mix.
	return near || min(c.weight, 1-c.weight)*(hi-lo) < part*hi
}

func (m *mixPricer) choices(e *core, j int32, window float64, list []choice) ([]choice, float64) {
	c, cost, slope := m.best(e, m.bracket(e.keys[j]))
	e.keys[j] = c
	first, last := m.in.start[j], m.in.start[j+1]
	rates, vectors, costs := m.in.rate[first:last], m.in.vector[first:last], e.cost
	w := 2 * window * (cost + e.floor)
	lo, hi := choice{vector: none}, choice{vector: m.in.vector[c.hi], rate: m.in.rate[c.hi]}
	if c.lo != none {
		lo.vector, lo.rate = m.in.vector[c.lo], m.in.rate[c.lo]
	}
	at0 := e.costOfCandidate(c.lo) - slope*lo.rate
	list = append(list, lo, hi)
	if c.lo != none && -at0 < w {
		list = append(list, choice{vector: none, loss: -at0})
	}
	for i, r := range rates {
		if d := costs[vectors[i]] - slope*r - at0; d < w && int32(i) != c.lo-first && int32(i) != c.hi-first {
			list = append(list, choice{vector: vectors[i], rate: r, loss: max(d, 0)})
		}
	}
	return list, w
}

func (m *mixPricer) target(j int32) (rate, rise float64) { return m.in.needed(j, m.level) }
