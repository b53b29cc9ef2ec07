package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// AFS is elastic sharing by AFS-L (Hwang et al., Elastic Resource Sharing for
// Distributed Deep Learning, NSDI 2021, section 4): the smallest strategies first,
// the shortest remaining time first, then GPUs one step at a time to the job that
// wins every comparison. Of two jobs, a with less time left and b with more, the
// step goes to b if
//
//	(p'_b − p_b) / p'_b > (p'_a − p_a) / p_a,
//
// where p is the speed now and p' after the step, and else to a. That is what
// makes the sum of the completion times of two jobs less, where b runs at p'_b
// once a is gone: giving to b ends a at w/p_a in place of w/p'_a and costs both
// jobs that difference, in which b then did p'_b in place of p_b.
//
// Departures: steps lead from strategy to strategy and may be of several GPUs, so
// that speeds count per GPU of the step; GPU types are chosen at the start. Where
// nothing is known about the remaining work it is taken to be the work done so
// far and one round at full speed (the paper's AFS-P goes by age alone). A
// decision takes steps × running jobs comparisons.
type AFS struct{}

// step is the next larger strategy of a running job.
type step struct {
	job, to      int
	id           int64
	left         float64 // time, as it runs now
	after, ahead float64 // relative gain per GPU: over the speed after and before
}

// Decide implements agent.Policy.
func (AFS) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	p.giveSmallestInOrder(func(job int) float64 { return timeLeft(s, &s.Jobs[job]) })
	var steps []step
	for i, k := range p.given {
		if k != env.Idle {
			if next, ok := p.nextStep(i); ok {
				steps = append(steps, next)
			}
		}
	}
	for len(steps) > 0 && !p.full() {
		win := 0
		for i := 1; i < len(steps); i++ {
			if steps[i].beats(&steps[win]) {
				win = i
			}
		}
		x := steps[win]
		if p.fitsInstead(x.job, x.to) {
			p.change(x.job, x.to)
		}
		if next, ok := p.nextStep(x.job); ok {
			steps[win] = next
		} else {
			steps = append(steps[:win], steps[win+1:]...)
		}
	}
	return p.given, nil
}

// nextStep returns the smallest step up that fits, if any.
func (p *pool) nextStep(job int) (step, bool) {
	j := &p.state.Jobs[job]
	to := env.Idle
	for k := range j.Strategies {
		if p.larger(job, k) && (to == env.Idle || j.Strategies[k].Parts() < j.Strategies[to].Parts()) && p.fitsInstead(job, k) {
			to = k
		}
	}
	if to == env.Idle {
		return step{}, false
	}
	from := p.given[job]
	before, after := p.effective(job, from), p.effective(job, to)
	gpus := p.addedGPUs(job, from, to)
	return step{
		job: job, to: to, id: j.ID,
		left:  remaining(p.state, j, fastest(j)) / before,
		after: (after - before) / after / gpus,
		ahead: (after - before) / before / gpus,
	}, true
}

// beats reports whether x gets the step rather than y.
func (x *step) beats(y *step) bool {
	if x.left < y.left || x.left == y.left && x.id < y.id {
		return y.after <= x.ahead
	}
	return x.after > y.ahead
}
