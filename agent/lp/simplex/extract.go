package simplex

// result turns the basis of e, over all jobs, into an answer to the Problem. m is
// nil for Sum.
func (s *solver) result(e *core, m *mixPricer) *Result {
	r := &Result{Prices: make([]float64, len(s.p.Capacity))}
	x := s.weights(e)
	s.fit(x)
	for i, weight := range x {
		if weight > 0 {
			r.Shares = append(r.Shares, Share{s.in.origin[i], weight})
		}
	}
	for k, resource := range s.in.resource {
		r.Prices[resource] = e.price[k] / s.in.unit[k]
	}
	if m != nil {
		s.priceJobs(r, e, m)
	}
	return r
}

// weights returns the time each candidate of the instance runs, shape [m].
func (s *solver) weights(e *core) []float64 {
	x := make([]float64, len(s.in.rate))
	add := func(c column, weight float64) {
		if c.lo != none {
			x[c.lo] += weight * (1 - c.weight)
		}
		if c.hi != none {
			x[c.hi] += weight * c.weight
		}
	}
	basics := make([]float64, s.in.n)
	for r, c := range e.cols {
		if c.job >= 0 {
			basics[c.job] += max(e.x[r], 0)
		}
	}
	for r, c := range e.cols {
		if c.job >= 0 {
			add(c, max(e.x[r], 0)/max(basics[c.job], 1))
		}
	}
	for j, c := range e.keys {
		add(c, max(0, 1-basics[j]))
	}
	return x
}

// fit scales weights down, where they overstep a capacity, until they do not:
// each candidate by the tightest of the resources it takes.
func (s *solver) fit(x []float64) {
	factor := make([]float64, s.in.k)
	for i, weight := range x {
		s.in.addUsage(factor, int32(i), weight)
	}
	for k, used := range factor {
		factor[k] = 1
		if used > s.in.capacity[k] {
			factor[k] = s.in.capacity[k] / used
		}
	}
	for i, q := range s.in.vector {
		tightest := 1.0
		for _, k := range s.in.row[s.in.ptr[q]:s.in.ptr[q+1]] {
			tightest = min(tightest, factor[k])
		}
		x[i] *= tightest
	}
}

// priceJobs sets the prices of MaxMin: how fast each job's cost rises with the
// level, and everything scaled such that raising the level by 1 costs 1. Where
// the level is the ceiling, that is its own proof.
func (s *solver) priceJobs(r *Result, e *core, m *mixPricer) {
	e.normalize()
	r.JobPrices = make([]float64, s.p.Jobs())
	total := 0.0
	slopes := make([]float64, s.in.n)
	for j := range slopes {
		e.quote(int32(j))
		_, _, slopes[j] = m.best(e, m.bracket(e.keys[j]))
		total += max(slopes[j], 0)
	}
	for j, slope := range slopes {
		k := s.in.job[j]
		r.JobPrices[k] = max(slope, 0) / total / s.p.Target[k]
	}
	for k, resource := range s.in.resource {
		r.Prices[resource] = e.price[k] / total / s.in.unit[k]
	}
	ceiling := &Result{Prices: make([]float64, len(r.Prices)), JobPrices: s.ceilingPrices()}
	if b := bound(s.p, r.Prices, r.JobPrices); !(b < bound(s.p, ceiling.Prices, ceiling.JobPrices)) {
		r.Prices, r.JobPrices = ceiling.Prices, ceiling.JobPrices
	}
}
