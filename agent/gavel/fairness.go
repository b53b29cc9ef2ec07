package gavel

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env/gavel"
)

// FinishTimeFairness is FinishTimeFairness_Perf (finish_time_fairness.py, after
// Mahajan et al., Themis, NSDI 2020): it minimises the largest
//
//	ρ[m] = (age[m] + left[m]/r(X)) / (alone[m] + left[m]/r(X[iso])),  r(X) = Σ_t T[m,t]·X[m,t]
//
// with the shares X[iso][m,t] = C[t]/(n·g[m]), scaled down where a job's sum is
// more than 1, and alone[m], the time that what the job has done would have taken
// at the r(X[iso]) of the decision before. In z = 1/ρ it is max-min with a lag,
// r(X) ≥ left·z / (whole − age·z), whole being the denominator: exact, where the
// original solves a convex program. With Blind it is FinishTimeFairness, for which
// a job's rate on every type is that on the first.
type FinishTimeFairness struct {
	Blind bool
	Seed  uint64 // of the ties of a Blind one

	ties  ties
	left  []float64 // [IDs seen] steps left when it was last asked, 0 for new jobs
	rate  []float64 // [IDs seen] r(X[iso]) then
	alone []float64 // [IDs seen] s
}

// Rules implements [gavel.Policy].
func (p *FinishTimeFairness) Rules() gavel.Rules { return gavel.Rules{Shuffle: p.Blind} }

// Allocate implements [gavel.Policy].
func (p *FinishTimeFairness) Allocate(v *gavel.View, x []float64) error {
	n := v.Jobs()
	need := p.ties.needs(n)
	lag := make([]float64, n)
	for i := range need {
		first := v.Rates[i*len(v.Types)]
		if p.Blind && first == 0 {
			return fmt.Errorf("%w: job %d on %s", ErrReference, v.IDs[i], v.Types[0].Name)
		}
		whole := p.whole(v, i)
		need[i], lag[i] = v.Left[i]/whole, v.Age[i]/whole
		if p.Blind { // in shares of time
			need[i] /= first
		}
	}
	if !p.Blind {
		p.ties.problem.Lag = lag
		return p.ties.solve(v, x)
	}
	shares(v, need, lag)
	p.ties.spread(v, x, p.Seed)
	return nil
}

// whole returns the time that all of the i-th job's work takes with an exclusive
// 1/n of the cluster, and remembers how far it is.
func (p *FinishTimeFairness) whole(v *gavel.View, i int) float64 {
	id := int(v.IDs[i])
	for len(p.left) <= id {
		p.left, p.rate, p.alone = append(p.left, 0), append(p.rate, 0), append(p.alone, 0)
	}
	if p.left[id] > 0 {
		p.alone[id] += (p.left[id] - v.Left[i]) / p.rate[id]
	}
	rate := p.isolated(v, i)
	p.left[id], p.rate[id] = v.Left[i], rate
	return p.alone[id] + v.Left[i]/rate
}

// isolated returns r(X[iso]) of the i-th job.
func (p *FinishTimeFairness) isolated(v *gavel.View, i int) float64 {
	k := len(v.Types)
	sum, rate := 0.0, 0.0
	for t, r := range v.Rates[i*k : (i+1)*k] {
		share := float64(v.Types[t].GPUs) / (float64(v.Jobs()) * float64(v.GPUs[i]))
		sum += share
		if p.Blind {
			r = v.Rates[i*k]
		}
		rate += share * r
	}
	return rate / max(1, sum)
}

// shares turns needs, in shares of time, and lags into the shares of time that make the largest ρ least: the largest z for which they fit, by bisection.
func shares(v *gavel.View, need, lag []float64) {
	gpus := 0.0
	for _, t := range v.Types {
		gpus += float64(t.GPUs)
	}
	share := func(i int, z float64) float64 {
		room := 1 - lag[i]*z
		if room <= 0 {
			return 2 // more than all of the time
		}
		return min(2, need[i]*z/room)
	}
	fits := func(z float64) bool {
		wanted := 0.0
		for i := range need {
			s := share(i, z)
			if s > 1 {
				return false
			}
			wanted += s * float64(v.GPUs[i])
		}
		return wanted <= gpus
	}
	low, high := 0.0, 1.0
	for fits(high) && high < 1e12 {
		low, high = high, 2*high
	}
	for range 60 {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	for i := range need {
		need[i] = share(i, low)
	}
}
