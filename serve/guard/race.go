package guard

import (
	"context"
	"errors"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// race is one decision in the making.
type race struct {
	g        *Guard
	ctx      context.Context // ends at the deadline
	allowed  time.Duration   // until then, from the start
	state    *wire.State
	track    *track
	aid      *aid      // jobs that have to run, nil for none
	policy   *proposal // the learned policy's valid answer, used or not
	program  *proposal // the linear program's valid answer
	solved   Program   // how the linear program did
	failures []Failure
}

// proposal is a valid answer to a state.
type proposal struct {
	message    *wire.Allocation
	allocation env.Allocation
	novelty    float64 // of the state, where the policy tells; else negative
	took       time.Duration
}

type answer = result[*proposal]

// Errors of answers that are not used although they can be applied.
var (
	errUnfamiliar = errors.New("guard: the states are unlike those the policy was trained on")
	errRegret     = errors.New("guard: the policy's regret is over its budget")
	errStarving   = errors.New("guard: the policy passes over a job that waited too long")
	errBreaker    = errors.New("guard: the policy failed too often of late and is not asked")
)

// learnedOrLP waits for the learned policy until the cutoff and returns its
// answer, else the linear program's, else nil.
func (r *race) learnedOrLP() *wire.Allocation {
	cfg := &r.g.cfg
	cutoff := time.NewTimer(r.fraction(1 - cfg.Reserve))
	defer cutoff.Stop()
	last := time.NewTimer(r.fraction(1 - cfg.Reserve/2))
	defer last.Stop()
	hedge := time.NewTimer(r.fraction(cfg.Hedge))
	defer hedge.Stop()
	// A linear program is an anytime algorithm: when its time ends it answers
	// with the best so far. So that ends before the answer is needed.
	lpCtx, cancel := context.WithTimeout(r.ctx, r.fraction(1-cfg.Reserve))
	defer cancel()

	var lp <-chan answer
	startLP := func() {
		if lp == nil {
			lp = r.ask(lpCtx, &r.g.lp, cfg.Fallback, wire.SourceLP)
		}
	}
	policy, doubt := r.askPolicy()
	if policy == nil || doubt {
		startLP()
	}
	for lpDone := false; policy != nil || !lpDone; {
		select {
		case a := <-policy:
			policy = nil
			if r.judge(a) {
				return a.value.message
			}
			startLP()
		case a := <-lp:
			lpDone = true
			r.note(a)
		case <-hedge.C:
			startLP()
		case <-cutoff.C:
			if policy != nil {
				policy = nil
				r.policyFailed(context.DeadlineExceeded)
			}
		case <-last.C:
			r.note(answer{err: context.DeadlineExceeded})
			return nil
		case <-r.ctx.Done():
			if !lpDone {
				r.note(answer{err: r.ctx.Err()})
			}
			if policy != nil {
				r.policyFailed(r.ctx.Err())
			}
			return r.second()
		}
	}
	return r.second()
}

// fraction returns this part of the time until the deadline.
func (r *race) fraction(f float64) time.Duration { return time.Duration(f * float64(r.allowed)) }

// second returns the linear program's answer, if there is one.
func (r *race) second() *wire.Allocation {
	if r.program == nil {
		return nil
	}
	return r.program.message
}

// askPolicy starts the learned policy, unless there is none or the breaker is open:
// then it returns nil. doubt says that its answer is likely not to be used.
func (r *race) askPolicy() (policy <-chan answer, doubt bool) {
	cfg := &r.g.cfg
	if cfg.Policy == nil {
		r.fail(wire.SourcePolicy, wire.ReasonNoModel, errNoModel)
		return nil, true
	}
	plan := r.track.begin(cfg)
	if !plan.ask {
		r.fail(wire.SourcePolicy, wire.ReasonBreaker, errBreaker)
		return nil, true
	}
	return r.ask(r.ctx, &r.g.policy, cfg.Policy, wire.SourcePolicy), plan.doubt || r.aid != nil
}

// judge decides whether the learned policy's answer is used.
func (r *race) judge(a answer) bool {
	if a.err != nil {
		r.policyFailed(a.err)
		return false
	}
	r.policy = a.value
	r.tried(false)
	cfg := &r.g.cfg
	unlike, changed := r.track.unlike(cfg, a.value.novelty)
	if changed {
		text := "the policy decides again: states are like those of training"
		if unlike {
			text = "the linear program decides: states are unlike those the policy was trained on"
		}
		r.turn(wire.ReasonOOD, unlike, a.value.novelty, 1, text)
	}
	switch {
	case unlike:
		r.fail(wire.SourcePolicy, wire.ReasonOOD, errUnfamiliar)
	case r.track.overBudget(cfg):
		r.fail(wire.SourcePolicy, wire.ReasonRegret, errRegret)
	case r.aid != nil && !r.aid.granted(a.value.allocation):
		r.fail(wire.SourcePolicy, wire.ReasonStarving, errStarving)
	default:
		return true
	}
	return false
}

// policyFailed records a failure of the learned policy.
func (r *race) policyFailed(err error) {
	r.fail(wire.SourcePolicy, r.g.reason(err), err)
	if !errors.Is(err, context.Canceled) { // whoever asked went away: nobody's fault
		r.tried(true)
	}
}

// tried tells the breaker how the policy did.
func (r *race) tried(failed bool) {
	cfg := &r.g.cfg
	changed, open := r.track.answered(cfg, failed)
	if !changed {
		return
	}
	text := "the policy is asked again: a trial succeeded"
	if open {
		text = "the policy is not asked for a while: it failed too often"
	}
	r.turn(wire.ReasonBreaker, open, float64(cfg.Breaker.Failures), float64(cfg.Breaker.Window), text)
}

// turn tells that a rail begins or ends to hold for the cluster, if it was the
// cluster that sent the state.
func (r *race) turn(reason wire.Reason, active bool, value, limit float64, text string) {
	if !r.track.key.requested {
		r.g.turn(r.state, reason, active, value, limit, text)
	}
}

// note records how the linear program did.
func (r *race) note(a answer) {
	r.program = a.value
	r.solved = programOf(a)
	if a.err == nil {
		return
	}
	reason := r.g.reason(a.err)
	r.fail(wire.SourceLP, reason, a.err)
	if reason != wire.ReasonLate && !r.track.key.requested { // anyone may ask: that replaces no state a cluster sent
		r.g.dump(r.state, reason, a.err)
	}
}

// greedyOrHold asks the heuristic in the time that is left.
func (r *race) greedyOrHold() *wire.Allocation {
	select {
	case a := <-r.ask(r.ctx, &r.g.greedy, r.g.cfg.Greedy, wire.SourceGreedy):
		if a.err == nil {
			return a.value.message
		}
		r.fail(wire.SourceGreedy, r.g.reason(a.err), a.err)
	case <-r.ctx.Done():
		r.fail(wire.SourceGreedy, wire.ReasonLate, context.DeadlineExceeded)
	}
	m := wire.NewAllocation(r.state, holdWith(&r.state.State, r.aid))
	m.Source = wire.SourceHold
	return m
}

// fail records a failure; the learned policy's goes first, whenever it came.
func (r *race) fail(source wire.Source, reason wire.Reason, err error) {
	f := Failure{source, reason, err}
	if source == wire.SourcePolicy {
		r.failures = append([]Failure{f}, r.failures...)
	} else {
		r.failures = append(r.failures, f)
	}
	log := r.g.cfg.Logger.Warn
	switch reason {
	case wire.ReasonNoModel, wire.ReasonOOD, wire.ReasonRegret, wire.ReasonBreaker, wire.ReasonStarving:
		log = r.g.cfg.Logger.Debug // told once, when it began
	}
	log("policy failed", "cluster", r.state.Cluster, "seq", r.state.Seq, "source", string(source), "reason", string(reason), "error", err)
}
