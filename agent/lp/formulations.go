package lp

import "github.com/yardmaster/yardmaster/agent/lp/simplex"

// formulation is a policy: the linear programs to solve and the way from the
// answer to whole jobs.
type formulation struct {
	name, about string
	// solve returns the last program and its answer.
	solve func(*run) (*program, *simplex.Result, error)
	// overTime says that the shares are realised over many rounds (rounds.go), not
	// rounded to whole jobs in each (whole.go).
	overTime bool
}

// formulations lists the policies. Those named after Gavel know a job by one
// strategy on each GPU type; the others consider all of its strategies.
var formulations = []formulation{
	{"lp:throughput", "linear program: weighted normalized throughput over job-strategy pairs", single(throughputProgram), false},
	{"lp:srpt", "linear program: throughput weighted by one over the remaining work", single(srptProgram), false},
	{"lp:maxmin", "linear program: max-min fair normalized throughput (Gavel), realised in rounds", single(maxMinProgram), true},

	{"lp:gavel-maxmin", "Gavel: max-min fair normalized throughput, one strategy per GPU type", single(gavelMaxMinProgram), true},
	{"lp:gavel-maxmin-agnostic", "Gavel: max-min fair time, blind to which GPU type is how fast", single(agnosticProgram), true},
	{"lp:gavel-ftf", "Gavel: finish-time fairness, the least worst slowdown against an exclusive 1/n (Themis)", single(finishTimeProgram), true},
	{"lp:gavel-makespan", "Gavel: the least time in which all jobs can finish", single(makespanProgram), true},
	{"lp:gavel-total", "Gavel: the least sum of the jobs' remaining times, exact convex program", single(totalProgram), true},
	{"lp:gavel-fifo", "Gavel: first come first served, each on the GPU type it is fastest on", single(fifoProgram), false},
	{"lp:gavel-cost", "Gavel: normalized throughput per dollar", single(costProgram), false},
	{"lp:gavel-slo", "Gavel: normalized throughput per dollar, deadlines met as far as they can be", solveSLO, true},
	{"lp:gavel-waterfill", "Gavel: hierarchical max-min fairness, tenants first, then their jobs, by water filling", solveWaterFill, true},
	{"lp:gavel-packed", "Gavel: max-min fairness with jobs that share GPUs", single(packedProgram), true},

	{"lp:sia", "Sia: integer program over configurations, p-norm of goodput with a restart factor", solveSia, false},

	{"lp:hetero-throughput", "HeteroSched: normalized throughput over job-strategy pairs, candidates priced in when needed", lazily(throughputProgram), false},
	{"lp:hetero-maxmin", "HeteroSched: max-min fairness over job-strategy pairs, candidates priced in when needed", lazily(maxMinProgram), true},
	{"lp:hetero-srpt", "HeteroSched: shortest remaining time over job-strategy pairs, candidates priced in when needed", lazily(srptProgram), false},
	{"lp:hetero-cost", "HeteroSched: normalized throughput less its price", lazily(heteroCostProgram), false},
	{"lp:hetero-pnorm", "HeteroSched: p-norm of normalized throughput, between the sum and fairness", lazily(powerProgram), false},
	{"lp:hetero-lex", "HeteroSched: max-min fairness first, then throughput with 95 % of it kept", solveLexicographic, true},
	{"lp:hetero-pop", "HeteroSched: normalized throughput, solved in parts of the jobs and the cluster (POP)", solvePartitioned, false},
}
