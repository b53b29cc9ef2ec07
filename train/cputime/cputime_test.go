package cputime

import (
	"testing"
	"time"
)

// Computing takes time, and the time never runs back.
func TestSpentGrows(t *testing.T) {
	start := Spent()
	for last, x := start, 1.0; last-start < 2*time.Millisecond; {
		for range 1000 {
			x = x*1.0000001 + 1e-9
		}
		now := Spent()
		if now < last {
			t.Fatalf("%v after %v", now, last)
		}
		last = now
		sink = x
	}
}

var sink float64
