// Package replay is a cluster on the other side of NATS: it runs a trace in
// simulated time, publishes its state each round, and applies the decisions it
// gets.
//
// # Model
//
// Simulated time stands still while a decision is awaited: the schedule depends
// on the decisions alone, not on how long they took. If every decision comes in
// time, the schedule equals, job by job, the one that the same policies make
// in-process. A round without a decision in time holds: what ran keeps running.
//
// # Limits
//
// One cluster per call. A held round depends on real time, so a replay with
// held rounds is not reproducible; the report counts them.
package replay
