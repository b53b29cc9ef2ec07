// Package encode turns a state into the observation that learned policies read.
//
// It is the only encoder: training and serving share it, and its version is
// stored with every model, so that a model never reads columns it was not
// trained on. Every column is a ratio, a logarithm or a flag, clipped to ±10, so
// that a policy carries over to clusters of other sizes. The columns are named
// by [JobStrategySpace] and [ConfigurationSpace].
//
// Encoders hold scratch memory and are not safe for concurrent use.
package encode

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// clip is the bound of every column.
const clip = 10

// features returns features with these names, each within ±clip.
func features(names []string) []env.Feature {
	fs := make([]env.Feature, len(names))
	for i, name := range names {
		fs[i] = env.Feature{Name: name, Low: -clip, High: clip}
	}
	return fs
}

// bounded returns x clipped to ±clip, and 0 for NaN: 0/0 arises only where a
// ratio has nothing to say.
func bounded(x float64) float32 {
	switch {
	case x > clip:
		return clip
	case x < -clip:
		return -clip
	case math.IsNaN(x):
		return 0
	}
	return float32(x)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// grow returns a slice of length n, reusing s's memory where it is enough.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	return s[:n]
}
