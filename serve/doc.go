// Package serve is the inference service: clusters publish their states over
// NATS, it answers with decisions.
//
//	cluster → state → intake (newest wins, one slot per cluster)
//	        → guard (learned policy, else linear program, else greedy, else hold)
//	        → decision → JetStream stream and subscribers
//
// The service is stateless but for what it can read back: the last decisions of
// a cluster are in the stream. It may be killed at any moment.
//
// Parts:
//
//	wire    messages, subjects, error codes; a function of bytes
//	guard   a decision within the deadline, whatever the policy does
//	bus     NATS connections
//	broker  the embedded NATS server
//	lease   which of several services publishes for a cluster
//	client  what a cluster's scheduler imports
//	relay   a scheduler that is not written in Go
//	replay  a simulated cluster on the other side of NATS
//
// See README.md for subjects, headers and errors, DESIGN.md for the reasons.
package serve
