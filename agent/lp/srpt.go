package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// srptProgram is the job-strategy program with the weights of shortest
// remaining time, the per-round stand-in for the least total completion time
// (convex; Sia's artifact solves that as min_jct):
//
//	max Σ_j Σ_s w[j] · thr[j,s] / R[j] · r[j,s] · x[j,s]
//
// R[j] are the steps left, so that a coefficient is one over the time the job
// would still take, and r[j,s] is that of throughputProgram.
//
// Where nothing is known of the remaining work, R[j] is the attained service in
// steps, Done, and one round at full speed: with a heavy tail the work a job can
// be expected to have left grows in proportion to what it has had, which is why
// least attained service works (Tiresias, NSDI 2019).
func srptProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.Sum, everything)
	p.goal = "sum of weighted throughputs over the remaining work, 1/s"
	p.hurry(c)
	p.problem.Rate = p.worth
	return p
}

// hurry makes the worth of all candidates their throughput over the steps left.
func (p *program) hurry(c *Config) {
	for i := range p.state.Jobs {
		p.setWorth(i, c, p.state.Jobs[i].Weight/p.remaining(i))
	}
}

// remaining returns the steps that job i is expected to have left, over 0 if it
// has candidates.
func (p *program) remaining(i int) float64 {
	j := &p.state.Jobs[i]
	if p.state.Knowledge != env.None {
		return j.Remaining
	}
	fastest := 0.0
	first, last := p.candidates(i)
	for n := first; n < last; n++ {
		fastest = max(fastest, p.strategyOf(i, n).Throughput)
	}
	return j.Done + fastest*p.state.RoundLen.Seconds()
}
