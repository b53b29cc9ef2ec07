package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// LAS runs the jobs with the least attained service first, ties by ID, where
// service is GPUs × time: the continuous form of two-dimensional LAS (Gu et
// al., Tiresias, NSDI 2019, section 3.2.1). It needs no knowledge of durations.
//
// Continuous priorities make equal jobs take turns, and each turn costs a
// restart. Lease is how much a running job may be ahead of a waiting one before
// it gives way.
type LAS struct {
	// Lease is in rounds of the job's own service; 0 is plain LAS, which may
	// preempt every round.
	Lease float64
}

// Decide implements agent.Policy.
func (l LAS) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	round := s.RoundLen.Seconds()
	p.fillInOrder(func(j *env.JobState) float64 {
		if j.Current == env.Idle {
			return j.Service
		}
		return j.Service - l.Lease*round*j.Strategies[j.Current].Held()
	})
	return p.given, nil
}
