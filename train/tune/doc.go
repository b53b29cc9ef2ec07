// Package tune configures the scheduler: it searches good configurations on
// generated futures and trains a policy that imitates the search.
//
// The idea is AutoSched's (ICS 2024, doi 10.1145/3650200.3656598): fit the
// recent workload, generate futures that look like it, try configurations on
// them, re-configure while the cluster runs. Nothing here claims AutoSched's
// algorithms or figures, of which no public text exists.
//
//   - [Engine] scores configurations from a given state on generated futures,
//     all of them on the same futures (common random numbers), by the flow time
//     in a horizon plus a fluid drain of the work left at its end.
//   - [Searched] is a configurer that asks an Engine at every window, with what
//     the cluster has seen so far: TitanSched's "prediction" mode.
//   - [Run] records the search over many windows, clones it into a policy of
//     kind "configuration" and compares default, searched and learned
//     configuration on held-out episodes.
//
// [Heuristic] is another search: it fits the few numbers of a heuristic to
// validation episodes, for a file ([Tuned]) that benchmarks take. A learned policy
// that beats only untuned heuristics has shown nothing.
//
// # Units
//
// Costs are in weighted job-hours, less is better.
//
// # Determinism
//
// Simulations run on all cores; every result is stored by its index and sums
// are taken in index order, so nothing depends on their number. Wall time is
// reported, never used.
package tune
