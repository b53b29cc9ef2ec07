package simplex

import (
	"cmp"
	"math"
	"slices"
)

// result turns the basis of e, over all jobs, into an answer to the Problem. m is
// nil for Sum.
func (s *solver) result(e *core, m *mixPricer) *Result {
	r := &Result{Shares: s.sharesOf(s.weights(e))}
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

// sharesOf returns the shares of the Problem that weights of candidates of the full
// instance are, ascending, after scaling them into the capacities.
func (s *solver) sharesOf(weights []Share) []Share {
	s.fit(weights)
	n := 0
	for _, w := range weights {
		if w.Weight > 0 {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	shares := make([]Share, 0, n)
	for _, w := range weights {
		if w.Weight > 0 {
			shares = append(shares, Share{s.full.originOf(w.Candidate), min(w.Weight, 1)})
		}
	}
	return shares
}

// sparse returns what is not 0 of x, shape [m].
func sparse(x []float64) []Share {
	var list []Share
	for i, weight := range x {
		if weight != 0 {
			list = append(list, Share{int32(i), weight})
		}
	}
	return list
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

// weights returns the time each candidate of each single job runs, ascending by
// candidate of the full instance. The list is lent until the next call.
func (s *solver) weights(e *core) []Share {
	parts := make(map[int32][]part) // of the few classes with basic columns
	for r, c := range e.cols {
		if c.job >= 0 && e.x[r] > 0 {
			parts[c.job] = append(parts[c.job], part{c, e.x[r]})
		}
	}
	fractional := make([]bool, s.in.n)
	for j, list := range parts {
		list = completed(list, e.keys[j], s.in.count[j])
		slices.SortStableFunc(list, func(a, b part) int { // the first of equal jobs do best
			return cmp.Compare(s.in.rateOfColumn(b.column), s.in.rateOfColumn(a.column))
		})
		parts[j], fractional[j] = list, true
	}
	weights := emptied(s.list, s.full.n)
	for j := range s.full.n {
		class := s.classOf(j)
		shift := s.full.start[j] - s.in.start[class]
		if !fractional[class] {
			weights = spread(weights, len(weights), e.keys[class], shift, 1)
			continue
		}
		list, first := parts[class], len(weights)
		for room := 1.0; room > 0 && len(list) > 0; {
			amount := min(room, list[0].amount)
			weights = spread(weights, first, list[0].column, shift, amount)
			room -= amount
			if list[0].amount -= amount; list[0].amount <= 0 {
				list = list[1:]
			}
		}
		parts[class] = list
	}
	s.list = weights
	return weights
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

// spread adds amount of column c to the weights of a job, which begin at number
// first and whose candidates are shift further on than those of the column.
func spread(weights []Share, first int, c column, shift int32, amount float64) []Share {
	if c.lo != none {
		weights = addShare(weights, first, c.lo+shift, amount*(1-c.weight))
	}
	if c.hi != none {
		weights = addShare(weights, first, c.hi+shift, amount*c.weight)
	}
	return weights
}

// addShare adds weight to that of candidate i in weights, ascending from first on.
func addShare(weights []Share, first int, i int32, weight float64) []Share {
	at := len(weights)
	for at > first && weights[at-1].Candidate >= i {
		at--
	}
	if at < len(weights) && weights[at].Candidate == i {
		weights[at].Weight += weight
		return weights
	}
	return slices.Insert(weights, at, Share{i, weight})
}

// fit scales weights down, where they overstep a capacity, until they do not:
// each candidate by the tightest of the resources it takes.
func (s *solver) fit(weights []Share) {
	factor := make([]float64, s.full.k)
	for _, w := range weights {
		s.full.addUsage(factor, w.Candidate, w.Weight)
	}
	all := true
	for k, used := range factor {
		factor[k] = 1
		if used > s.full.capacity[k] && used > 0 {
			factor[k], all = s.full.capacity[k]/used, false
		}
	}
	if all {
		return
	}
	for i := range weights {
		w, tightest := &weights[i], 1.0
		q := s.full.vector[w.Candidate]
		for _, k := range s.full.row[s.full.ptr[q]:s.full.ptr[q+1]] {
			tightest = min(tightest, factor[k])
		}
		w.Weight *= tightest
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
