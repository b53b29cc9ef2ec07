// Package runfile reads and writes the YAML file that says everything about a
// training run: its scenario, what is learned from it and every hyper-parameter.
//
// [File] is the run, [Defaults] the one that sets nothing. Every field is a key
// of the file, named after the field's JSON tag and the sections it is in, as in
// ppo.rate; [Keys] says of each what it means and which values it may have. From
// that one list come the comments of the files that are written, the errors of
// those that are read, and the table of settings in train/README.md.
//
// # What is strict
//
// A key that is unknown, a value of the wrong kind or out of range is an error
// with the file, the line, the key, the value and what is allowed instead; all
// mistakes of a file are reported at once. What is left out keeps its default.
//
// # Zero
//
// In the Config structs of this module zero means the default. In a file it means
// zero: where a stage or a term may be left out, 0 does that, and where zero has no
// meaning it is refused.
//
// # Paths
//
// Paths in a file are relative to the folder that it is in.
package runfile
