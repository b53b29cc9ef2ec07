// Package lp holds the policies that solve a linear program over job-strategy
// candidates in every round.
//
// # From a state to an allocation
//
// A formulation turns a State into one or several programs of package
// agent/lp/simplex: one variable x[j,s] per job j and strategy s, the share of its
// time that the job spends so; at most 1 in total per job; no more GPUs of a type
// than there are in service, and no more for a tenant than its quotas. Strategies
// that exceed either are left out. formulations.go lists the policies:
//
//   - "lp:throughput", "lp:srpt" and "lp:maxmin" maximise the weighted normalized
//     throughput, the same by shortest remaining time, and the least of any job;
//   - "lp:gavel-…" are Gavel's, with one strategy of a job on each GPU type: max-min
//     fairness, finish-time fairness, makespan, total time, FIFO, cost, SLO, water
//     filling over tenants, space sharing (gavel_*.go);
//   - "lp:sia" is Sia's integer program (sia.go, branch.go);
//   - "lp:hetero-…" are HeteroSched's over all strategies, with its ways to decide
//     faster (hetero.go, lazy.go, partition.go).
//
// The answer is fractional. That of a sum has at most as many fractional jobs as
// there are rows: whole jobs are kept and the rest is filled greedily by value less
// the price of the GPUs (whole.go). That of a fair program is fractional for most
// jobs and is realised over time, by priorities (rounds.go). Neither leaves GPUs
// idle that a waiting job could use in a strategy that the program considers.
//
// [Explain] says why an answer is what it is, [Session] goes on from the last one,
// [Policy.Stages] returns the programs themselves for comparison with another
// solver (cmd/lporacle).
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
//   - Jayaram Subramanya et al., Sia: Heterogeneity-aware, goodput-optimized
//     ML-cluster scheduling, SOSP 2023.
//   - Narayanan et al., Solving Large-Scale Granular Resource Allocation Problems
//     Efficiently with POP, SOSP 2021.
//   - HeteroSched, PACT 2025, doi 10.1109/PACT65351.2025.00048: job-strategy pairs
//     as the candidates of the program.
package lp
