// Package synth makes workloads. There are three ways:
//
//   - [Generate] follows the generator of Gavel (preset gavel).
//   - [FitModel] fits a generative model to a table of jobs, tenant by tenant; a
//     [Model] is a readable file and generates tables. The presets philly-like
//     and llm are such files. [FitHoldout] says how well a model forecasts. The
//     README documents the model with its formulas and figures.
//   - [Fit] fits a small model to a recent window of simulator jobs, for search on
//     generated futures while a cluster runs.
//
// # Units
//
// Times are integer nanoseconds in Go and seconds in workload files, rates jobs per
// hour, work in training steps.
//
// # Random numbers
//
// Every quantity has its own stream of uniform numbers, and with [Generate] and
// [Fit] every job takes the same number of them whatever the settings are. So one
// seed gives the same draws to all workloads (common random numbers): changing the
// mean inter-arrival time stretches the arrivals and leaves the jobs alone. A
// [Model] has a stream of numbers for the gaps and one for the jobs of each tenant.
package synth
