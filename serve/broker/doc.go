// Package broker runs a NATS server inside the process: a single node with
// JetStream, on a loopback address.
//
// It is a bus, never the record: the service rebuilds everything from the next
// state of a cluster. Still no acknowledged decision is lost by a killed
// process or a power cut, because every write is synced to disk.
//
// # Limits
//
// One node: for more, run a NATS cluster and give the service its URL. No
// authentication: so it listens on loopback addresses only.
//
// # References
//
//   - Embedding needs NoSigs, or the library ends the process
//     (nats-io/nats-server#5360), and WaitForShutdown, or stores are cut off
//     (matrix-org/dendrite#2289).
//   - SyncAlways: by default JetStream acknowledges before it syncs, and syncs
//     every two minutes (jepsen.io/analyses/nats-2.12.1).
//   - Two servers on one store folder both start and both write to it, so this
//     package locks the folder.
package broker
