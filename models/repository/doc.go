// Package repository keeps versions of models in a folder:
//
//	<root>/<name>/<version>/{manifest.json,weights.safetensors,golden.safetensors}
//	<root>/active.json    what is in use, see [Active]
//	<root>/.lock, .tmp-*  a lock of writers, and what they have not finished
//
// A version is immutable: it appears with one rename when all its files are
// written and synced, and disappears with one rename before any of them goes. So
// a reader sees all of a version or nothing, whatever happens to a writer.
// Readers take no lock.
//
// # Names
//
// A name is 1 to 64 of A-Z a-z 0-9 _ -, a version MAJOR.MINOR.PATCH without leading
// zeros, each below 10^9. What else lies in the folder is ignored, symbolic links
// too.
//
// # Limits
//
// At most [MaxNames] names and [MaxVersions] versions of each are listed; the files
// of a version are bounded as in package models.
package repository
