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
	p := newProgram(s, simplex.Sum)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		p.setWorth(i, c, j.Weight/remaining(s, j))
	}
	p.problem.Rate = p.worth
	return p
}

// remaining returns the steps that j is expected to have left, over 0.
func remaining(s *env.State, j *env.JobState) float64 {
	if s.Knowledge != env.None {
		return j.Remaining
	}
	fastest := 0.0
	for k := range j.Strategies {
		fastest = max(fastest, j.Strategies[k].Throughput)
	}
	return j.Done + fastest*s.RoundLen.Seconds()
}
