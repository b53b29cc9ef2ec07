// Package gavel holds the scheduling policies of Gavel (Narayanan et al., OSDI
// 2020) for env/gavel, the simulator that reproduces Gavel's own. They decide
// on shares of time, once in a while; the mechanism of env/gavel makes rounds
// of them. The policies of agent/heuristic and agent/lp decide on strategies,
// every round.
//
// A policy keeps memory, of earlier answers or just of buffers: each
// simulation needs its own.
//
// # Sources
//
// Each policy names the file of github.com/stanford-futuredata/gavel whose
// rules it follows, in scheduler/policies. Matrices of the original have their
// GPU types in the order of their names, which decides ties.
package gavel
