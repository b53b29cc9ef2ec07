// Package soak plays many simulated clusters against a service in a process of
// its own while faults are injected: the process is killed and stopped,
// connections are cut, states come twice, late, damaged, too large, and the
// learned policy is late, wrong and broken.
//
// What is judged is judged outside of the service, and without its code: every
// decision that the broker delivers is read by encoding/json into types of this
// package and compared with the state as it was when the cluster sent it; every
// decision that a cluster applies must be newer than the one before.
//
// A state has to be answered before the next one is due, unless a fault lasted
// meanwhile: then the next one supersedes it. The memory, goroutines and files
// of the process are read from its metrics.
package soak
