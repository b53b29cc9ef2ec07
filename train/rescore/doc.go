// Package rescore asks policies what they would have decided on recorded states and
// compares the answers by the objective of a linear program.
//
// # What it measures
//
// The value of an allocation is the program's objective (agent/lp.Policy.Values):
// the sum over the jobs that run of what their strategy is worth for one round. The
// regret of a policy on a state is (program − policy) / program, the share of the
// value that its allocation gives away in this round, below zero where it is worth
// more than the program's rounded answer.
//
// It says how a policy decides on states that a service met, by another yardstick
// than it was trained for: a policy that finishes short jobs first gives value away
// now for less waiting later. What schedules come to is what bench measures.
package rescore
