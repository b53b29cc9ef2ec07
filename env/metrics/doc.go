// Package metrics turns a finished schedule into the figures that schedulers
// of deep-learning clusters are compared by. Everything here is a pure function
// of a [Schedule].
//
// # Units
//
// Times in a [Schedule] are [time.Duration] on the trace's clock; times in a
// [Summary] are float64 seconds, since means of durations are not integers.
// Service is in GPU-seconds, cost in US dollars.
//
// # Definitions
//
//   - JCT, job completion time: Finish − Submit.
//   - Delay: JCT − Ideal, what waiting, sharing and moving cost the job.
//   - ρ, finish-time fairness: JCT / Isolated, after Themis (Mahajan et al.,
//     NSDI 2020). Above 1 the job would have been better off with
//     an exclusive 1/n share of the cluster. A job that was withdrawn has none.
//   - Makespan: latest Finish − earliest Submit.
//   - Utilization: busy GPU time / (GPUs × (End − Start)).
//   - Quantiles: see [Quantile].
//
// # Limits
//
// Means are over the jobs that left, with equal weight, and a job that failed or
// was withdrawn counts until then: many of those flatter a scheduler. Jobs that a truncated
// schedule left unfinished are not in it, which flatters schedulers that starve
// long jobs. Compare complete schedules.
package metrics
