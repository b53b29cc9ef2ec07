package lp

import (
	"slices"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// costProgram is Gavel's ThroughputNormalizedByCostSum_Perf
// (scheduler/policies/max_sum_throughput.py):
//
//	max Σ_j Σ_s thr[j,s] / c[s] · x[j,s]
//
// where c[s] is what the strategy's GPUs cost in an hour. Throughputs here are
// normalized: steps of different models are not to be added up.
func costProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, rigid)
	p.goal = "sum of weighted throughputs, each relative to that of an equal share of the cluster, per dollar an hour"
	p.normalize(c)
	price := prices(&s.Cluster)
	for i := range s.Jobs {
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			st := p.strategyOf(i, n)
			p.worth[n] = within(p.worth[n] / (price[st.Type] * st.Held()))
		}
	}
	p.problem.Rate = p.worth
	return p
}

// prices returns what a GPU of each type costs in an hour. Types without a price
// cost what the others do on average, and 1 if none has one.
func prices(c *env.Cluster) []float64 {
	price := make([]float64, len(c.Types))
	sum, n := 0.0, 0.0
	for t := range c.Types {
		if price[t] = c.Types[t].PricePerHour; price[t] > 0 {
			sum, n = sum+price[t], n+1
		}
	}
	for t := range price {
		if price[t] == 0 {
			price[t] = 1
			if n > 0 {
				price[t] = sum / n
			}
		}
		price[t] = target(price[t])
	}
	return price
}

// solveSLO is Gavel's ThroughputNormalizedByCostSum_PerfSLOs (the same file): the
// program above with a row for every job with a deadline,
//
//	thr(X) >= R / (time left).
//
// The original solves it without those rows where they cannot all be kept. Here
// they are lowered together until they can: first the largest z <= 1 is sought for
// which thr(X) >= z · R / (time left) for all of them. Deadlines that have passed,
// or that the job would miss alone, ask for nothing or for what is possible.
func solveSLO(r *run) (*program, *simplex.Result, error) {
	p := costProgram(r.state, r.config)
	floors := p.deadlines()
	if floors == nil {
		result, err := r.solve(p, nil)
		return p, result, err
	}
	lowered := *p
	together := &lowered
	together.goal = "least part of any deadline's throughput, 1 where all can be met"
	together.problem.Objective = simplex.MaxMin
	together.problem.Rate = make([]float64, len(p.strategy))
	together.setRates()
	together.problem.Target, together.problem.Base = floors, make([]float64, len(floors))
	first, err := r.solve(together, nil)
	if err != nil || !first.Status.Feasible() {
		return together, first, err
	}
	met := min(1, max(0, first.Objective)*(1-1e-7))
	p.problem.Value, p.problem.Rate = p.worth, together.problem.Rate
	p.problem.Floor = make([]float64, len(floors))
	for i := range floors {
		p.problem.Floor[i] = met * floors[i]
	}
	p.goal += ", with the deadlines that can be met kept"
	result, err := r.solve(p, nil)
	if err != nil {
		return nil, nil, err
	}
	if result == nil || !result.Status.Feasible() {
		return together, first, nil
	}
	return p, result, nil
}

// deadlines returns the throughput that each job needs to meet its deadline, at
// most that of its fastest candidate; nil if no job has one.
func (p *program) deadlines() []float64 {
	rates := make([]float64, len(p.state.Jobs))
	for i := range rates {
		j := &p.state.Jobs[i]
		left := (j.Deadline - p.state.Now).Seconds()
		if j.Deadline == 0 || left <= 0 {
			continue
		}
		fastest := 0.0
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			fastest = max(fastest, p.strategyOf(i, n).Throughput)
		}
		if rate := within(min(p.remaining(i)/left, fastest)); rate >= smallest {
			rates[i] = rate
		}
	}
	if slices.Max(append(rates, 0)) == 0 {
		return nil
	}
	return rates
}
