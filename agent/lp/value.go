package lp

import "github.com/yardmaster/yardmaster/env"

// valued names the programs whose objective is worth for one round what their
// policy pursues. The fair ones divide time over many rounds, of which one says
// nothing: their allocations are valued by normalized throughput.
var valued = map[string]func(*env.State, *Config) *program{
	"lp:srpt":         srptProgram,
	"lp:hetero-srpt":  srptProgram,
	"lp:hetero-cost":  heteroCostProgram,
	"lp:gavel-cost":   costProgram,
	"lp:hetero-pnorm": powerProgram,
}

// Values returns what each of allocations, which must be valid for s, is worth by
// the objective of the policy's program: the sum of the values of the candidates
// that run. Higher is better. Strategies that the program does not consider are
// worth what their throughput is, next to the job's other strategies.
func (p *Policy) Values(s *env.State, allocations ...env.Allocation) []float64 {
	build := valued[p.formulation.name]
	if build == nil {
		build = throughputProgram
	}
	prog := build(s, &p.config)
	values := make([]float64, len(allocations))
	for n, a := range allocations {
		for j, k := range a {
			if k != env.Idle {
				values[n] += prog.valueOf(j, k)
			}
		}
	}
	return values
}

// valueOf returns what strategy k of job j is worth.
func (p *program) valueOf(j, k int) float64 {
	value := p.problem.Value
	if value == nil {
		value = p.problem.Rate
	}
	job := &p.state.Jobs[j]
	best := 0.0
	first, last := p.candidates(j)
	for i := first; i < last; i++ {
		if int(p.strategy[i]) == k {
			return value[i]
		}
		best = max(best, value[i]/within(job.Strategies[p.strategy[i]].Throughput))
	}
	return within(best * job.Strategies[k].Throughput)
}
