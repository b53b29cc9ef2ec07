// Package rollout plays environments with the current network and records what
// learning needs, round by round.
//
// A round is what happens between two changes of the observation's Epoch: its
// candidates are scored once, then picked until the environment lets time pass.
// For JobStrategy-v0 that is a scheduling round of many picks; for
// SchedulerConfig-v0, or any environment whose Epoch changes with every step, a
// round is a single action.
//
// Episode i writes slot i of the result and draws from a random stream of its
// own, so results do not depend on the number of processors.
package rollout
