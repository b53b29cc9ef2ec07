// Package synth makes workloads: by preset, with [Generate], or fitted to
// observed jobs, with [Fit].
//
// # Units
//
// Times are integer nanoseconds, rates jobs per hour, work in training steps.
//
// # Random numbers
//
// Every quantity has its own stream of uniform numbers, and every job takes
// the same number of them whatever the settings are. So one seed gives the
// same draws to all workloads (common random numbers): changing the mean
// inter-arrival time stretches the arrivals and leaves the jobs alone.
package synth
