// Package modelstore keeps versions of models in an object store bucket of
// JetStream, so that services on several machines have the same ones.
//
// An object is one version, <name>/<version>+<sha12>: its digits are of the SHA-256
// of the object's bytes, an archive of the model's files that depends on nothing
// else. So a name stands for one content for ever, and whoever reads it can tell
// damage without trusting the broker. Which version is in charge is a pointer in a
// key-value bucket, changed by compare-and-set; services watch it.
//
// # Faults
//
// A broker that lost or garbled a chunk of an object does not say so: a read stalls
// or ends early. Every read has a deadline, and what was read is held against the
// digits of the name and the hash in the pointer. A copy of every model that was
// fit to decide stays on the service's own disk, so that a bucket that cannot be
// read costs new models and nothing else.
//
// # Limits
//
// An object has at most [MaxObject] bytes.
package modelstore
