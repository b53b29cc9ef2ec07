package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// throughputProgram is the job-strategy program of HeteroSched with the
// objective of weighted normalized throughput:
//
//	max Σ_j Σ_s v[j,s]·x[j,s],  v[j,s] = w[j] · thr[j,s] / thr[j,iso] · r[j,s]
//
// where thr[j,iso] is what the job gets from an exclusive 1/n of the cluster
// (Gavel) and r[j,s] is 1 for the strategy it runs already, 1 − restart/horizon
// for all others.
func throughputProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, everything)
	p.goal = "sum of weighted throughputs, each relative to that of an equal share of the cluster"
	p.normalize(c)
	p.problem.Rate = p.worth
	return p
}

// normalize makes the worth of all candidates their weighted normalized
// throughput.
func (p *program) normalize(c *Config) {
	s := p.state
	strategies := make([]int, len(p.capacity))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		iso := isolated(j, typical(strategies, j, p.budget), p.capacity, len(s.Jobs))
		p.setWorth(i, c, j.Weight/iso)
	}
}

// setWorth makes the worth of job i's candidates factor × throughput, less the
// cost of a restart.
func (p *program) setWorth(i int, c *Config, factor float64) {
	j := &p.state.Jobs[i]
	first, last := p.candidates(i)
	for n := first; n < last; n++ {
		k := int(p.strategy[n])
		p.worth[n] = within(factor * j.Strategies[k].Throughput * c.usefulShare(p.state, j, k))
	}
}
