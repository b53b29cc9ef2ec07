package simplex

import "math"

// totalPricer prices Total, the least Σ_j f[j] / rate[j]: its columns are mixes of
// whatever rate is best at the prices. There is no end of them, so that columns
// are worth entering only for more than totalGain of what a job costs.
type totalPricer struct{ in *instance }

// totalGain is the relative reduced cost that counts as 0 in Total: all jobs'
// together are what the answer may miss.
const totalGain = 2e-8

func (t *totalPricer) cost(c column) float64 {
	return t.in.demand[c.job].weight / t.in.rateOfColumn(c)
}

func (t *totalPricer) improve(e *core, j int32) (column, float64) {
	key := e.keys[j]
	best, _ := t.best(e, j)
	before := e.costOfMix(key) + t.cost(key)
	gain := before - e.costOfMix(best) - t.cost(best)
	if gain <= e.tol*(before+e.floor) {
		return key, 0
	}
	return best, gain
}

// best returns the column of job j of the least cost + f/rate, and how much one
// more unit of rate is worth to the job there. It walks along the lower convex
// hull of the candidates, from none on, as long as the job gains more from the
// next rate than that costs.
func (t *totalPricer) best(e *core, j int32) (_ column, price float64) {
	in, f := t.in, t.in.demand[j].weight
	at, rate, cost := int32(none), 0.0, 0.0
	for {
		next, slope := t.next(e, j, rate, cost)
		wanted := math.Inf(1) // where f/rate falls as fast as the cost rises
		if slope > 0 {
			wanted = math.Sqrt(f / slope)
		}
		switch {
		case next == none && at == none: // prices beyond all numbers
			return pure(j, in.fastest[j]), 0
		case next == none || wanted <= rate && at != none:
			return pure(j, at), f / (rate * rate)
		case wanted < in.rate[next]:
			c := column{job: j, lo: at, hi: next}
			c.weight = in.weightOf(c, wanted)
			return c, slope
		}
		at, rate, cost = next, in.rate[next], e.costOfCandidate(next)
	}
}

// next returns the next corner of the hull after this rate and cost, and the slope
// of the edge to it.
func (t *totalPricer) next(e *core, j int32, rate, cost float64) (int32, float64) {
	best, slope := int32(none), math.Inf(1)
	for i := t.in.start[j]; i < t.in.start[j+1]; i++ {
		r := t.in.rate[i]
		if r <= rate {
			continue
		}
		if s := (e.costOfCandidate(i) - cost) / (r - rate); s < slope || s == slope && best != none && r > t.in.rate[best] {
			best, slope = i, s
		}
	}
	return best, slope
}

// solveTotal solves the program over jobs from the guess of prices, or, without
// one, from those of a sample.
func (s *solver) solveTotal(jobs []int32, guess []float64, width float64) *core {
	if guess == nil && len(jobs) > 2*sampleSize {
		guess, width = s.solveTotal(s.in.sample(jobs), nil, 0).price, sampledWidth
	}
	t := &totalPricer{s.in}
	e := newCore(s.in, t, jobs, s.keys, &s.budget)
	e.tol = totalGain
	least := 0.0 // Σ f/rate if every job had all it could use
	for _, j := range jobs {
		least += s.in.count[j] * s.in.demand[j].weight / s.in.rate[s.in.fastest[j]]
	}
	e.floor = 1e-4 * least / s.in.countOf(jobs)
	for k, c := range e.capacity {
		e.box.unit[k] = 0.1 * least / (float64(s.in.k) * c)
		e.box.cap[k] = math.Inf(1)
	}
	if guess == nil {
		guess, width = make([]float64, s.in.k), coldWidth
		want := s.wanted(jobs)
		for k, c := range e.capacity {
			guess[k] = 5 * e.box.unit[k] * max(1, want/c)
		}
	}
	e.box.setAll(width)
	e.box.set(guess)
	e.setPrices(e.box.centre)
	for _, j := range jobs {
		e.quote(j)
		e.keys[j], _ = t.best(e, j)
	}
	if !e.start() {
		s.budget.over = true
	}
	e.optimize()
	if !sanitize(e.price) {
		clear(e.price)
	}
	return e
}

// stoppedTotal is the answer of e, which was ended early, with its prices or those of
// jobs that do not compete, whichever prove more: early ones may be so high that they
// prove less than nothing.
func (s *solver) stoppedTotal(e *core) *Result {
	r, alone := s.result(e, nil), s.trivial()
	if bound(s.p, alone.Prices, alone.JobPrices) > bound(s.p, r.Prices, r.JobPrices) {
		r.Prices, r.JobPrices = alone.Prices, alone.JobPrices
	}
	return r
}

// wanted returns how much of a resource jobs would take on average if each ran
// its fastest candidate.
func (s *solver) wanted(jobs []int32) float64 {
	used := make([]float64, s.in.k)
	for _, j := range jobs {
		s.in.addUsage(used, s.in.fastest[j], s.in.count[j])
	}
	total := 0.0
	for _, u := range used {
		total += u
	}
	return total / float64(len(used))
}

// totalPrices returns the job prices that belong to e's.
func (s *solver) totalPrices(e *core) []float64 {
	prices := make([]float64, s.p.Jobs())
	t := &totalPricer{s.in}
	for j, k := range s.full.job {
		class := s.classOf(j)
		e.quote(class)
		_, prices[k] = t.best(e, class)
		// In the instance, rates of Total are those of the Problem.
	}
	return prices
}
