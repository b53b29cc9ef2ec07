package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// ElasticFlow gives each job with a deadline the least that meets it, the
// earliest deadline first, and then GPUs to whoever makes most of them (Gu et
// al., ElasticFlow, ASPLOS 2023, sections 4.2 and 4.3: minimum satisfactory share
// and elastic allocation by marginal return).
//
// The paper plans shares over all future slots and refuses jobs at submission
// whose deadlines cannot be met. A state has no future slots: here a share is
// what would meet the deadline if it were held from now to the end, and nobody is
// refused. A job that can no longer be in time, or has no deadline, gets its
// smallest strategy from what is left, the shortest remaining time first. The
// marginal return is the part of a job's best speed that a GPU adds, as jobs of
// different models have no common measure of progress. Where nothing is known
// about the remaining work it is taken to be the work done so far and one round
// at full speed.
type ElasticFlow struct{}

// Decide implements agent.Policy.
func (ElasticFlow) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	byDeadline := p.idleInOrder(func(job int) float64 { return (s.Jobs[job].Deadline - s.Now).Seconds() })
	for _, r := range byDeadline {
		if s.Jobs[r.job].Deadline > s.Now {
			p.giveSatisfactory(int(r.job))
		}
	}
	p.giveSmallestInOrder(func(job int) float64 { return timeLeft(s, &s.Jobs[job]) })
	p.grow(func(job, from, to int) float64 {
		return (p.effective(job, to) - p.effective(job, from)) / fastest(&s.Jobs[job]).Throughput / p.addedGPUs(job, from, to)
	})
	return p.given, nil
}

// giveSatisfactory runs job on the fewest GPUs that end it before its deadline,
// of those as few steps/s as do, to leave the faster types to others; the
// strategy it runs already among equals.
func (p *pool) giveSatisfactory(job int) {
	j := &p.state.Jobs[job]
	left := remaining(p.state, j, fastest(j))
	time := (j.Deadline - p.state.Now).Seconds()
	best := env.Idle
	for k := range j.Strategies {
		st := &j.Strategies[k]
		needed := left / st.Throughput
		if k != j.Current {
			needed += st.Restart.Seconds()
		}
		if needed > time || !p.fits(j, st) {
			continue
		}
		if best == env.Idle || p.smaller(j, k, best) {
			best = k
		}
	}
	if best != env.Idle {
		p.give(job, best)
	}
}

// smaller reports whether strategy a of j takes less than b.
func (p *pool) smaller(j *env.JobState, a, b int) bool {
	x, y := &j.Strategies[a], &j.Strategies[b]
	if x.Parts() != y.Parts() {
		return x.Parts() < y.Parts()
	}
	if a == j.Current || b == j.Current {
		return a == j.Current
	}
	return x.Throughput < y.Throughput
}
