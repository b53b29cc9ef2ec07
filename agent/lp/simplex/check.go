package simplex

import (
	"errors"
	"fmt"
	"math"
)

// ErrCheck is wrapped by the errors of Check.
var ErrCheck = errors.New("simplex: answer fails its check")

// feasibility is how far, relatively, a row may be overstepped.
const feasibility = 1e-9

// Check reports whether r is an answer to p as Result documents it: feasible to
// 1e-9, with the objective and the bound that follow from its shares and prices,
// and within gap if it claims to be optimal. The gap of a feasible answer is the
// sum of all its complementary slackness violations, so that a small one is a
// proof of optimality. Of an infeasible problem it checks the proof.
func Check(p *Problem, r *Result, gap float64) error {
	if err := p.validate(); err != nil {
		return err
	}
	return check(p, r, gap)
}

// check is Check of a valid problem.
func check(p *Problem, r *Result, gap float64) error {
	if err := checkPrices(p, r); err != nil {
		return err
	}
	switch r.Status {
	case Infeasible:
		return checkInfeasible(p, r)
	case Unknown:
		if len(r.Shares) > 0 {
			return fmt.Errorf("%w: unknown, but with %d shares", ErrCheck, len(r.Shares))
		}
		return nil
	}
	if err := checkShares(p, r.Shares); err != nil {
		return err
	}
	if err := checkNumbers(p, r); err != nil {
		return err
	}
	return checkStatus(r, gap)
}

// checkNumbers reports a number that does not follow from shares and prices.
func checkNumbers(p *Problem, r *Result) error {
	bad := func(what string, got, want float64) error {
		return fmt.Errorf("%w: %s is %v, recomputed %v", ErrCheck, what, got, want)
	}
	if want := objective(p, r.Shares); !near(r.Objective, want, 0) {
		return bad("objective", r.Objective, want)
	}
	size := scaleOf(p, r)
	if want := bound(p, r.Prices, r.JobPrices); !near(r.Bound, want, size) {
		return bad("bound", r.Bound, want)
	}
	if want := relativeGap(p, r); !(math.Abs(r.Gap-want) <= feasibility) {
		return bad("gap", r.Gap, want)
	}
	return nil
}

// checkStatus reports a status that the gap does not allow.
func checkStatus(r *Result, gap float64) error {
	if r.Gap < -feasibility {
		return fmt.Errorf("%w: objective %v is beyond the bound %v", ErrCheck, r.Objective, r.Bound)
	}
	if r.Status == Optimal && !(r.Gap <= gap) {
		return fmt.Errorf("%w: optimal with a gap of %v, want at most %v", ErrCheck, r.Gap, gap)
	}
	return nil
}

// near reports whether a and b are equal but for rounding, relative to them and
// to the size of what they are sums of.
func near(a, b, size float64) bool {
	return a == b || math.Abs(a-b) <= feasibility*max(math.Abs(a), math.Abs(b), size)
}

func checkShares(p *Problem, shares []Share) error {
	used := make([]float64, len(p.Capacity))
	j, total := -1, 0.0
	for i, s := range shares {
		if int(s.Candidate) >= len(p.Rate) || s.Candidate < 0 || i > 0 && s.Candidate <= shares[i-1].Candidate {
			return fmt.Errorf("%w: share %d names candidate %d", ErrCheck, i, s.Candidate)
		}
		if !(s.Weight > 0) {
			return fmt.Errorf("%w: candidate %d has weight %v", ErrCheck, s.Candidate, s.Weight)
		}
		for j < 0 || p.Offsets[j+1] <= s.Candidate {
			j, total = j+1, 0
		}
		if total += s.Weight; !(total <= 1+feasibility) {
			return fmt.Errorf("%w: job %d has shares of %v in total", ErrCheck, j, total)
		}
		for _, t := range p.Usages[p.Usage[s.Candidate]] {
			used[t.Resource] += s.Weight * t.Amount
		}
	}
	for k, c := range p.Capacity {
		if !(used[k] <= c*(1+feasibility)) {
			return fmt.Errorf("%w: %v used of resource %d, capacity %v", ErrCheck, used[k], k, c)
		}
		if p.Least != nil && !(used[k] >= p.Least[k]*(1-feasibility)) {
			return fmt.Errorf("%w: %v used of resource %d, least %v", ErrCheck, used[k], k, p.Least[k])
		}
	}
	return checkRates(p, shares)
}

// checkRates reports the first job that misses the rate it has to have.
func checkRates(p *Problem, shares []Share) error {
	least := p.Floor
	if p.Objective == MaxMin {
		least = p.Base
	}
	if least == nil {
		return nil
	}
	i := 0
	for j := range p.Jobs() {
		var rate float64
		if rate, i = p.rateOf(shares, i, j); !(rate >= least[j]*(1-feasibility)) && p.usable(j) {
			return fmt.Errorf("%w: job %d has a rate of %v, needs %v", ErrCheck, j, rate, least[j])
		}
	}
	return nil
}

// rateOf returns what job j gets of shares, the first of whose own is number i,
// and the number of the first share after them.
func (p *Problem) rateOf(shares []Share, i, j int) (rate float64, after int) {
	for ; i < len(shares) && shares[i].Candidate < p.Offsets[j+1]; i++ {
		rate += shares[i].Weight * p.Rate[shares[i].Candidate]
	}
	return rate, i
}

func checkPrices(p *Problem, r *Result) error {
	jobPrices := 0
	if p.pricesJobs() {
		jobPrices = p.Jobs()
	}
	if len(r.Prices) != len(p.Capacity) || len(r.JobPrices) != jobPrices {
		return fmt.Errorf("%w: %d prices and %d job prices", ErrCheck, len(r.Prices), len(r.JobPrices))
	}
	for i, price := range r.Prices {
		if !(price >= 0 || p.Least != nil) || math.IsInf(price, 0) || math.IsNaN(price) {
			return fmt.Errorf("%w: price %d is %v", ErrCheck, i, price)
		}
	}
	for j, price := range r.JobPrices {
		if !(price >= 0) || math.IsInf(price, 1) {
			return fmt.Errorf("%w: job price %d is %v", ErrCheck, j, price)
		}
	}
	return nil
}

// pricesJobs reports whether answers to p have job prices.
func (p *Problem) pricesJobs() bool { return p.Objective != Sum || p.Floor != nil }

// objective returns the value of the answer x.
func objective(p *Problem, x []Share) float64 {
	total := 0.0
	if p.Objective == Sum {
		for _, s := range x {
			total += s.Weight * p.valueOf(s.Candidate)
		}
		return total
	}
	least, i, rate := math.Inf(1), 0, 0.0
	for j := range p.Jobs() {
		rate, i = p.rateOf(x, i, j)
		if p.Target[j] == 0 || !p.usable(j) {
			continue
		}
		if p.Objective == Total {
			total += p.Target[j] / rate
		}
		least = min(least, p.level(j, rate))
	}
	switch {
	case p.Objective == Total:
		return total
	case math.IsInf(least, 1):
		return 0 // no job has a usable candidate: there is nothing to share
	}
	return least
}

// level returns how high a rate lifts job j.
func (p *Problem) level(j int, rate float64) float64 {
	rate -= p.baseOf(j)
	if h := p.lagOf(j); h > 0 {
		return rate / (p.Target[j] + h*max(rate, 0))
	}
	return rate / p.Target[j]
}

// needed is the inverse of level: the rate at which job j is at level z.
func (p *Problem) needed(j int, z float64) float64 {
	h := p.lagOf(j)
	if h*z >= 1 {
		return math.Inf(1)
	}
	return p.baseOf(j) + p.Target[j]*z/(1-h*max(z, 0))
}

// usable reports whether job j has a candidate that can make it progress.
func (p *Problem) usable(j int) bool {
	for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
		if p.Rate[i] > 0 && p.runnable(p.Usages[p.Usage[i]]) {
			return true
		}
	}
	return false
}

// bound returns a bound of the optimum for any prices λ and μ >= 0, an upper one
// but for Total. With g[j] = max(0, max_s v[j,s] + μ[j]·r[j,s] - λ·u[j,s]), where
// v is 0 but for Sum and the maxima go over the candidates that can run, it is
//
//	Sum:    Σ_k λ[k]·C[k] + Σ_j g[j] - μ[j]·floor[j], Least instead of C where λ < 0
//	MaxMin: the z at which Σ_j μ[j]·(rate needed for z) = Σ_k λ[k]·C[k] + Σ_j g[j]
//	Total:  Σ_j 2·√(μ[j]·f[j]) - g[j] - Σ_k λ[k]·C[k]
//
// All are the dual objective at the best job-row prices for λ and μ.
func bound(p *Problem, prices, jobPrices []float64) float64 {
	d := dualOf(p, prices, jobPrices, true)
	switch {
	case p.Objective == Sum:
		return d.total - d.owed
	case p.Objective == Total:
		return d.roots - d.total
	case !d.sharing:
		return 0
	case p.Lag != nil:
		return d.level(p, jobPrices)
	case d.owed == 0:
		return math.Inf(1)
	}
	return (d.total - d.base) / d.owed
}

// dual holds the sums that a bound is made of.
type dual struct {
	total   float64 // Σ λ·C + Σ g
	size    float64 // of what total and the owed are made of
	owed    float64 // Σ μ·floor, or Σ μ·f
	base    float64 // Σ μ·b
	roots   float64 // Σ 2·√(μ·f)
	sharing bool    // some job is to be lifted
}

// dualOf sums up prices; valued says whether the candidates' values count.
func dualOf(p *Problem, prices, jobPrices []float64, valued bool) dual {
	var d dual
	for k, c := range p.Capacity {
		if prices[k] < 0 && p.Least != nil {
			c = p.Least[k]
		}
		d.total += prices[k] * c
		d.size += math.Abs(prices[k] * c)
	}
	cost := priceUsages(p, prices)
	for j := range p.Jobs() {
		mu := 0.0
		if p.pricesJobs() {
			if !p.usable(j) {
				if p.Objective == Sum {
					d.addGain(p, cost, j, 0, valued)
				}
				continue
			}
			mu = jobPrices[j]
			d.owe(p, j, mu)
		}
		d.addGain(p, cost, j, mu, valued)
	}
	return d
}

// owe adds what job j has to get, at its price.
func (d *dual) owe(p *Problem, j int, mu float64) {
	if p.Objective == Sum {
		d.owed += mu * p.Floor[j]
		d.size += mu * p.Floor[j]
		return
	}
	d.sharing = d.sharing || p.Target[j] > 0
	d.owed += mu * p.Target[j]
	d.base += mu * p.baseOf(j)
	d.size += mu * p.baseOf(j)
	d.roots += 2 * math.Sqrt(mu*p.Target[j])
}

// addGain adds what job j gains beyond its cost.
func (d *dual) addGain(p *Problem, cost []float64, j int, mu float64, valued bool) {
	gain := 0.0
	for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
		v := mu * p.Rate[i]
		if p.Objective == Sum {
			if valued && mu == 0 {
				v = p.valueOf(i)
			} else if valued {
				v += p.valueOf(i)
			}
		}
		gain = max(gain, v-cost[p.Usage[i]])
	}
	d.total += gain
	d.size += gain
}

// level returns the z at which Σ μ·(rate needed for z) reaches total. The sum
// rises with z, and faster than without lags, so that halving finds it.
func (d *dual) level(p *Problem, jobPrices []float64) float64 {
	low, high := 0.0, (d.total-d.base)/d.owed
	if d.owed == 0 {
		return math.Inf(1)
	}
	if high <= 0 {
		return high // below 0 nothing lags
	}
	var jobs []int
	for j, mu := range jobPrices {
		if mu > 0 && p.usable(j) {
			jobs = append(jobs, j)
		}
	}
	for {
		z := low + (high-low)/2
		if z <= low || z >= high {
			return high
		}
		total := 0.0
		for _, j := range jobs {
			total += jobPrices[j] * p.needed(j, z)
		}
		if total > d.total {
			high = z
		} else {
			low = z
		}
	}
}

// priceUsages returns the price of each usage vector, +Inf where it cannot run.
func priceUsages(p *Problem, prices []float64) []float64 {
	cost := make([]float64, len(p.Usages))
	for q, u := range p.Usages {
		for _, t := range u {
			cost[q] += prices[t.Resource] * t.Amount
		}
		if !p.runnable(u) {
			cost[q] = math.Inf(1)
		}
	}
	return cost
}

// checkInfeasible reports whether the prices prove that p has no answer: what
// the jobs and the resources have to get is worth more than all there is.
func checkInfeasible(p *Problem, r *Result) error {
	if len(r.Shares) > 0 {
		return fmt.Errorf("%w: infeasible, but with %d shares", ErrCheck, len(r.Shares))
	}
	if lack := lacking(p, r.Prices, r.JobPrices); !(lack > feasibility) {
		return fmt.Errorf("%w: infeasible, but the prices prove that only %v is lacking", ErrCheck, lack)
	}
	return nil
}

// lacking returns by how much, relatively, what has to be given exceeds what
// there is to give at these prices: over 0 is a proof that no answer exists
// (Farkas' lemma).
func lacking(p *Problem, prices, jobPrices []float64) float64 {
	d := dualOf(p, prices, jobPrices, false)
	needed := d.base
	if p.Objective == Sum {
		needed = d.owed
	}
	if d.size == 0 {
		return 0
	}
	return (needed - d.total) / d.size
}

// scaleOf returns the size of what the objective of r is a difference of.
func scaleOf(p *Problem, r *Result) float64 {
	size := 0.0
	if p.Objective == Sum && p.Value != nil {
		for _, s := range r.Shares {
			size += s.Weight * math.Abs(p.Value[s.Candidate])
		}
	}
	owed, base := 0.0, 0.0
	for j, b := range p.Base {
		owed += r.JobPrices[j] * p.Target[j]
		base += r.JobPrices[j] * b
	}
	if base > 0 && owed > 0 {
		size = base / owed
	}
	return size
}

// relativeGap returns how far the objective of r is from its bound at most,
// relative to the better of the two and to what they are sums of.
func relativeGap(p *Problem, r *Result) float64 {
	upper, lower := r.Bound, r.Objective
	if p.Objective == Total {
		upper, lower = r.Objective, r.Bound
	}
	switch {
	case upper == lower: // both may be 0
		return 0
	case math.IsInf(upper, 1) || math.IsNaN(upper):
		return 1
	}
	if size := max(math.Abs(upper), scaleOf(p, r)); size > 0 {
		return (upper - lower) / size
	}
	return 0
}
