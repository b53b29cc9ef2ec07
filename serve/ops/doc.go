// Package ops is the service's HTTP endpoint for operators: liveness,
// readiness, Prometheus metrics, the live page, the Open Inference protocol and,
// on loopback only, profiles.
//
// It changes nothing. Without a token it asks nobody who he is: bind it to loopback
// or to a network of the operators. It speaks no TLS: put a proxy in front of it
// where others listen.
//
// # Units
//
// Metrics are in seconds and counts. Every label has few values: sources,
// reasons, codes, and clusters up to a bound. None names a job.
package ops
