// Package ppo improves a policy by proximal policy optimization (Schulman et
// al., arXiv 1707.06347) on rounds: see README.md for the details it keeps, with
// their sources, and for the metrics it reports.
//
// REINFORCE is there, too, on the same records: see Algorithm.
//
// The unit is a round, whose log-probability is the sum over its picks. Returns
// are discounted by simulated time, exp(−Δt/horizon), never per pick: picks of
// one round happen at the same time. All mathematics of the loss is in closed
// form here; package graph turns derivatives of scores and values into gradients.
package ppo
