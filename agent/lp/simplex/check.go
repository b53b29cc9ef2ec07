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
// proof of optimality.
func Check(p *Problem, r *Result, gap float64) error {
	if err := p.validate(); err != nil {
		return err
	}
	return check(p, r, gap)
}

// check is Check of a valid problem.
func check(p *Problem, r *Result, gap float64) error {
	if err := checkShares(p, r.Shares); err != nil {
		return err
	}
	if err := checkPrices(p, r); err != nil {
		return err
	}
	bad := func(what string, got, want float64) error {
		return fmt.Errorf("%w: %s is %v, recomputed %v", ErrCheck, what, got, want)
	}
	if want := objective(p, r.Shares); !near(r.Objective, want) {
		return bad("objective", r.Objective, want)
	}
	if want := bound(p, r.Prices, r.JobPrices); !near(r.Bound, want) {
		return bad("bound", r.Bound, want)
	}
	if want := relativeGap(r.Objective, r.Bound); !(math.Abs(r.Gap-want) <= feasibility) {
		return bad("gap", r.Gap, want)
	}
	if r.Gap < -feasibility {
		return fmt.Errorf("%w: objective %v is above the bound %v", ErrCheck, r.Objective, r.Bound)
	}
	if r.Status == Optimal && !(r.Gap <= gap) {
		return fmt.Errorf("%w: optimal with a gap of %v, want at most %v", ErrCheck, r.Gap, gap)
	}
	return nil
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= feasibility*max(math.Abs(a), math.Abs(b))
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
	}
	return nil
}

func checkPrices(p *Problem, r *Result) error {
	jobPrices := 0
	if p.Objective == MaxMin {
		jobPrices = p.Jobs()
	}
	if len(r.Prices) != len(p.Capacity) || len(r.JobPrices) != jobPrices {
		return fmt.Errorf("%w: %d prices and %d job prices", ErrCheck, len(r.Prices), len(r.JobPrices))
	}
	for _, prices := range [2][]float64{r.Prices, r.JobPrices} {
		for i, price := range prices {
			if !(price >= 0) || math.IsInf(price, 1) {
				return fmt.Errorf("%w: price %d is %v", ErrCheck, i, price)
			}
		}
	}
	return nil
}

// objective returns the value of the answer x.
func objective(p *Problem, x []Share) float64 {
	if p.Objective == Sum {
		total := 0.0
		for _, s := range x {
			total += s.Weight * p.Rate[s.Candidate]
		}
		return total
	}
	least, i := math.Inf(1), 0
	for j := range p.Jobs() {
		rate := 0.0
		for ; i < len(x) && x[i].Candidate < p.Offsets[j+1]; i++ {
			rate += x[i].Weight * p.Rate[x[i].Candidate]
		}
		if p.usable(j) {
			least = min(least, rate/p.Target[j])
		}
	}
	if math.IsInf(least, 1) {
		return 0 // no job has a usable candidate: there is nothing to share
	}
	return least
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

// bound returns an upper bound of the optimum for any prices λ, μ >= 0:
//
//	Sum:    Σ_k λ[k]·C[k] + Σ_j max(0, max_s r[j,s] - λ·u[j,s])
//	MaxMin: (Σ_k λ[k]·C[k] + Σ_j max(0, max_s μ[j]·r[j,s] - λ·u[j,s])) / Σ_j μ[j]·f[j]
//
// the maxima taken over the candidates that can run. Both are the dual objective
// at the best job-row prices for λ and μ.
func bound(p *Problem, prices, jobPrices []float64) float64 {
	total := 0.0
	for k, c := range p.Capacity {
		total += prices[k] * c
	}
	cost := priceUsages(p, prices)
	owed, sharing := 0.0, false
	for j := range p.Jobs() {
		mu := 1.0
		if p.Objective == MaxMin {
			if !p.usable(j) {
				continue
			}
			sharing = true
			mu = jobPrices[j]
			owed += mu * p.Target[j]
		}
		gain := 0.0
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			gain = max(gain, mu*p.Rate[i]-cost[p.Usage[i]])
		}
		total += gain
	}
	switch {
	case p.Objective == Sum:
		return total
	case !sharing:
		return 0
	case owed == 0:
		return math.Inf(1)
	}
	return total / owed
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

func relativeGap(objective, bound float64) float64 {
	switch {
	case objective == bound: // both may be 0
		return 0
	case math.IsInf(bound, 1):
		return 1
	}
	return (bound - objective) / bound
}
