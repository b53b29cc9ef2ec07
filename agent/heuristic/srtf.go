package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// SRTF runs the jobs with the shortest remaining time first, preempting longer
// ones: optimal for the mean completion time on one machine (Schrage 1968), a
// strong rule on many. The remaining time is the remaining work at the
// throughput of the job's fastest strategy. Where nothing is known about the
// remaining work it is that of [LAS]: the least attained service first.
type SRTF struct{}

// Decide implements agent.Policy.
func (SRTF) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	if s.Knowledge == env.None {
		return LAS{}.Decide(ctx, s)
	}
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.fillInOrder(func(j *env.JobState) float64 {
		return j.Remaining / fastest(j).Throughput
	})
	return p.given, nil
}

// fastest returns the strategy of j with the highest throughput, the first of
// equal ones.
func fastest(j *env.JobState) *env.Strategy {
	best := &j.Strategies[0]
	for k := 1; k < len(j.Strategies); k++ {
		if st := &j.Strategies[k]; st.Throughput > best.Throughput {
			best = st
		}
	}
	return best
}
