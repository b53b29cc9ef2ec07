//go:build !unix

package cputime

import "time"

var started = time.Now()

// Spent returns the time since the start of the process, which is no less than
// what it computed for on one processor.
func Spent() time.Duration { return time.Since(started) }
