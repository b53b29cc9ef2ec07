package gavel

import "github.com/yardmaster/yardmaster/env/gavel"

// LAS is least attained service: every job wants every GPU type that it fits,
// so that in each round the mechanism gives a type to the jobs that have
// received least time on it since the last reset, fastest type first. Gavel has
// no such policy of its own; its stand-in for LAS is MaxMinFairness, which does
// not say which type a job should get.
type LAS struct{}

// Rules implements [gavel.Policy].
func (LAS) Rules() gavel.Rules { return gavel.Rules{} }

// Allocate implements [gavel.Policy].
func (LAS) Allocate(v *gavel.View, x []float64) error {
	for i, r := range v.Rates {
		if r > 0 {
			x[i] = 1
		}
	}
	return nil
}
