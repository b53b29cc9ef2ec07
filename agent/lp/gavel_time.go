package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// finishTimeProgram is Gavel's FinishTimeFairness_Perf
// (scheduler/policies/finish_time_fairness.py, after Themis, NSDI 2020):
//
//	min max_j ρ[j],  ρ[j] = (age + R/thr(X)) / (D + R/thr(X[iso]))
//
// R are the steps left and D is how long the steps done would have taken with an
// exclusive 1/n, here at the present n: Gavel adds that up over time, a State does
// not hold it. ρ[j] <= ρ says thr(X) >= R / (ρ·T - age) with T the whole of the
// denominator, so that in the level z = 1/ρ the program is a MaxMin with
// f = R/T and the lag h = age/T. The original inverts throughputs in a convex
// program and returns isolated shares where its solver fails; this has an answer
// always, for z near 0.
func finishTimeProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, rigid)
	p.goal = "1/ρ of the job with the largest ρ, its time to finish over that on an equal share of the cluster"
	p.setRates()
	n := len(s.Jobs)
	p.problem.Target, p.problem.Lag = make([]float64, n), make([]float64, n)
	strategies := make([]int, len(p.capacity))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		left := p.remaining(i)
		alone := isolated(j, typical(strategies, j, p.budget), p.capacity, n)
		whole := (j.Done + left) / alone
		p.problem.Target[i] = target(left / whole)
		p.problem.Lag[i] = within((s.Now - j.Submit).Seconds() / whole)
		p.setWorth(i, c, 1/p.problem.Target[i])
	}
	return p
}

// makespanProgram is Gavel's MinTotalDuration_Perf
// (scheduler/policies/min_total_duration.py): the least T in which every job can
// finish, thr(X) >= R/T. The original brackets T by bisection; in u = 1/T it is one
// linear program.
func makespanProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, rigid)
	p.goal = "one over the time until the last job ends, 1/s"
	p.setRates()
	p.problem.Target = make([]float64, len(s.Jobs))
	for i := range s.Jobs {
		p.problem.Target[i] = target(p.remaining(i))
		p.setWorth(i, c, 1/p.problem.Target[i])
	}
	return p
}

// totalProgram minimises the sum of the times that the jobs have still to go,
// Σ_j w[j]·R[j]/thr(X): the objective of min_jct in Sia's artifact (SOSP 2023),
// there approximated by tangents. With all jobs sharing at once it is an upper
// bound of what a schedule that runs them one after the other needs.
func totalProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Total, rigid)
	p.goal = "sum of the weighted times that the jobs have still to go, s"
	p.setRates()
	p.problem.Target = make([]float64, len(s.Jobs))
	for i := range s.Jobs {
		left := p.remaining(i)
		p.problem.Target[i] = target(s.Jobs[i].Weight * left)
		p.setWorth(i, c, s.Jobs[i].Weight/left)
	}
	return p
}

// fifoProgram is Gavel's FIFO as its paper states it (OSDI 2020, section 4.2):
//
//	max Σ_m (n - m + 1) · thr(X) / thr[fastest]
//
// over the jobs m = 1 … n in the order of their arrival. It is not strict: n·1/2
// of the first is worth as much as n/2 of a later one.
func fifoProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, rigid)
	p.goal = "sum of throughputs, each relative to the job's fastest and weighted by its place in the queue"
	for i := range s.Jobs {
		fastest := 0.0
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			fastest = max(fastest, p.strategyOf(i, n).Throughput)
		}
		p.setWorth(i, c, float64(len(s.Jobs)-i)/fastest)
	}
	p.problem.Rate = p.worth
	return p
}
