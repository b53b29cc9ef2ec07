package simplex

import (
	"fmt"
	"math"
)

// Options steer Solve. The zero value is a cold start with the default budget.
type Options struct {
	// Warm is the answer to a similar problem over the same resources: its
	// prices and its objective are the first guess. nil is a cold start.
	Warm *Result
	// MaxPivots ends the search early. 0 means 10,000 and 20 per job, far more
	// than any instance seen has needed.
	MaxPivots int
	// Gap is the relative gap up to which an answer is Optimal. 0 means 1e-7,
	// 1e-6 for Total and with lags.
	Gap float64
	// Interrupt, asked now and then, ends the search by returning true, for
	// callers with a clock. nil is never.
	Interrupt func() bool
}

func (o *Options) fillDefaults(p *Problem) {
	if o.MaxPivots == 0 {
		o.MaxPivots = 10_000 + 20*p.Jobs()
	}
	if o.Gap == 0 {
		o.Gap = 1e-7
		if p.Objective == Total || p.Lag != nil {
			o.Gap = 1e-6
		}
	}
}

func (o *Options) validate(p *Problem) error {
	if o.MaxPivots < 0 || !(o.Gap >= 0) {
		return fmt.Errorf("%w: options: MaxPivots %d and Gap %v, want both >= 0", ErrProblem, o.MaxPivots, o.Gap)
	}
	if o.Warm == nil {
		return nil
	}
	if len(o.Warm.Prices) != len(p.Capacity) {
		return fmt.Errorf("%w: options: Warm has %d prices, want %d", ErrProblem, len(o.Warm.Prices), len(p.Capacity))
	}
	for k, price := range o.Warm.Prices { // below 0 where the other problem had a Least
		if math.IsNaN(price) || math.IsInf(price, 0) {
			return fmt.Errorf("%w: options: Warm.Prices[%d] is %v, want a finite number", ErrProblem, k, price)
		}
	}
	return nil
}

// Status says how far a Result can be trusted to be the best.
type Status uint8

const (
	Stopped    Status = iota // feasible; Gap says how far from the best at most
	Optimal                  // feasible, and Gap is within Options.Gap
	Infeasible               // there is no answer: Prices and JobPrices prove it
	Unknown                  // stopped before an answer was found; there may be none
)

var statusNames = [...]string{"stopped", "optimal", "infeasible", "unknown"}

func (s Status) String() string { return statusNames[s] }

// Feasible reports whether there is an answer.
func (s Status) Feasible() bool { return s == Stopped || s == Optimal }

// Share is the part of its time that a job spends on one candidate.
type Share struct {
	Candidate int32
	Weight    float64 // over 0, at most 1
}

// Result is an answer to a Problem; the caller owns it.
type Result struct {
	Status    Status
	Objective float64
	// Bound is at least the optimum, for Total at most: it follows from Prices
	// and JobPrices by weak duality. Gap is the distance of the two, relative to
	// the larger; where they are differences, because of values below 0 or a
	// Base, relative to what those are differences of.
	Bound, Gap float64
	// Shares is x without its zeros, ascending by candidate. All but at most K
	// jobs have one candidate (Sum) or one or two (MaxMin).
	Shares []Share
	// Prices are the dual values of the resources, shape [K]: by how much the
	// objective gets better with one more unit. Below 0 where more has to be used
	// than is worth it (Least).
	Prices []float64
	// JobPrices are the dual values of the jobs' rates, shape [N]: by how much
	// the objective gets worse where job j is owed one more unit of rate. In
	// MaxMin without Base and Lag, Σ JobPrices·f is 1, or 0 where there is
	// nothing to share. nil for Sum without Floor.
	JobPrices []float64
	Pivots    int
}
