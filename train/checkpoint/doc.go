// Package checkpoint is files of state: what a training run needs to go on as if it
// had never been stopped, and what is kept of one that went wrong.
//
// # Format
//
//	offset  bytes
//	0       8      "ymstate\n"
//	8       32     SHA-256 of everything after it
//	40      4      format version, little-endian, as all numbers here
//	44             sections, in strictly ascending order of their names:
//	               2 bytes length of the name, name, 8 bytes length of the data, data
//
// What the data of a section is, its reader knows: [Sections] holds numbers and JSON,
// [Writer] and [Reader] observations and picks. Equal sections are equal bytes.
//
// Files are written under a temporary name, synced and renamed, so that a process that
// is killed at any time leaves whole files under their names. A file that was damaged
// after that is refused by its hash, with its name in the error. Decoding never
// panics, and allocates no more than a small multiple of the bytes it is given.
package checkpoint
