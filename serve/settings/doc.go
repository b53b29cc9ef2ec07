// Package settings is everything that `yardmaster serve` can be told, where it
// was told, and how it is written: one table ([All]) of keys with defaults,
// bounds and meanings, from which the reader of the YAML file, the environment
// variables, the flags, the documentation and the JSON Schema are made.
//
// A flag wins over an environment variable, that over the file, that over the
// default. [Load] reports all mistakes at once, each with where it was made:
//
//	yardmaster.yaml:7: guard.deadlin: unknown key, the nearest known one is guard.deadline
//
// To add a setting, add one line to the table; tests find a field of
// serve.Config that has none.
//
// # Units
//
// Durations are written with their unit (500ms, 1h). Secrets are never values:
// settings name the files that hold them.
package settings
