//go:build race

package servetest

// Race says that the race detector watches, which makes everything ten times as
// slow: tests of sizes then take smaller ones.
const Race = true
