package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// maxMinProgram is Gavel's heterogeneity-aware max-min fairness ("heterogeneous
// LAS") on job-strategy candidates:
//
//	max z,  z <= (g[j] / w[j]) · Σ_s thr[j,s]·x[j,s] / thr[j,prop] for every j
//
// thr[j,prop] is what the job gets if it spends its time on the types in
// proportion to their GPUs, and g[j] the GPUs it asked for: a job of one GPU gets
// as many times more time as another takes more GPUs. Restarts do not count, since
// the answer says how time is divided in the long run.
func maxMinProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, everything)
	p.goal = fairGoal
	p.setRates()
	p.share(c)
	return p
}

// fairGoal is the objective of max-min fairness in words.
const fairGoal = "least throughput of any job, relative to its fair share"

// share makes the targets of all jobs those of max-min fairness, and the worth of
// their candidates the normalized throughput.
func (p *program) share(c *Config) {
	p.problem.Target = make([]float64, len(p.state.Jobs))
	strategies := make([]int, len(p.capacity))
	for i := range p.state.Jobs {
		j := &p.state.Jobs[i]
		f := j.Weight / float64(j.GPUs) * proportional(j, typical(strategies, j, p.budget), p.capacity)
		p.problem.Target[i] = min(max(f, smallest), largest)
		p.setWorth(i, c, 1/p.problem.Target[i])
	}
}
