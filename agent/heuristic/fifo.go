package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// FIFO runs jobs in the order of their submission, ties by ID. A running job
// keeps its strategy to the end; the first job of the queue that does not fit
// holds back all behind it, as in Gavel's FIFO (Narayanan et al., OSDI 2020,
// policies/fifo.py) and in plain cluster queues. Passed over are only jobs that no
// strategy could ever run on this cluster, and those that wait for the quota of
// their tenant.
type FIFO struct{}

// Decide implements agent.Policy.
func (FIFO) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		// Where GPUs were lost since, the last submitted have to stop.
		if j.Current != env.Idle && p.fits(j, &j.Strategies[j.Current]) {
			p.give(i, j.Current)
		}
	}
	for i := range s.Jobs {
		if p.given[i] == env.Idle && !p.giveRigid(i) {
			break
		}
	}
	return p.given, nil
}
