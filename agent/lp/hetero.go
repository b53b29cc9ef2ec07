package lp

import (
	"math"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// heteroCostProgram is the job-strategy program with the objective of throughput
// less its price,
//
//	max Σ_j Σ_s (v[j,s] - μ·c[s]/c̄) · x[j,s]
//
// where v is that of throughputProgram, c[s] what the strategy's GPUs cost in an
// hour and c̄ what an equal share of the cluster costs, so that a job at its share
// pays μ of a value of about 1. Candidates that are not worth their price count 0 and
// stay out of the answer. GPUs that it leaves idle are filled all the same, as by
// every policy here: no job waits beside GPUs that it could use.
func heteroCostProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, everything)
	p.goal = "sum of weighted throughputs, each relative to that of an equal share of the cluster, less the price of the GPUs relative to that share's"
	p.normalize(c)
	price, all := prices(&s.Cluster), 0.0
	for t, gpus := range p.capacity {
		all += price[t] * float64(gpus)
	}
	share := target(all / float64(max(1, len(s.Jobs))))
	for i := range s.Jobs {
		first, last := p.candidates(i)
		for n := first; n < last; n++ {
			st := p.strategyOf(i, n)
			p.worth[n] = within(p.worth[n] - float64(c.CostWeight*price[st.Type]*st.Held()/share))
		}
	}
	p.problem.Rate = p.worth
	return p
}

// powerProgram is the job-strategy program with the objective of a p-norm,
//
//	max Σ_j w[j] Σ_s v[j,s]^p · x[j,s]
//
// with 0 < p < 1 (Config.Power): the less p, the more a job counts that would get
// little. As in Sia the power is taken of each candidate, not of their mix.
func powerProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, everything)
	p.goal = "sum of weighted powers of throughputs relative to that of an equal share of the cluster"
	p.normalize(c)
	for i := range s.Jobs {
		first, last := p.candidates(i)
		w := target(s.Jobs[i].Weight)
		for n := first; n < last; n++ {
			p.worth[n] = within(w * math.Pow(p.worth[n]/w, c.Power))
		}
	}
	p.problem.Rate = p.worth
	return p
}

// fairPart is how much of the max-min level the lexicographic program keeps.
const fairPart = 0.95

// solveLexicographic puts fairness first: maxMinProgram gives the level z*, then
// throughput is maximised with thr(X) >= 0.95·z*·f[j] for every job. The 5 % are
// what the second objective has to work with.
func solveLexicographic(r *run) (*program, *simplex.Result, error) {
	p := maxMinProgram(r.state, r.config)
	first, err := r.solve(p, nil)
	if err != nil || first.Status != simplex.Optimal {
		return p, first, err
	}
	q := throughputProgram(r.state, r.config)
	q.goal += ", with 95 % of max-min fairness kept"
	q.problem.Value, q.problem.Rate = q.worth, p.problem.Rate
	q.problem.Floor = make([]float64, len(r.state.Jobs))
	for i, f := range p.problem.Target {
		q.problem.Floor[i] = within(fairPart * first.Objective * f)
	}
	second, err := r.solve(q, nil)
	if err != nil {
		return nil, nil, err
	}
	if second == nil || !second.Status.Feasible() {
		return p, first, nil
	}
	return q, second, nil
}
