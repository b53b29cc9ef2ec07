// Package lp holds the policies that solve a linear program over job-strategy
// candidates in every round.
//
// # From a state to an allocation
//
// A formulation turns a State into a program of package
// agent/lp/simplex: one variable x[j,s] per job j and strategy s, the share of
// its time that the job spends so; at most 1 in total per job; no more GPUs of a
// type than there are. Strategies that exceed the cluster are left out.
//
//   - "lp:throughput" maximises the weighted normalized throughput (throughput.go),
//   - "lp:srpt" the same with the weights of shortest remaining time (srpt.go),
//   - "lp:maxmin" the least weighted normalized throughput of any job (maxmin.go).
//
// The answer is fractional. The first two have at most as many fractional jobs
// as there are GPU types: whole jobs are kept and the rest is filled greedily by
// value less the price of the GPUs (whole.go). The third is fractional for most
// jobs and is realised over time, by priorities (rounds.go). Neither leaves GPUs
// idle that a waiting job could use.
//
// # Units and limits
//
// Rates are steps per second over steps per second, thus plain numbers; prices
// are objective per GPU. A start or a move costs its restart time, written off
// over Config.Horizon. Policies are pure functions of the State, so nothing is
// known of the time a job spent on each strategy before; rounds.go says what is
// used instead. Policies keep nothing between calls and are safe for concurrent
// use.
//
// # References
//
//   - Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies for Deep
//     Learning Workloads (Gavel), OSDI 2020: normalization, max-min fairness,
//     rounds.
//   - HeteroSched, PACT 2025, doi 10.1109/PACT65351.2025.00048: job-strategy pairs
//     as the candidates of the program.
package lp
