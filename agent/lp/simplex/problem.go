package simplex

import (
	"errors"
	"fmt"
	"math"
)

// ErrProblem is wrapped by the errors of malformed problems and options.
var ErrProblem = errors.New("simplex: malformed problem")

// maxNumber bounds every number of a Problem, so that products of a few of them
// stay finite. Targets are also at least 1/maxNumber.
const maxNumber = 1e30

// Objective is what a Problem maximises.
type Objective uint8

const (
	Sum    Objective = iota // Σ r·x
	MaxMin                  // the least Σ_s r[j,s]·x[j,s] / f[j]
)

// Term is an amount of one resource.
type Term struct {
	Resource int32
	Amount   float64
}

// Usage is what one candidate takes when it runs all the time. No resource
// occurs twice.
type Usage []Term

// Problem is one linear program, N jobs over K resources with M candidates.
// Solve and Check only read it.
type Problem struct {
	Objective Objective
	Capacity  []float64 // [K], >= 0
	// Usages lists the distinct usage vectors. Listing equal ones once makes
	// pricing fast: it is done per vector, not per candidate.
	Usages []Usage
	// Offsets delimits the jobs: candidates Offsets[j] to Offsets[j+1]-1 are
	// those of job j. Shape [N+1], ascending from 0 to M; nil is no jobs.
	Offsets []int32
	Rate    []float64 // [M], >= 0; 0 is a candidate of no use
	Usage   []int32   // [M], index into Usages
	Target  []float64 // [N], f > 0; only for MaxMin
}

// Jobs returns N.
func (p *Problem) Jobs() int { return max(0, len(p.Offsets)-1) }

// validate reports the first thing that is wrong with p: programs build it, so
// that a list of all faults would help nobody.
func (p *Problem) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrProblem, fmt.Sprintf(format, args...))
	}
	if p.Objective > MaxMin {
		return bad("objective %d is unknown", p.Objective)
	}
	for k, c := range p.Capacity {
		if !valid(c) {
			return bad("capacity[%d] is %v, want 0 to %g", k, c, maxNumber)
		}
	}
	if err := p.validateUsages(bad); err != nil {
		return err
	}
	m := len(p.Rate)
	if len(p.Usage) != m || m > math.MaxInt32 {
		return bad("%d rates and %d usages", m, len(p.Usage))
	}
	for i, r := range p.Rate {
		if !valid(r) {
			return bad("rate[%d] is %v, want 0 to %g", i, r, maxNumber)
		}
		if q := p.Usage[i]; q < 0 || int(q) >= len(p.Usages) {
			return bad("usage[%d] is %d of %d", i, q, len(p.Usages))
		}
	}
	return p.validateJobs(bad)
}

func (p *Problem) validateUsages(bad func(string, ...any) error) error {
	seen := make([]int, len(p.Capacity)) // 1 + last vector that used the resource
	for q, u := range p.Usages {
		for _, t := range u {
			if t.Resource < 0 || int(t.Resource) >= len(p.Capacity) || seen[t.Resource] == q+1 {
				return bad("usages[%d] names resource %d of %d, or twice", q, t.Resource, len(p.Capacity))
			}
			seen[t.Resource] = q + 1
			if !valid(t.Amount) {
				return bad("usages[%d] takes %v, want 0 to %g", q, t.Amount, maxNumber)
			}
		}
	}
	return nil
}

func (p *Problem) validateJobs(bad func(string, ...any) error) error {
	n := p.Jobs()
	if len(p.Offsets) > 0 && (p.Offsets[0] != 0 || int(p.Offsets[n]) != len(p.Rate)) || n == 0 && len(p.Rate) > 0 {
		return bad("offsets do not run from 0 to %d", len(p.Rate))
	}
	for j := range n {
		if p.Offsets[j] > p.Offsets[j+1] {
			return bad("offsets[%d] is %d, after %d", j+1, p.Offsets[j+1], p.Offsets[j])
		}
	}
	if p.Objective != MaxMin {
		return nil
	}
	if len(p.Target) != n {
		return bad("%d targets for %d jobs", len(p.Target), n)
	}
	for j, f := range p.Target {
		if !(f >= 1/maxNumber && f <= maxNumber) {
			return bad("target[%d] is %v, want %g to %g", j, f, 1/maxNumber, maxNumber)
		}
	}
	return nil
}

// valid reports 0 <= x <= maxNumber; it is false for NaN.
func valid(x float64) bool { return x >= 0 && x <= maxNumber }

// runnable reports whether a candidate with usage u can run at all: it takes
// nothing of a resource that there is nothing of.
func (p *Problem) runnable(u Usage) bool {
	for _, t := range u {
		if t.Amount > 0 && p.Capacity[t.Resource] == 0 {
			return false
		}
	}
	return true
}
