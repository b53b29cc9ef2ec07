package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// LASMigrate is [LAS] with free migration: least attained service says which
// jobs run, and of those any may change its GPU type in any round, so that the
// types go where they speed up most. Pairs of jobs trade types as in [TwoStage],
// by speed relative to the job's best, less the share of the round that the
// restart costs. It is LAS (Gu et al., Tiresias, NSDI 2019) made aware of GPU
// types without a linear program; Gavel's max-min fairness (OSDI 2020) is the
// program for the same end. It needs no knowledge of durations.
type LASMigrate struct{}

// Decide implements agent.Policy.
func (LASMigrate) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.fillInOrder(func(j *env.JobState) float64 { return j.Service })
	p.exchange(func(job, k int) float64 {
		j := &s.Jobs[job]
		return j.Strategies[k].Throughput / fastest(j).Throughput * p.share(j, k)
	})
	return p.given, nil
}
