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
	// Gap is the relative gap up to which an answer is Optimal. 0 means 1e-7.
	Gap float64
}

func (o *Options) fillDefaults(p *Problem) {
	if o.MaxPivots == 0 {
		o.MaxPivots = 10_000 + 20*p.Jobs()
	}
	if o.Gap == 0 {
		o.Gap = 1e-7
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
	for k, price := range o.Warm.Prices {
		if !(price >= 0) || math.IsInf(price, 1) {
			return fmt.Errorf("%w: options: Warm.Prices[%d] is %v", ErrProblem, k, price)
		}
	}
	return nil
}

// Status says how far a Result can be trusted to be the best.
type Status uint8

const (
	Stopped Status = iota // feasible; Gap says how far from the best at most
	Optimal               // feasible, and Gap is within Options.Gap
)

func (s Status) String() string {
	if s == Optimal {
		return "optimal"
	}
	return "stopped"
}

// Share is the part of its time that a job spends on one candidate.
type Share struct {
	Candidate int32
	Weight    float64 // over 0, at most 1
}

// Result is an answer to a Problem; the caller owns it.
type Result struct {
	Status    Status
	Objective float64
	// Bound is at least the optimum: it follows from Prices and JobPrices by
	// weak duality. Gap is (Bound - Objective) / Bound, 0 where Bound is 0.
	Bound, Gap float64
	// Shares is x without its zeros, ascending by candidate. All but at most K
	// jobs have one candidate (Sum) or one or two (MaxMin).
	Shares []Share
	// Prices are the dual values of the resources, shape [K]: what one more
	// unit would add to the objective.
	Prices []float64
	// JobPrices are the dual values of the rows Σ r·x >= z·f, shape [N]: by how
	// much z falls where job j is owed one more unit of rate, so that
	// Σ JobPrices·f is 1. nil for Sum, and all 0 where there is nothing to share.
	JobPrices []float64
	Pivots    int
}
