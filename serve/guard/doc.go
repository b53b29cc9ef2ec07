// Package guard stands between policies and clusters: whatever the learned
// policy does, an allocation that can be applied comes out within the deadline.
//
// # Order
//
//	0            Hedge·D              (1−Reserve)·D    (1−Reserve/2)·D    D
//	├─ learned policy ──────────────────┤ late                            │
//	              ├─ linear program ────┼ stop ──────────────┤ late       │
//	                                                         ├─ greedy ───┤ late
//	                                                                      └ hold
//
// D is the deadline; at its stop the linear program answers with the best it
// has. The learned policy's answer is used whenever it is valid
// and in time, even where the linear program was faster: so a replay gives the
// same schedule. If the policy fails early, the linear program starts at once;
// if both failed, the greedy heuristic does. Hold keeps what ran in the round
// that just ended, and cannot fail.
//
// Every answer passes env.Allocation.Validate and, as the message that will
// leave, the independent checker of package wire.
//
// # Rails
//
// An answer of the learned policy that could be applied is held back, and the
// linear program decides instead, while
//
//	ood       the states are unlike those the policy was trained on (Unfamiliar)
//	regret    it has been giving away too much, by the program's objective (Regret)
//	starving  it passes over a job that waited too long (Starvation)
//	breaker   it failed too often and is not asked (Breaker)
//
// Each holds per cluster, is remembered in a Memory that outlives the guard, has a
// reason in the message and an event when it begins and ends. DESIGN.md of package
// serve says why they are as they are.
//
// # Safety
//
// A panic in a policy is recovered. A policy that ignores its context does not
// delay the answer; it keeps one of MaxInFlight places until it returns.
package guard
