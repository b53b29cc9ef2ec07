package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// Optimus gives every job its smallest strategy, the shortest remaining time
// first, and then GPUs to whichever job's remaining time they shorten most per
// GPU (Peng et al., Optimus, EuroSys 2018, section 4.1: marginal gains), ties by
// ID.
//
// Departures: the paper grows workers and parameter servers one by one, here jobs
// step from strategy to strategy; GPU types are chosen at the start, where the job
// gets most done. Where nothing is known about the remaining work it is taken to
// be the work done so far and one round at full speed.
type Optimus struct{}

// Decide implements agent.Policy.
func (Optimus) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.giveSmallestInOrder(func(job int) float64 { return timeLeft(s, &s.Jobs[job]) })
	p.grow(func(job, from, to int) float64 {
		j := &s.Jobs[job]
		left := remaining(s, j, fastest(j))
		return (left/p.effective(job, from) - left/p.effective(job, to)) / p.addedGPUs(job, from, to)
	})
	return p.given, nil
}
