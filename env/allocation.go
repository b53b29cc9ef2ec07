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
// existing strategy or Idle, no more GPUs of any type than the cluster has in
// service, and no more for any tenant than its quotas allow.
func (a Allocation) Validate(s *State) error {
	if len(a) != len(s.Jobs) {
		return fmt.Errorf("%w: %d entries for %d jobs", ErrInvalidAllocation, len(a), len(s.Jobs))
	}
	b := NewBudget(s)
	for i, k := range a {
		j := &s.Jobs[i]
		if k < Idle || k >= len(j.Strategies) {
			return fmt.Errorf("%w: job %d: strategy %d of %d", ErrInvalidAllocation, j.ID, k, len(j.Strategies))
		}
		if k != Idle {
			b.Take(j, &j.Strategies[k])
		}
	}
	if err := b.overdraft(s); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidAllocation, err)
	}
	return nil
}

// overdraft says of what too much was taken.
func (b *Budget) overdraft(s *State) error {
	for t, n := range b.free {
		if n < 0 {
			return fmt.Errorf("%v GPUs too many of type %s", float64(-n)/PartsPerGPU, s.Cluster.Types[t].Name)
		}
	}
	for i, n := range b.unused {
		if n >= 0 {
			continue
		}
		q, of := &s.Quotas[i], "all types"
		if q.Type != AnyType {
			of = "type " + s.Cluster.Types[q.Type].Name
		}
		return fmt.Errorf("tenant %.64q has %v GPUs too many of %s, its quota is %d", q.Tenant, float64(-n)/PartsPerGPU, of, q.GPUs)
	}
	return nil
}
