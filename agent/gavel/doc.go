// Package gavel holds the scheduling policies of Gavel (Narayanan et al., OSDI
// 2020) for env/gavel, the simulator that reproduces Gavel's own. They decide
// on shares of time, once in a while; the mechanism of env/gavel makes rounds
// of them. The policies of agent/heuristic and agent/lp decide on strategies,
// every round.
//
// A policy keeps memory, of earlier answers or just of buffers: each
// simulation needs its own.
//
// # Ties
//
// MaxMinFairness and MinTotalDuration solve a linear program: each job gets its
// need, times a z that is as large as it can be. The best z is one number, but
// many shares reach it, and which of them a solver returns decides how long
// jobs take: on one of Gavel's traces, answers of SciPy's solvers to one program
// written in different orders led to mean completion times that differ by 40 %
// where the program is blind to rates, by 18 % where it is not. The original
// leaves that to its solver. Here the answer is a vertex, as theirs is:
//
//   - where rates differ, the one that agent/lp/simplex ends at;
//   - where the program is blind, so that every split of a job's share over the
//     types is as good as any other, jobs are laid out in an order drawn anew
//     each time and fill the types one after the other, in the order of the
//     types' names. A lasting order, by ID or size, would favour the same jobs
//     every time.
//
// GPU time that is left over goes to all jobs alike, in proportion to what they
// lack of running all the time.
//
// # Sources
//
// Each policy names the file of github.com/stanford-futuredata/gavel whose
// rules it follows, in scheduler/policies. Matrices of the original have their
// GPU types in the order of their names, which decides ties.
package gavel
