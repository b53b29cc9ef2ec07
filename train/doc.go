// Package train makes policies: it clones a teacher, improves the clone by
// evolution strategies and reinforcement learning, and keeps what validates best.
//
// [Run] goes through stages: the untrained network, which is a linear score of the
// columns ([Prior]); behaviour cloning (train/bc); evolution of the linear part
// (train/es); fitting the critic; PPO (train/ppo). On the way the policy that
// decides greedily is validated by the caller's function, each validation leaves
// a checkpoint, and the best one is what the run results in: a stage that makes
// things worse costs time, not quality. README.md defines every metric.
//
// # Run directory
//
//	run.json       the configuration with all defaults filled in, versions, provenance, result
//	metrics.jsonl  a line per step: stage, step, metrics
//	checkpoints/   the model at each validation, named after stage and step
//	model/         the best model so far, replaced whenever a better one is found
//	resume/        checkpoints of the whole run, for Config.Resume; see train/checkpoint
//	nonfinite-*    the batch of a loss that was not finite, for checkpoint.ReadBatch
//
// After every step of every stage the state of the whole run is saved: parameters, the
// best ones, optimizers, streams of chance, seeds used, validations. A run that is stopped
// or killed at any moment goes on from there with Config.Resume and comes to the bytes of
// one that was never stopped, in everything but wall time.
//
// Equal configurations give equal models, bit for bit, on any number of
// processors of one architecture. Wall time is in fields named so and nowhere
// else.
package train
