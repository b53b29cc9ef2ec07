// Package heuristic holds the rule-based policies: the baselines that every
// learned policy is compared with, and the base scheduler whose configuration
// is tuned.
//
// By attained service, without knowledge of durations:
//
//	fifo         first in, first out; never preempts; the head of the line blocks
//	las          least attained service first (GPU time)
//	las-migrate  the same, with GPU types traded freely between running jobs
//	tiresias     discretized least attained service: a few queues, FIFO in each
//	gittins      Gittins index of attained service, by the distribution of recent jobs
//	gandiva      time slices, packing on parts of GPUs, trial of GPU types
//
// By remaining work:
//
//	srtf         shortest remaining time first
//	srsf         shortest remaining service (time × GPUs) first
//	allox        matching of waiting jobs to free GPUs; never preempts
//	themis       finish-time fairness with leases
//	density      greedy over all (job, strategy) candidates by work per GPU
//	two-stage    density, rigid, then swaps of GPU types between jobs
//	two-stage-gittins, two-stage-elastic, two-stage-elastic-gittins
//	             its forms for uncertain work and for all numbers of GPUs
//	optimus      smallest strategies, then GPUs by the remaining time they save
//	afs          smallest strategies, then GPUs by pairwise comparison (AFS-L)
//
// By deadlines:
//
//	edf          earliest deadline first
//	laxity       least laxity first
//	tardiness    apparent tardiness cost over all candidates
//	elasticflow  least share that meets each deadline, the rest by marginal return
//
// And random, a random maximal allocation. density, optimus, afs, elasticflow,
// tardiness, random and the elastic forms of two-stage use strategies of all
// sizes; the others are rigid: a job runs on the number of GPUs it asked for, on
// the type where it gets most done in the coming round.
//
// Density and what is built on it has numbers to tune: [Tunable] and [Ranges] say
// which, [FromConfiguration] takes them.
//
// # Knowledge
//
// A state tells true remaining work, an estimate, or nothing. Policies that need
// it take, where nothing is known, the work done so far and one round at full
// speed for what is left, or say otherwise; none has another source.
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
// short to look at it again, but for allox', which is looked at every 256 jobs.
package heuristic
