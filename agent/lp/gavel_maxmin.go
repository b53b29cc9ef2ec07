package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// gavelMaxMinProgram is Gavel's MaxMinFairness_Perf ("heterogeneous LAS",
// scheduler/policies/max_min_fairness.py): maxMinProgram where a job has one
// strategy on each GPU type.
func gavelMaxMinProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, rigid)
	p.goal = fairGoal
	p.setRates()
	p.share(c)
	return p
}

// agnosticProgram is Gavel's MaxMinFairness (the same file): the program above
// with a throughput of 1 wherever a job can run, so that it divides time and does
// not care on which type. Jobs that wait fill what is left by their throughput:
// that is the mechanism's business, not the program's.
func agnosticProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, rigid)
	p.goal = "least time on GPUs of any job, relative to its fair share"
	p.share(c) // for the worth
	all := 0
	for _, gpus := range p.capacity {
		all += gpus
	}
	for i := range s.Jobs {
		first, last := p.candidates(i)
		reach := 0 // GPUs of the types that the job runs on
		for n := first; n < last; n++ {
			p.problem.Rate[n] = 1
			reach += p.capacity[p.strategyOf(i, n).Type]
		}
		j := &s.Jobs[i]
		p.problem.Target[i] = target(j.Weight / float64(j.GPUs) * float64(reach) / float64(max(1, all)))
	}
	return p
}

// packedProgram is Gavel's space sharing (max_min_fairness.py, the packed
// policies, OSDI 2020, section 3.1): gavelMaxMinProgram where a job also has its
// strategies on parts of GPUs. Gavel has a variable for every pair of jobs,
// because what a job gets depends on its partner. A State says what each gets
// on a part of a GPU, whoever has the rest, so that pairs need no variables: two
// halves are a GPU.
func packedProgram(s *env.State, c *Config) *program {
	p := newProgram(s, simplex.MaxMin, packed)
	p.goal = fairGoal
	p.setRates()
	p.share(c)
	return p
}

// packed considers what rigid does and the same strategies on parts of GPUs.
func packed(dst []int32, j *env.JobState, typical []int) []int32 {
	for k := range j.Strategies {
		st := &j.Strategies[k]
		t := typical[st.Type]
		if t == k || t >= 0 && st.Share > 1 && st.GPUs == j.Strategies[t].GPUs {
			dst = append(dst, int32(k))
		}
	}
	return dst
}
