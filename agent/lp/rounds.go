package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// rounds realises the shares of a max-min answer over time, as the round
// mechanism of Gavel (OSDI 2020, section 5) does: in each round candidates run
// greedily in the order of their priority
//
//	X[j,s] / f[j,s],
//
// where f[j,s] is the part of its time that job j has spent on s.
//
// A State does not hold f, only what a job has done in all. The approximation is
// that a job has divided its time as X does, so that f[j,s] = X[j,s] · got[j]:
// the priority is 1/got[j], and candidates of one job go by X[j,s]. Here
//
//	got[j] = (done + ρ·h) / (ρ·(age + h)),  ρ = Σ_s thr[j,s]·X[j,s]
//
// is the steps done over the steps that the job would have done at its present
// rate ρ since submission, both with h, half a round, added, as Gavel seeds new
// jobs. It counts progress, whatever types it was made on, and it forgets nothing:
// a job that was ahead of its share while the cluster was empty gives way until
// it is not, where Gavel starts afresh whenever the shares change.
//
// What a job did on which type does not count, so that jobs with two candidates
// tend to stay on the one of the larger share: in testdata/maxmin.txt the least
// normalized throughput comes out 8 % below the program's, the others 6 % above.
//
// Candidates other than the running one count (1 − restart/horizon) as much,
// so that jobs do not take turns for nothing. Waiting jobs get what is left, then
// jobs that run may grow.
func rounds(p *program, r *simplex.Result, c *Config) env.Allocation {
	priority := make([]float64, len(p.state.Jobs))
	for j := range priority {
		priority[j] = 1
	}
	list := make([]choice, 0, len(r.Shares))
	p.eachShared(r.Shares, func(j int, shares []simplex.Share) {
		priority[j] = p.owed(j, shares)
		list = append(list, p.choices(j, shares, priority[j], c)...)
	})
	sortChoices(list)
	f := newFill(p)
	for _, x := range list {
		f.give(int(x.job), int(x.candidate))
	}
	f.rest(func(j, i int) float64 { return priority[j] * p.worth[i] })
	return f.given
}

// eachShared calls do with every job that has shares, in order, and with these.
func (p *program) eachShared(all []simplex.Share, do func(j int, shares []simplex.Share)) {
	for j := 0; len(all) > 0; j++ {
		n := 0
		for n < len(all) && all[n].Candidate < p.problem.Offsets[j+1] {
			n++
		}
		if n > 0 {
			do(j, all[:n])
		}
		all = all[n:]
	}
}

// owed returns 1/got of job j.
func (p *program) owed(j int, shares []simplex.Share) float64 {
	job := &p.state.Jobs[j]
	rate := 0.0
	for _, s := range shares {
		rate += float64(s.Weight * within(p.strategyOf(j, int(s.Candidate)).Throughput))
	}
	half := 0.5 * p.state.RoundLen.Seconds()
	age := (p.state.Now - job.Submit).Seconds()
	return within(rate * (age + half) / (job.Done + rate*half))
}

// choices ranks the candidates of job j that have a share. Those that cost no
// restart come first, then those with larger shares.
func (p *program) choices(j int, shares []simplex.Share, priority float64, c *Config) []choice {
	job := &p.state.Jobs[j]
	list := make([]choice, 0, 2)
	most := 0.0
	for _, s := range shares {
		most = max(most, s.Weight)
	}
	for _, s := range shares {
		k := int(p.strategy[s.Candidate])
		key := priority * c.usefulShare(p.state, job, k)
		if s.Weight < most { // just behind its sibling
			key *= 1 - 1e-9*(1-s.Weight/most)
		}
		list = append(list, choice{key, job.ID, int32(j), s.Candidate})
	}
	return list
}
