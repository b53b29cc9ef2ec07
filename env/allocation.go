package env

import (
	"errors"
	"fmt"
)

// ErrInvalidAllocation is wrapped by every error of Allocation.Validate.
var ErrInvalidAllocation = errors.New("env: invalid allocation")

// Allocation chooses, for job j of a State, the strategy
// State.Jobs[j].Strategies[a[j]], or Idle. Shape [len(State.Jobs)].
type Allocation []int

// NewAllocation returns an allocation of n idle jobs.
func NewAllocation(n int) Allocation {
	a := make(Allocation, n)
	for i := range a {
		a[i] = Idle
	}
	return a
}

// Validate reports whether a can be applied in s: one entry per job, each an
// existing strategy or Idle, and no more GPUs of any type than the cluster has.
func (a Allocation) Validate(s *State) error {
	if len(a) != len(s.Jobs) {
		return fmt.Errorf("%w: %d entries for %d jobs", ErrInvalidAllocation, len(a), len(s.Jobs))
	}
	free := s.Cluster.Capacity()
	for i, k := range a {
		j := &s.Jobs[i]
		if k < Idle || k >= len(j.Strategies) {
			return fmt.Errorf("%w: job %d: strategy %d of %d", ErrInvalidAllocation, j.ID, k, len(j.Strategies))
		}
		if k != Idle {
			free[j.Strategies[k].Type] -= j.Strategies[k].GPUs
		}
	}
	for t, n := range free {
		if n < 0 {
			return fmt.Errorf("%w: %d GPUs too many of type %s", ErrInvalidAllocation, -n, s.Cluster.Types[t].Name)
		}
	}
	return nil
}
