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

// Objective is what a Problem asks for.
type Objective uint8

const (
	Sum    Objective = iota // maximise Σ v·x
	MaxMin                  // maximise the least level of any job, see Problem.Target
	Total                   // minimise Σ_j f[j] / Σ_s r[j,s]·x[j,s]
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
	// Least is what has to be used of each resource, [K], at most the Capacity:
	// a row Σ u·x = C where the two are equal. nil is nothing; only for Sum.
	Least []float64
	// Usages lists the distinct usage vectors. Listing equal ones once makes
	// pricing fast: it is done per vector, not per candidate.
	Usages []Usage
	// Offsets delimits the jobs: candidates Offsets[j] to Offsets[j+1]-1 are
	// those of job j. Shape [N+1], ascending from 0 to M; nil is no jobs.
	Offsets []int32
	Rate    []float64 // [M], r >= 0; 0 is a candidate that makes no progress
	Usage   []int32   // [M], index into Usages

	// Value is the objective v of Sum, of any sign, where that is not the rate;
	// Floor, [N], adds the rows Σ_s r[j,s]·x[j,s] >= Floor[j] to it, for jobs
	// with a usable candidate. Both only for Sum; nil is v = r and no floors.
	Value []float64
	Floor []float64

	// Target, [N], is f, only for MaxMin and Total; > 0 but for MaxMin with a
	// Base. A job of rate r has reached the level
	//
	//	(r - b) / f  or  r / (f + h·r),
	//
	// that is z where r = b + f·z or r = f·z / (1 - h·z): with the Base b, [N], that
	// it has to have at least, or a Lag h, [N]. nil is 0, so that the level is r/f.
	// Where f is 0, the job needs the rate b and nothing else.
	Target []float64
	Base   []float64
	Lag    []float64
}

// Jobs returns N.
func (p *Problem) Jobs() int { return max(0, len(p.Offsets)-1) }

// validate reports the first thing that is wrong with p: programs build it, so
// that a list of all faults would help nobody.
func (p *Problem) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrProblem, fmt.Sprintf(format, args...))
	}
	if p.Objective > Total {
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
	if err := p.validateSum(bad); err != nil {
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
	return p.validateTargets(bad)
}

// validateSum checks what only Sum has.
func (p *Problem) validateSum(bad func(string, ...any) error) error {
	if p.Objective != Sum && (p.Least != nil || p.Value != nil || p.Floor != nil) {
		return bad("least, value or floor without the objective sum")
	}
	if p.Least != nil && len(p.Least) != len(p.Capacity) {
		return bad("%d least uses of %d resources", len(p.Least), len(p.Capacity))
	}
	for k, l := range p.Least {
		if !(l >= 0 && l <= p.Capacity[k]) {
			return bad("least[%d] is %v, want 0 to %v", k, l, p.Capacity[k])
		}
	}
	if p.Value != nil && len(p.Value) != len(p.Rate) {
		return bad("%d values for %d candidates", len(p.Value), len(p.Rate))
	}
	for i, v := range p.Value {
		if !valid(math.Abs(v)) {
			return bad("value[%d] is %v, want -%g to %g", i, v, maxNumber, maxNumber)
		}
	}
	if p.Floor != nil && len(p.Floor) != p.Jobs() {
		return bad("%d floors for %d jobs", len(p.Floor), p.Jobs())
	}
	for j, f := range p.Floor {
		if !valid(f) {
			return bad("floor[%d] is %v, want 0 to %g", j, f, maxNumber)
		}
	}
	return nil
}

// validateTargets checks what only MaxMin and Total have.
func (p *Problem) validateTargets(bad func(string, ...any) error) error {
	if p.Objective == Sum {
		return nil
	}
	n := p.Jobs()
	if len(p.Target) != n {
		return bad("%d targets for %d jobs", len(p.Target), n)
	}
	if p.Objective != MaxMin && (p.Base != nil || p.Lag != nil) {
		return bad("base or lag without the objective max-min")
	}
	if p.Base != nil && p.Lag != nil {
		return bad("base and lag together")
	}
	if p.Base != nil && len(p.Base) != n || p.Lag != nil && len(p.Lag) != n {
		return bad("%d bases and %d lags for %d jobs", len(p.Base), len(p.Lag), n)
	}
	for j, f := range p.Target {
		if !(f >= 1/maxNumber && f <= maxNumber) && (f != 0 || p.Base == nil) {
			return bad("target[%d] is %v, want %g to %g", j, f, 1/maxNumber, maxNumber)
		}
	}
	for _, list := range [2][]float64{p.Base, p.Lag} {
		for j, x := range list {
			if !valid(x) {
				return bad("base or lag [%d] is %v, want 0 to %g", j, x, maxNumber)
			}
		}
	}
	return nil
}

// wide reports whether p is a Sum in which a candidate may be of use though it
// gains nothing: the method then keeps all of them.
func (p *Problem) wide() bool { return p.Value != nil || p.Floor != nil || p.Least != nil }

// valueOf returns the objective coefficient of candidate i in Sum.
func (p *Problem) valueOf(i int32) float64 {
	if p.Value != nil {
		return p.Value[i]
	}
	return p.Rate[i]
}

// baseOf and lagOf return b and h of job j.
func (p *Problem) baseOf(j int) float64 { return at(p.Base, j) }
func (p *Problem) lagOf(j int) float64  { return at(p.Lag, j) }

// at returns list[j], 0 where there is no list.
func at(list []float64, j int) float64 {
	if list == nil {
		return 0
	}
	return list[j]
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
