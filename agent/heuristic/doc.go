// Package heuristic holds the rule-based policies: the baselines that every
// learned policy is compared with, and the base scheduler whose configuration
// is tuned.
//
//	fifo      first in, first out; never preempts; the head of the line blocks
//	srtf      shortest remaining time first
//	las       least attained service first (GPU time)
//	tiresias  discretized least attained service: a few queues, FIFO in each
//	density   greedy over all (job, strategy) candidates by work per GPU
//	random    a random maximal allocation
//
// All but density and random are rigid: a job runs on the number of GPUs it
// asked for, on the type where it gets most done in the coming round. Density
// and random use every strategy, elastic ones too.
//
// # Units
//
// Remaining times are seconds, attained service GPU-seconds, scores natural
// logarithms (a difference of 0.1 is about ten percent).
//
// # Limits
//
// The policies are pure functions of the state, so nothing is remembered that
// a [env.State] does not hold; each type says where that departs from its
// source. One decision over 500 jobs with 9 strategies each takes well below a
// millisecond. A context that has already ended is honoured; decisions are too
// short to look at it again.
package heuristic
