package models

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Novelty describes the observations a model met in training, so that a service
// can tell how far from them a decision point is. Package agent/novelty measures
// it and computes the score from it.
//
// D = G + F: the G features of the decision point, then the means of the F
// features over the legal candidates.
type Novelty struct {
	States int `json:"states"` // observations measured

	// Global [G] and Candidate [F] are the ranges between the 0.1 and the 99.9 %
	// quantile of each feature.
	Global    []Range `json:"global"`
	Candidate []Range `json:"candidate"`

	// Classes divide the decision points by their number of candidates, ascending.
	Classes []SizeClass `json:"classes"`
	// Covariance within classes is the lower triangle by rows, D(D+1)/2 numbers,
	// shrunk so that it is positive definite.
	Covariance []float64 `json:"covariance"`
}

// SizeClass describes the decision points with about as many candidates.
type SizeClass struct {
	Candidates int       `json:"candidates"` // legal ones, at least; up to those of the next class
	States     int       `json:"states"`     // observations measured
	Mean       []float64 `json:"mean"`       // [D]
	// Outside, Distance and Features [D] are the units of the parts of the score:
	// the share of values outside of their range, the Mahalanobis distance, and how
	// far each of the D numbers is from what those before it predict. One state in
	// a hundred that was held out of the statistics has a part above its unit.
	Outside  float64   `json:"outside"`
	Distance float64   `json:"distance"`
	Features []float64 `json:"features"`
}

// Range is where nearly all values of a feature lie, both ends included.
type Range struct {
	Low  float32 `json:"low"`
	High float32 `json:"high"`
}

// Clone returns a copy that shares no memory with n.
func (n *Novelty) Clone() *Novelty {
	if n == nil {
		return nil
	}
	c := *n
	c.Global, c.Candidate = slices.Clone(n.Global), slices.Clone(n.Candidate)
	c.Covariance, c.Classes = slices.Clone(n.Covariance), slices.Clone(n.Classes)
	for i := range c.Classes {
		c.Classes[i].Mean, c.Classes[i].Features = slices.Clone(n.Classes[i].Mean), slices.Clone(n.Classes[i].Features)
	}
	return &c
}

// maxClasses bounds the size classes of a model.
const maxClasses = 64

// validate reports everything that is wrong with n for a model of G global and F
// candidate features. Whether the covariance is positive definite shows when it
// is used.
func (n *Novelty) validate(global, candidate int) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("models: novelty: "+format, args...)) }
	d := global + candidate
	if n.States < 1 {
		bad("states is %d, want >= 1", n.States)
	}
	if len(n.Global) != global || len(n.Candidate) != candidate || len(n.Covariance) != d*(d+1)/2 {
		bad("%d global and %d candidate ranges and %d covariances, want %d, %d and %d",
			len(n.Global), len(n.Candidate), len(n.Covariance), global, candidate, d*(d+1)/2)
	}
	if len(n.Classes) < 1 || len(n.Classes) > maxClasses {
		bad("%d classes, want 1 to %d", len(n.Classes), maxClasses)
		return errors.Join(errs...)
	}
	for _, list := range [][]Range{n.Global, n.Candidate} {
		for i, r := range list {
			if !(r.Low <= r.High) || !finite(float64(r.Low)) || !finite(float64(r.High)) {
				bad("range %d of %d is %v to %v, want finite and in order", i, len(list), r.Low, r.High)
			}
		}
	}
	if i := slices.IndexFunc(n.Covariance, infinite); i >= 0 {
		bad("covariance %d is %v, want finite", i, n.Covariance[i])
	}
	for i, c := range n.Classes {
		if i > 0 && c.Candidates <= n.Classes[i-1].Candidates || c.States < 1 || !positive(c.Outside) || !positive(c.Distance) {
			bad("class %d begins at %d candidates with %d states and units %v and %v, want ascending candidates and the others > 0 and finite", i, c.Candidates, c.States, c.Outside, c.Distance)
		}
		if len(c.Mean) != d || slices.ContainsFunc(c.Mean, infinite) {
			bad("class %d has %d means, want %d, all finite", i, len(c.Mean), d)
		}
		if len(c.Features) != d || slices.ContainsFunc(c.Features, func(x float64) bool { return !positive(x) }) {
			bad("class %d has %d units of features, want %d, all > 0 and finite", i, len(c.Features), d)
		}
	}
	return errors.Join(errs...)
}

func finite(x float64) bool   { return !infinite(x) }
func infinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
