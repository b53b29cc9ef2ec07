package lp

import (
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// formulation is a policy: the linear programs to solve and the way from the
// answer to whole jobs.
type formulation struct {
	name, about string
	// solve returns the last program and its answer.
	solve    func(*run) (*program, *simplex.Result, error)
	allocate func(*program, *simplex.Result, *Config) env.Allocation
}

// formulations lists the policies. Those named after Gavel know a job by one
// strategy on each GPU type; the others consider all of its strategies.
var formulations = []formulation{
	{"lp:throughput", "linear program: weighted normalized throughput over job-strategy pairs", single(throughputProgram), allocateWhole},
	{"lp:srpt", "linear program: throughput weighted by one over the remaining work", single(srptProgram), allocateWhole},
	{"lp:maxmin", "linear program: max-min fair normalized throughput (Gavel), realised in rounds", single(maxMinProgram), rounds},

	{"lp:gavel-maxmin", "Gavel: max-min fair normalized throughput, one strategy per GPU type", single(gavelMaxMinProgram), rounds},
	{"lp:gavel-maxmin-agnostic", "Gavel: max-min fair time, blind to which GPU type is how fast", single(agnosticProgram), rounds},
	{"lp:gavel-ftf", "Gavel: finish-time fairness, the least worst slowdown against an exclusive 1/n (Themis)", single(finishTimeProgram), rounds},
	{"lp:gavel-makespan", "Gavel: the least time in which all jobs can finish", single(makespanProgram), rounds},
	{"lp:gavel-total", "Gavel: the least sum of the jobs' remaining times, exact convex program", single(totalProgram), rounds},
	{"lp:gavel-fifo", "Gavel: first come first served, each on the GPU type it is fastest on", single(fifoProgram), allocateWhole},
	{"lp:gavel-cost", "Gavel: normalized throughput per dollar", single(costProgram), allocateWhole},
	{"lp:gavel-slo", "Gavel: normalized throughput per dollar, deadlines met as far as they can be", solveSLO, rounds},
	{"lp:gavel-waterfill", "Gavel: hierarchical max-min fairness, tenants first, then their jobs, by water filling", solveWaterFill, rounds},
	{"lp:gavel-packed", "Gavel: max-min fairness with jobs that share GPUs", single(packedProgram), rounds},

	{"lp:sia", "Sia: integer program over configurations, p-norm of goodput with a restart factor", solveSia, allocateWhole},

	{"lp:hetero-throughput", "HeteroSched: normalized throughput over job-strategy pairs, candidates priced in when needed", lazily(throughputProgram), allocateWhole},
	{"lp:hetero-maxmin", "HeteroSched: max-min fairness over job-strategy pairs, candidates priced in when needed", lazily(maxMinProgram), rounds},
	{"lp:hetero-srpt", "HeteroSched: shortest remaining time over job-strategy pairs, candidates priced in when needed", lazily(srptProgram), allocateWhole},
	{"lp:hetero-cost", "HeteroSched: normalized throughput less its price", lazily(heteroCostProgram), allocateWhole},
	{"lp:hetero-pnorm", "HeteroSched: p-norm of normalized throughput, between the sum and fairness", lazily(powerProgram), allocateWhole},
	{"lp:hetero-lex", "HeteroSched: max-min fairness first, then throughput with 95 % of it kept", solveLexicographic, rounds},
	{"lp:hetero-pop", "HeteroSched: normalized throughput, solved in parts of the jobs and the cluster (POP)", solvePartitioned, allocateWhole},
}

func allocateWhole(p *program, r *simplex.Result, _ *Config) env.Allocation { return whole(p, r) }
