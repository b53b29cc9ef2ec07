package models

import (
	"errors"
	"fmt"
	"math"
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

	Mean []float64 `json:"mean"` // [D]
	// Covariance is the lower triangle by rows, D(D+1)/2 numbers, shrunk so that
	// it is positive definite.
	Covariance []float64 `json:"covariance"`

	// OutsideScale and DistanceScale are the units of the two parts of the score:
	// the share of values outside of their range, and the Mahalanobis distance.
	OutsideScale  float64 `json:"outside_scale"`
	DistanceScale float64 `json:"distance_scale"`
	// Threshold is the 99.9 % quantile of the score on states that the statistics
	// were not measured on.
	Threshold float64 `json:"threshold"`
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
	c.Global, c.Candidate = append([]Range(nil), n.Global...), append([]Range(nil), n.Candidate...)
	c.Mean, c.Covariance = append([]float64(nil), n.Mean...), append([]float64(nil), n.Covariance...)
	return &c
}

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
	if len(n.Global) != global || len(n.Candidate) != candidate || len(n.Mean) != d || len(n.Covariance) != d*(d+1)/2 {
		bad("%d global and %d candidate ranges, %d means, %d covariances, want %d, %d, %d, %d",
			len(n.Global), len(n.Candidate), len(n.Mean), len(n.Covariance), global, candidate, d, d*(d+1)/2)
		return errors.Join(errs...)
	}
	for _, list := range [][]Range{n.Global, n.Candidate} {
		for i, r := range list {
			if !(r.Low <= r.High) || math.IsInf(float64(r.Low), 0) || math.IsInf(float64(r.High), 0) {
				bad("range %d of %d is %v to %v, want finite and in order", i, len(list), r.Low, r.High)
			}
		}
	}
	for _, list := range [][]float64{n.Mean, n.Covariance} {
		for i, x := range list {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				bad("value %d of %d is %v, want finite", i, len(list), x)
			}
		}
	}
	for _, x := range []float64{n.OutsideScale, n.DistanceScale, n.Threshold} {
		if !(x > 0) || math.IsInf(x, 1) {
			bad("scales and threshold are %v, %v, %v, want finite and > 0", n.OutsideScale, n.DistanceScale, n.Threshold)
			break
		}
	}
	return errors.Join(errs...)
}
