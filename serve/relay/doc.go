// Package relay connects a scheduler that is not written in Go: a command prints
// the cluster's state, another applies decisions.
//
// # A round
//
// Every interval the state command is run. What it prints is the object `state` of
// the message yardmaster.state.v1; it is checked, published, and the decision is
// waited for. Then the apply command is run, with the decision (the message
// yardmaster.allocation.v1) on its standard input, the state it answers in the file
// that $YARDMASTER_STATE names, and both together as lines for the shell in the file
// that $YARDMASTER_PLAN names (see plan). Exit code 0 means applied; it may print lines
// of JSON, {"job": 1, "applied": false, "reason": "why"}, for jobs where it was not.
//
// # Faults
//
// A command that does not end within its time is killed with all processes that it
// started, also if it is stopped. A state that cannot be had is no state: nothing
// is published, nothing applied, and the service calls the cluster stale after a
// while. A decision that does not come in time is not applied later. What was
// applied is never assumed: the next state says what runs.
//
// # Limits
//
// One cluster; a decision is as late as the state command is slow. Unix only.
package relay
