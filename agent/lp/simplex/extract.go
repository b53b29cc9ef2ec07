package simplex

import (
	"cmp"
	"math"
	"slices"
)

// result turns the basis of e, over all jobs, into an answer to the Problem. m is
// nil for Sum.
func (s *solver) result(e *core, m *mixPricer) *Result {
	x := s.weights(e)
	s.fit(x)
	r := &Result{Shares: s.sharesOf(x)}
	switch {
	case m != nil:
		s.certify(r, e, m)
	case s.p.Objective == Total:
		r.Prices, r.JobPrices = s.pricesOf(e.price, 1), s.totalPrices(e)
	default:
		r.Prices = s.pricesOf(e.price, 1)
	}
	return r
}

// sharesOf returns the shares with weights x, shape [m] of the full instance.
func (s *solver) sharesOf(x []float64) []Share {
	n := 0
	for _, weight := range x {
		if weight > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	shares := make([]Share, 0, n)
	for i, weight := range x {
		if weight > 0 {
			shares = append(shares, Share{s.full.origin[i], min(weight, 1)})
		}
	}
	return shares
}

// pricesOf returns prices of the instance, divided by f, as prices of the
// Problem.
func (s *solver) pricesOf(prices []float64, f float64) []float64 {
	out := make([]float64, len(s.p.Capacity))
	for k, resource := range s.in.resource {
		out[resource] += prices[k] / f / s.in.unit[k] // a least use counts down
	}
	return out
}

// classOf returns the job of the instance that stands for job j of the full one.
func (s *solver) classOf(j int) int32 {
	if s.class == nil {
		return int32(j)
	}
	return s.class[j]
}

// part is a column and how many of its class's jobs take it.
type part struct {
	column column
	amount float64
}

// weights returns the time each candidate of each single job runs, shape [m] of
// the full instance.
func (s *solver) weights(e *core) []float64 {
	parts := make(map[int32][]part) // of the few classes with basic columns
	for r, c := range e.cols {
		if c.job >= 0 && e.x[r] > 0 {
			parts[c.job] = append(parts[c.job], part{c, e.x[r]})
		}
	}
	for j, list := range parts {
		list = completed(list, e.keys[j], s.in.count[j])
		slices.SortStableFunc(list, func(a, b part) int { // the first of equal jobs do best
			return cmp.Compare(s.in.rateOfColumn(b.column), s.in.rateOfColumn(a.column))
		})
		parts[j] = list
	}
	x := emptied(s.x, len(s.full.rate))[:len(s.full.rate)]
	clear(x)
	s.x = x
	for j := range s.full.n {
		class := s.classOf(j)
		shift := s.full.start[j] - s.in.start[class]
		list, fractional := parts[class]
		if !fractional {
			spread(x, e.keys[class], shift, 1)
			continue
		}
		for room := 1.0; room > 0 && len(list) > 0; {
			amount := min(room, list[0].amount)
			spread(x, list[0].column, shift, amount)
			room -= amount
			if list[0].amount -= amount; list[0].amount <= 0 {
				list = list[1:]
			}
		}
		parts[class] = list
	}
	return x
}

// completed returns the basic columns of a class of count jobs together with what
// they leave to the key; rounding may have made them too large.
func completed(list []part, key column, count float64) []part {
	total := 0.0
	for _, p := range list {
		total += p.amount
	}
	if total > count {
		for i := range list {
			list[i].amount *= count / total
		}
		return list
	}
	return append(list, part{key, count - total})
}

// spread adds amount of column c to the weights of a job whose candidates are
// shift further on than those of the column.
func spread(x []float64, c column, shift int32, amount float64) {
	if c.lo != none {
		x[c.lo+shift] += amount * (1 - c.weight)
	}
	if c.hi != none {
		x[c.hi+shift] += amount * c.weight
	}
}

// fit scales weights down, where they overstep a capacity, until they do not:
// each candidate by the tightest of the resources it takes.
func (s *solver) fit(x []float64) {
	factor := make([]float64, s.full.k)
	for i, weight := range x {
		s.full.addUsage(factor, int32(i), weight)
	}
	for k, used := range factor {
		factor[k] = 1
		if used > s.full.capacity[k] && used > 0 {
			factor[k] = s.full.capacity[k] / used
		}
	}
	for i, q := range s.full.vector {
		tightest := 1.0
		for _, k := range s.full.row[s.full.ptr[q]:s.full.ptr[q+1]] {
			tightest = min(tightest, factor[k])
		}
		x[i] *= tightest
	}
}

// certify sets the prices of MaxMin that prove the lowest bound: those of the
// last basis, those that the level comes from, or those of the ceiling.
func (s *solver) certify(r *Result, e *core, m *mixPricer) {
	if m.hasty && !s.budget.over && m.level < s.ceiling {
		e.setPrices(m.proof)
		e.normalize()
		r.Prices, r.JobPrices = s.levelPrices(e, m)
		return
	}
	r.Prices, r.JobPrices = make([]float64, len(s.p.Capacity)), s.ceilingPrices()
	least := bound(s.p, r.Prices, r.JobPrices)
	for _, prices := range [2][]float64{append([]float64(nil), e.price...), m.proof} {
		e.setPrices(prices)
		e.normalize()
		resources, jobs := s.levelPrices(e, m)
		if b := bound(s.p, resources, jobs); b < least {
			least, r.Prices, r.JobPrices = b, resources, jobs
		}
	}
}

// levelPrices returns the prices of the Problem that belong to e's: job prices
// are how fast each job's cost rises with the level, everything scaled such that
// raising the level by 1 costs 1.
func (s *solver) levelPrices(e *core, m *mixPricer) (resources, jobs []float64) {
	slopes := make([]float64, s.in.n)
	total := 0.0
	for j := range slopes {
		e.quote(int32(j))
		_, _, slope := m.best(e, m.bracket(e.keys[j]))
		slopes[j] = max(slope, 0)
		_, rise := s.in.needed(int32(j), m.level)
		total += s.in.count[j] * slopes[j] * rise
	}
	if !(total > 0) || math.IsInf(total, 1) {
		return make([]float64, len(s.p.Capacity)), s.ceilingPrices()
	}
	jobs = make([]float64, s.p.Jobs())
	for j, k := range s.full.job {
		class := s.classOf(j)
		jobs[k] = slopes[class] / total
		if f := s.p.Target[k]; f > 0 {
			jobs[k] /= f
		}
	}
	return s.pricesOf(e.price, total), jobs
}
