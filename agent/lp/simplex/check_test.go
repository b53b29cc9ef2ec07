package simplex

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// Check refuses every way in which an answer can be wrong.
func TestCheckRefuses(t *testing.T) {
	p := cluster(MaxMin, 20, 4, 3)
	good := mustSolve(t, p, Options{})
	for name, change := range map[string]func(*Result){
		"share out of range":    func(r *Result) { r.Shares[0].Candidate = -1 },
		"share past the end":    func(r *Result) { r.Shares[len(r.Shares)-1].Candidate = int32(len(p.Rate)) },
		"shares out of order":   func(r *Result) { r.Shares[1].Candidate = r.Shares[0].Candidate },
		"share of nothing":      func(r *Result) { r.Shares[0].Weight = 0 },
		"NaN share":             func(r *Result) { r.Shares[0].Weight = math.NaN() },
		"job over its time":     func(r *Result) { r.Shares[0].Weight = 1.1 },
		"resource overstepped":  func(r *Result) { stretch(p, r, 1+3e-9) },
		"price missing":         func(r *Result) { r.Prices = r.Prices[1:] },
		"negative price":        func(r *Result) { r.Prices[0] = -r.Prices[0] },
		"NaN price":             func(r *Result) { r.JobPrices[0] = math.NaN() },
		"job prices missing":    func(r *Result) { r.JobPrices = nil },
		"wrong objective":       func(r *Result) { r.Objective *= 1 + 1e-8 },
		"wrong bound":           func(r *Result) { r.Bound *= 1 - 1e-8 },
		"wrong gap":             func(r *Result) { r.Gap += 1e-8 },
		"prices prove less":     func(r *Result) { r.Prices[0] *= 1.5 },
		"optimal with a gap":    func(r *Result) { r.Shares = r.Shares[:1]; finish(p, r, 1e-7); r.Status = Optimal },
		"optimal by loose ends": func(r *Result) { stretch(p, r, 1-1e-6); finish(p, r, 1e-7); r.Status = Optimal },
	} {
		t.Run(name, func(t *testing.T) {
			r := *good
			r.Shares, r.Prices, r.JobPrices = slices.Clone(r.Shares), slices.Clone(r.Prices), slices.Clone(r.JobPrices)
			if err := Check(p, &r, 1e-7); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			change(&r)
			if err := Check(p, &r, 1e-7); !errors.Is(err, ErrCheck) {
				t.Errorf("got %v, want ErrCheck", err)
			}
		})
	}
}

// stretch multiplies all shares and makes the objective fit.
func stretch(p *Problem, r *Result, factor float64) {
	for i := range r.Shares {
		r.Shares[i].Weight *= factor
	}
	finish(p, r, 1)
	r.Status = Stopped
}
