package simplex

import "slices"

// widths of the box on the prices, relative to the guess.
const (
	coldWidth    = 0.3   // the guess says little
	sampledWidth = 0.02  // the guess comes from a sample of the jobs
	warmWidth    = 0.002 // the guess comes from a similar problem
)

// sumPricer prices the program that maximises Σ r·x: its columns are the
// candidates themselves.
type sumPricer struct{ in *instance }

func (s sumPricer) cost(c column) float64 { return -s.in.rateOfColumn(c) }

func (s sumPricer) improve(e *core, j int32) (column, float64) {
	least, best := 0.0, int32(none)
	first, last := s.in.start[j], s.in.start[j+1]
	rates, vectors := s.in.rate[first:last], s.in.vector[first:last]
	for i, rate := range rates {
		if d := e.cost[vectors[i]] - rate; d < least {
			least, best = d, first+int32(i)
		}
	}
	key := e.keys[j]
	cost, rate := e.costOfCandidate(key.hi), s.in.rateOf(key.hi)
	gain := cost - rate - least
	if best == key.hi || gain <= e.tol*(cost+rate+s.in.rateOf(best)+e.floor) {
		return key, 0
	}
	if best == none {
		return empty(j), gain
	}
	return pure(j, best), gain
}

// solveSum solves the program over jobs from the guess, or, if that is nil, from
// the prices of a sample. It returns the core with the answer as basis; of a sample,
// whose prices only count, perhaps without a basis.
func (s *solver) solveSum(jobs []int32, guess []float64, width float64) *core {
	rough := s.roughPrices(jobs)
	if rough != nil {
		guess, width = rough, warmWidth
	}
	if guess == nil && len(jobs) > 2*sampleSize {
		guess, width = s.solveSum(s.in.sample(jobs), nil, 0).price, sampledWidth
	}
	e := newCore(s.in, sumPricer{s.in}, jobs, s.keys, &s.budget)
	if guess == nil {
		guess, width = make([]float64, s.in.k), coldWidth
		e.spreadPrices(guess, 0.5)
	}
	copy(e.box.cap, s.priceCaps())
	e.floor = 1e-4 * e.spreadPrices(e.box.unit, 0.1) / s.in.countOf(jobs)
	e.box.setAll(width)
	e.box.set(guess)
	e.setPrices(e.box.centre)
	start := slices.Clone(e.price)
	smooth := s.smoothSum(e, width)
	switch {
	case smooth && len(jobs) < s.in.n:
		return e
	case !smooth && rough != nil && s.poor:
		return s.solveSum(jobs, nil, 0)
	case !smooth:
		e.setPrices(start)
		for _, j := range jobs {
			e.quote(j)
			e.keys[j], _ = e.pricer.improve(e, j)
		}
	}
	if !e.start() {
		s.budget.over = true
	}
	if !smooth && (width == warmWidth || len(jobs) > roughSize) {
		e.shorten()
	}
	e.optimize()
	if !sanitize(e.price) {
		clear(e.price)
	}
	if len(jobs) < s.in.n && !s.copies {
		s.copies = newSmoothing(e, sumPricer{s.in}).copies()
	}
	s.shifted(e, start)
	return e
}

// smoothSum moves the prices near to the best ones, and, if they are those of all
// jobs, the box with them. It reports whether that worked.
func (s *solver) smoothSum(e *core, width float64) bool {
	first, last, ok := s.smooths(e.jobs, width)
	if !ok {
		return false
	}
	p := sumPricer{e.in}
	sm := newSmoothing(e, p)
	if !sm.run(first, last, !s.copies) {
		return false
	}
	if last > 0 {
		return true
	}
	e.box.setAll(sm.window)
	e.box.set(slices.Clone(e.price))
	e.setPrices(e.box.centre)
	for _, j := range sm.active {
		e.quote(j)
		e.keys[j], _ = p.improve(e, j)
	}
	e.short = shortlist{pricer: p, jobs: sm.active, part: sm.part}
	return true
}

// optimize runs and grows the box until that does not help any more.
func (e *core) optimize() {
	for !e.budget.over {
		if !e.run() {
			e.budget.over = true
		} else if !e.grow() {
			return
		}
	}
}

// spreadPrices writes to dst the prices, the same for each whole resource, at which
// all capacity costs the given part of what the jobs could get without each other,
// which it returns.
func (e *core) spreadPrices(dst []float64, part float64) float64 {
	best := 0.0
	for _, j := range e.jobs {
		best += e.in.count[j] * e.in.rate[e.in.fastest[j]]
	}
	for k, c := range e.capacity {
		dst[k] = part * best / (float64(len(dst)) * c)
	}
	return best
}

// unperturb moves the basic values to the true capacities. The prices, and so the
// proof that the basis is optimal, stay. Values that the perturbation kept above 0
// may fall below by as little.
func (e *core) unperturb() {
	copy(e.limit, e.in.capacity)
	if !e.factorize() {
		e.budget.over = true
	}
	if !sanitize(e.price) {
		clear(e.price)
	}
	e.requote()
}

// priceCaps returns, for each resource, a price at which nobody wants it.
func (s *solver) priceCaps() []float64 {
	if s.caps != nil {
		return s.caps
	}
	s.caps = make([]float64, s.in.k)
	highest := make([]float64, len(s.in.ptr)-1) // rate of the best candidate of each vector
	for i, q := range s.in.vector {
		highest[q] = max(highest[q], s.in.rate[i])
	}
	for q, rate := range highest {
		for t := s.in.ptr[q]; t < s.in.ptr[q+1]; t++ {
			k := s.in.row[t]
			s.caps[k] = max(s.caps[k], 1.01*rate/s.in.amount[t])
		}
	}
	return s.caps
}

// setPrices moves the core to prices, which may be any.
func (e *core) setPrices(prices []float64) {
	copy(e.price, prices)
	e.requote()
}
