package guard

import (
	"context"
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// race is one decision in the making.
type race struct {
	g        *Guard
	ctx      context.Context // ends at the deadline
	state    *wire.State
	failures []Failure
}

type answer = result[*wire.Allocation]

// learnedOrLP waits for the learned policy until the cutoff and returns its
// answer, else the linear program's, else nil.
func (r *race) learnedOrLP() *wire.Allocation {
	cfg := &r.g.cfg
	cutoff := time.NewTimer(cfg.fraction(1 - cfg.Reserve))
	defer cutoff.Stop()
	last := time.NewTimer(cfg.fraction(1 - cfg.Reserve/2))
	defer last.Stop()
	hedge := time.NewTimer(cfg.fraction(cfg.Hedge))
	defer hedge.Stop()
	// A linear program is an anytime algorithm: when its time ends it answers
	// with the best so far. So that ends before the answer is needed.
	lpCtx, cancel := context.WithTimeout(r.ctx, cfg.fraction(1-cfg.Reserve))
	defer cancel()

	var policy, lp <-chan answer
	var second *wire.Allocation // the linear program's answer, while the policy still runs
	startLP := func() {
		if lp == nil {
			lp = r.g.ask(lpCtx, &r.g.lp, cfg.Fallback, r.state, wire.SourceLP)
		}
	}
	if cfg.Policy != nil {
		policy = r.g.ask(r.ctx, &r.g.policy, cfg.Policy, r.state, wire.SourcePolicy)
	} else {
		r.failures = append(r.failures, Failure{wire.SourcePolicy, wire.ReasonNoModel, errNoModel})
		startLP()
	}
	for lpDone := false; policy != nil || !lpDone; {
		select {
		case a := <-policy:
			if a.err == nil {
				return a.value
			}
			policy = nil
			r.fail(wire.SourcePolicy, a.err)
			startLP()
		case a := <-lp:
			lpDone, second = true, a.value
			if a.err != nil {
				r.fail(wire.SourceLP, a.err)
			}
		case <-hedge.C:
			startLP()
		case <-cutoff.C:
			if policy != nil {
				policy = nil
				r.fail(wire.SourcePolicy, context.DeadlineExceeded)
			}
		case <-last.C:
			r.fail(wire.SourceLP, context.DeadlineExceeded)
			return nil
		case <-r.ctx.Done():
			if !lpDone {
				r.fail(wire.SourceLP, r.ctx.Err())
			}
			if policy != nil {
				r.fail(wire.SourcePolicy, r.ctx.Err())
			}
			return second
		}
	}
	return second
}

// greedyOrHold asks the heuristic in the time that is left.
func (r *race) greedyOrHold() *wire.Allocation {
	select {
	case a := <-r.g.ask(r.ctx, &r.g.greedy, r.g.cfg.Greedy, r.state, wire.SourceGreedy):
		if a.err == nil {
			return a.value
		}
		r.fail(wire.SourceGreedy, a.err)
	case <-r.ctx.Done():
		r.fail(wire.SourceGreedy, context.DeadlineExceeded)
	}
	m := wire.NewAllocation(r.state, Hold(&r.state.State))
	m.Source = wire.SourceHold
	return m
}

// fail records a failure; the learned policy's goes first, whenever it came.
func (r *race) fail(source wire.Source, err error) {
	f := Failure{source, r.g.reason(err), err}
	if source == wire.SourcePolicy {
		r.failures = append([]Failure{f}, r.failures...)
	} else {
		r.failures = append(r.failures, f)
	}
	r.g.cfg.Logger.Warn("policy failed", "cluster", r.state.Cluster, "seq", r.state.Seq, "source", string(source), "reason", string(f.Reason), "error", err)
}
