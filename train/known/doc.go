// Package known holds the trainer to answers that others published or that are
// known exactly: CartPole with the settings of RL Baselines3 Zoo and of CleanRL,
// and scheduling on unrelated machines, whose optimum is an assignment.
//
// `make known-answers` runs all of it and prints tables; the tests run a small
// part.
package known
