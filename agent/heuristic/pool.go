package heuristic

import (
	"context"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// minShare is the least share of a round that counts as useful after a restart.
// It keeps a restart longer than the round from making a job impossible to
// start: it only makes moving it a bad idea.
const minShare = 0.1

// pool is one decision in the making: what is still free and what was given.
type pool struct {
	state  *env.State
	budget *env.Budget
	given  env.Allocation // [len(state.Jobs)]
}

// newPool starts a decision with every GPU free and every job idle, or returns
// ctx's error.
func newPool(ctx context.Context, s *env.State) (*pool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return emptyPool(s), nil
}

// emptyPool is a decision in which nothing was given yet.
func emptyPool(s *env.State) *pool {
	return &pool{state: s, budget: env.NewBudget(s), given: env.NewAllocation(len(s.Jobs))}
}

// full reports whether nothing is left to give.
func (p *pool) full() bool { return p.budget.Exhausted() }

// fits reports whether j can be given st now.
func (p *pool) fits(j *env.JobState, st *env.Strategy) bool { return p.budget.Fits(j, st) }

// possible reports whether j could be given st in an empty cluster.
func (p *pool) possible(j *env.JobState, st *env.Strategy) bool { return p.budget.Possible(j, st) }

// give runs job in its strategy k, which fits.
func (p *pool) give(job, k int) {
	j := &p.state.Jobs[job]
	p.budget.Take(j, &j.Strategies[k])
	p.given[job] = k
}

// giveRigid runs job on the number of GPUs it asked for, in the strategy that
// gets most done in the coming round, if one fits. It reports whether the job
// got what it could ever get, or waits for its tenant's quota: false means that
// it has to wait for GPUs.
func (p *pool) giveRigid(job int) bool {
	j := &p.state.Jobs[job]
	gpus := p.rigidGPUs(j)
	best, most, barred := env.Idle, math.Inf(-1), false
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if st.GPUs != gpus {
			continue
		}
		if !p.fits(j, st) {
			barred = barred || st.Parts() <= p.budget.FreeParts(st.Type)
			continue
		}
		work := st.Throughput * p.share(j, k)
		if work > most || work == most && k == j.Current {
			best, most = k, work
		}
	}
	if best != env.Idle {
		p.give(job, best)
	}
	return best != env.Idle || gpus == 0 || barred
}

// rigidGPUs returns the number of GPUs a rigid policy runs j on: the requested
// one, or the nearest (by ratio, the smaller of two) that j has a strategy for
// in this cluster, or 0 if none of its strategies is possible.
func (p *pool) rigidGPUs(j *env.JobState) int {
	best, nearest := 0, math.Inf(1)
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if !p.possible(j, st) {
			continue
		}
		if st.GPUs == j.GPUs {
			return st.GPUs
		}
		ratio := float64(max(st.GPUs, j.GPUs)) / float64(min(st.GPUs, j.GPUs))
		if ratio < nearest || ratio == nearest && st.GPUs < best {
			best, nearest = st.GPUs, ratio
		}
	}
	return best
}

// share returns the share of the coming round in which j would work under its
// strategy k: 1 where it already runs, less the restart elsewhere.
func (p *pool) share(j *env.JobState, k int) float64 {
	if k == j.Current {
		return 1
	}
	return restartShare(j.Strategies[k].Restart, p.state.RoundLen)
}

// restartShare returns (round − restart)/round, at least minShare.
func restartShare(restart, round time.Duration) float64 {
	return max(minShare, float64(round-restart)/float64(round))
}
