// Package wire defines the messages between clusters and the service: their
// JSON form, the subjects they travel on, the error codes and the limits.
//
// It is a function of bytes and knows no transport. Every message names its
// schema; the major version of the wire is also a token of every subject, so
// that two versions can run side by side.
//
// # Strictness
//
// Decoding refuses unknown, repeated and missing fields (fields marked
// omitempty may be missing), values of the wrong type, numbers out of range,
// invalid UTF-8, text after the message, and anything beyond [Limits]. An error
// is an [*Error] with a stable code and the JSON path of the fault.
//
// # Exactness
//
// Floats are written in their shortest form that reads back as the same
// float64, times as integer nanoseconds. A state that went over the wire equals
// the one that was sent, bit for bit, so a policy decides the same on both
// sides.
//
// # Limits
//
// A message holds at most 64 MiB, 16 MiB compressed, nests at most 16 deep, and
// its arrays are bounded by the limits of package env. Epochs and sequence numbers stay below
// 2^53, so that readers which keep numbers as float64 keep them exactly.
package wire
