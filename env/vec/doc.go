// Package vec steps many environments at once, on all cores.
//
// # Determinism
//
// What comes out does not depend on the number of cores: environment i and
// whatever acts in it touch slot i only, every environment draws from the seeds
// of its own episodes, errors are reported in the order of the environments, and
// nothing is added up here. This is the one package below env and agent that
// starts goroutines; none outlives the call that started it.
//
// # Which call
//
// [Envs.Step] takes one action for each environment and waits for all of them,
// as the vector environments of Gymnasium do: right for a policy that decides
// for all at once. Waiting costs a few microseconds, more than a step of a
// simulator that only notes a pick, so where each environment can be acted in on
// its own [Envs.Rollout] takes many steps in between, [Envs.Each] plays whole
// episodes, and [Envs.Every] does anything else.
package vec
