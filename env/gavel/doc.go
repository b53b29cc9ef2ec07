// Package gavel is a cluster simulated exactly as Gavel's own simulator does it
// (Narayanan et al., OSDI 2020, github.com/stanford-futuredata/gavel), rule by
// rule and rounding by rounding, so that schedules can be compared job by job
// with the field's reference. Use env/sim for everything else.
//
// # Model
//
// Jobs run in rounds of [Config.Round]; they start and stop only at round
// boundaries. In a round a job does min(⌊rate × round⌋, steps left) steps. One
// that finishes inside a round has its exact finish time, its GPUs idle until
// the round ends, which is when the last of its jobs stops. Jobs that arrive
// join at the next round; their completion time counts from the arrival. Where
// nothing runs, the clock jumps to the next arrival.
//
// A [Policy] gives each job a share of its time on each GPU type. Shares are
// asked for anew only after a job arrived or left, and [Config.Reset] at the
// earliest after the last time. They are realised over time: in every round,
// type by type, jobs run in the order of (priority, deficit, share), largest
// first, then of their ID. Priority is share / fraction of the type's time
// received since the last reset (every job starts with half a round), deficit
// is the time that earlier resets left owed. A job uses one type in a round.
//
// # Limits
//
// Nothing is charged for preemption, restart or placement; GPUs of one type
// are alike. What looks odd here is so in the original and reproduced on
// purpose:
//
//   - A round in which a job of g > 1 GPUs has fewer than g steps left fails,
//     since each worker is given ⌊steps/g⌋ of them. Nothing is done in it, and
//     after the fifth such round in a row the job is given up: it leaves
//     without a completion time.
//   - A job that arrived since the last reset has no share. Unless the policy
//     forbids it, it can win GPUs by its (zero) priority, which then idle.
//   - After an idle gap, jobs of the first round are credited with the gap as
//     time received.
//   - The interval between resets is not observed while the last reset was at
//     time 0, or when nothing runs and all jobs have arrived.
//
// # Packing
//
// [Packing] is the same simulation for policies that place two jobs on the same
// GPUs. It has its own policies, [PackingPolicy], and makes no effort to be fast.
//
// # Numbers
//
// Time is float64 seconds and steps are float64, unlike everywhere else in env:
// equality to the last rounding with the original needs its arithmetic.
//
// # Speed
//
// A Sim steps without allocating and keeps what a round needs in flat slices.
// Where the shares of a GPU type fit it all at once, the order within it does
// not matter and the choice of the last round stands until something changes;
// otherwise the queues are kept sorted from round to round. On the stream of
// seed 0 and 36 GPUs of each of three types, one core of an AMD EPYC plays 39
// million job-rounds per second of CPU time with FIFO_Perf, 12 million with LAS
// and 26 to 31 million with AlloX, its matchings included (BenchmarkGavel in
// train/verify); the original plays 8 to 12 thousand.
//
// # Validation
//
// Package train/verify compares this package, job by job, with runs of the
// original; the tests here compare it with a plain transcription of the rules.
package gavel
