// Package env is the contract between simulated or real clusters and the
// policies that schedule them: jobs, clusters, strategies, states, allocations
// and configurations, and a Gym-style environment over them.
//
// # Units
//
// Time is a [time.Duration] (integer nanoseconds) since the start of the trace.
// Work is counted in training steps, throughput in steps per second summed over
// the workers of a job, attained service in GPU-seconds, memory in GiB, rewards
// in job-hours.
//
// # Determinism
//
// Nothing in this package or below it reads a clock, opens a file, touches the
// network or starts a goroutine. Chance comes in through the streams of
// [github.com/yardmaster/yardmaster/env/rng]. Ties are broken by job ID.
//
// # Duration knowledge
//
// A [State] holds only what its [Knowledge] allows. The true work of a job is a
// field of [Job], which policies never see.
package env
