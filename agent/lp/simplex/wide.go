package simplex

import (
	"math"
	"slices"
)

// feasibleSlack is how much of the capacity, in all, may be lacking in the first
// phase of a program that does have an answer: rounding and perturbation.
const feasibleSlack = 4e-9

// solveWide solves Sum with values, floors or least uses. First it looks for any
// answer, since there may be none, then for the best.
func (s *solver) solveWide(jobs []int32, guess []float64) *Result {
	if r := s.hopeless(); r != nil {
		return r
	}
	if s.demanding() {
		if r := s.firstPhase(jobs); r != nil {
			return r
		}
	}
	e := s.solveValues(jobs, guess, warmWidth)
	if !s.budget.over {
		e.unperturb()
	}
	r := s.result(e, nil)
	if s.p.Floor != nil {
		r.JobPrices = s.floorPrices(e, s.in.value)
	}
	return r
}

// demanding reports whether there may be no answer.
func (s *solver) demanding() bool {
	if s.p.Least != nil {
		return true
	}
	for j := range s.in.demand {
		if s.in.demand[j].base > 0 {
			return true
		}
	}
	return false
}

// hopeless returns the proof that there is no answer where that takes no search:
// a job needs more than it reaches alone, or nobody uses what has to be used.
func (s *solver) hopeless() *Result {
	r := s.trivial()
	for j := range s.in.demand {
		if c := s.in.ceiling(int32(j)); c < -feasibility*s.in.demand[j].base {
			r.JobPrices[s.in.job[j]] = 1
			r.Status = Infeasible
			return r
		}
	}
	reach := make([]float64, s.in.k)
	for j := range s.in.n {
		most := make(map[int32]float64)
		for i := s.in.start[j]; i < s.in.start[j+1]; i++ {
			q := s.in.vector[i]
			for t := s.in.ptr[q]; t < s.in.ptr[q+1]; t++ {
				if s.in.amount[t] < 0 {
					most[s.in.row[t]] = max(most[s.in.row[t]], -s.in.amount[t])
				}
			}
		}
		for k := range reach {
			reach[k] += s.in.count[j] * most[int32(k)]
		}
	}
	for k, least := range s.p.Least {
		sum := 0.0
		for row, resource := range s.in.resource {
			if int(resource) == k && s.in.unit[row] < 0 {
				sum = -reach[row] * s.in.unit[row]
			}
		}
		if sum < least*(1-feasibility) {
			r.Prices[k] = -1
			r.Status = Infeasible
			return r
		}
	}
	return nil
}

// firstPhase looks for any answer: it minimises what is lacking, in parts of each
// row. It returns the proof if there is none, and keeps the answer otherwise.
func (s *solver) firstPhase(jobs []int32) *Result {
	zeros := make([]float64, len(s.in.value))
	f := &floorPricer{s.in, zeros}
	e := newCore(s.in, f, jobs, s.keys, &s.budget)
	for k, c := range e.capacity {
		e.box.high[k] = 1 / math.Abs(c)
		e.box.cap[k], e.box.unit[k] = e.box.high[k], e.box.high[k]
		e.price[k] = 0.5 * e.box.high[k]
	}
	e.floor = 1 / s.in.countOf(jobs)
	e.requote()
	for _, j := range jobs {
		e.quote(j)
		e.keys[j], _ = f.best(e, e.keys[j])
	}
	if !e.start() || !e.run() {
		s.budget.over = true
		return nil
	}
	lack := 0.0
	for r, c := range e.cols {
		if c.job == over {
			lack += e.x[r] / math.Abs(e.capacity[c.lo])
		}
	}
	if lack <= feasibleSlack {
		e.unperturb()
		s.found = slices.Clone(s.weights(e))
		return nil
	}
	r := s.trivial()
	r.Status = Infeasible
	sanitize(e.price)
	e.requote()
	r.Prices = s.pricesOf(e.price, 1)
	if s.p.Floor != nil {
		r.JobPrices = s.floorPrices(e, zeros)
	}
	return r
}

// solveValues solves the program over jobs from the guess of prices, or, without
// one, from those of a sample. The highest price rises until nothing is lacking.
func (s *solver) solveValues(jobs []int32, guess []float64, width float64) *core {
	if guess == nil && len(jobs) > 2*sampleSize {
		guess, width = s.solveValues(s.in.sample(jobs), nil, 0).price, sampledWidth
	}
	f := &floorPricer{s.in, s.in.value}
	e := newCore(s.in, f, jobs, s.keys, &s.budget)
	size := 0.0
	for _, j := range jobs {
		most := 0.0
		for i := s.in.start[j]; i < s.in.start[j+1]; i++ {
			most = max(most, math.Abs(s.in.value[i]))
		}
		size += s.in.count[j] * most
	}
	n := s.in.countOf(jobs)
	e.floor = 1e-5 * size / n
	for k, c := range e.capacity {
		e.box.unit[k] = 0.1 * size / (float64(s.in.k) * math.Abs(c))
		e.box.cap[k] = 100 * max(size/math.Abs(c), s.dearest())
	}
	if guess == nil {
		guess, width = make([]float64, s.in.k), coldWidth
		for k := range guess {
			guess[k] = 5 * e.box.unit[k]
		}
	}
	e.box.setAll(width)
	e.box.set(guess)
	e.setPrices(e.box.centre)
	for _, j := range jobs {
		e.quote(j)
		e.keys[j], _ = f.best(e, e.keys[j])
	}
	if !e.start() {
		s.budget.over = true
	}
	e.optimize()
	for range 6 {
		if s.budget.over || !e.lacks() {
			break
		}
		for k := range e.box.cap {
			e.box.cap[k] *= 100
		}
		e.grow()
		e.optimize()
	}
	if !sanitize(e.price) {
		clear(e.price)
	}
	e.requote()
	return e
}

// lacks reports whether a row is short though its price is the highest.
func (e *core) lacks() bool {
	for r, c := range e.cols {
		if c.job == over && e.x[r] > 4e-10*math.Abs(e.capacity[c.lo]) {
			return true
		}
	}
	return false
}

// dearest returns the highest price of a unit that a value alone can justify.
func (s *solver) dearest() float64 {
	most := 0.0
	for _, v := range s.in.value {
		most = max(most, math.Abs(v))
	}
	return most
}

// floorPrices returns the job prices that belong to e's, for these values.
func (s *solver) floorPrices(e *core, values []float64) []float64 {
	prices := make([]float64, s.p.Jobs())
	f := &floorPricer{s.in, values}
	for j, k := range s.full.job {
		class := s.classOf(j)
		e.quote(class)
		_, prices[k] = f.best(e, e.keys[class])
	}
	return prices
}
