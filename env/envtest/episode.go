package envtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// report gathers the broken rules of one seed, each once.
type report struct {
	seed  uint64
	rules []string
	errs  []error
}

// broken notes that a rule is broken; the first occurrence is kept.
func (r *report) broken(rule string, step int, err error) {
	if slices.Contains(r.rules, rule) {
		return
	}
	r.rules = append(r.rules, rule)
	r.errs = append(r.errs, fmt.Errorf("envtest: seed %d, step %d: %s: %w", r.seed, step, rule, err))
}

// Names of the rules in reports.
const (
	ruleFails      = "a legal call failed"
	ruleSpec       = "the spec is constant"
	ruleNeedsReset = "step before reset did not return ErrNeedsReset"
	ruleAfterEnd   = "step after the end did not return ErrNeedsReset"
	ruleReset      = "reset gives no reward, no elapsed time and no end"
	ruleSpace      = "observations are in the space"
	ruleEpoch      = "an unchanged epoch means unchanged features"
	ruleReward     = "rewards are finite"
	ruleElapsed    = "time does not run backwards"
	ruleSame       = "the same seed gives the same episode"
	ruleClean      = "a reset in mid-episode starts afresh"
	ruleForbidden  = "a forbidden action did not return ErrInvalidAction"
	ruleUnchanged  = "a forbidden action leaves the episode as it was"
	ruleEnds       = "the episode ends"
)

// twin is one of the environments that play the same episode in lockstep.
type twin struct {
	env  env.Env
	step env.TimeStep
	rule string // broken when it differs from the first twin
	off  bool   // it differed already
}

// checkEpisode plays the episode of seed in four environments at once: two
// plain ones, one that was reset in mid-episode before, and one that is asked
// forbidden things all along. They must agree.
func (c *checker) checkEpisode(seed uint64) []error {
	r := &report{seed: seed}
	twins, err := c.begin(seed, r)
	if err != nil {
		r.broken(ruleFails, 0, err)
		return r.errs
	}
	actions := rng.New(seed, "envtest/actions")
	first := twins[0]
	c.compare(twins, 0, r)
	c.checkReset(&first.step, r)
	var before env.Observation
	for n := 0; !first.step.Done(); n++ {
		if n == c.maxSteps {
			r.broken(ruleEnds, n, fmt.Errorf("not over after %d steps", c.maxSteps))
			return r.errs
		}
		if c.inSpace(&first.step.Observation, false) != nil {
			return r.errs // reported already; no action can be trusted
		}
		first.step.Observation.CopyTo(&before)
		a := c.spec.Space.Sample(&before, actions)
		probe(twins[len(twins)-1], &before, n, r)
		if !c.advance(twins, a, n+1, r) {
			return r.errs
		}
		c.checkStep(first, &before, n+1, r)
	}
	for _, t := range twins {
		if !t.off {
			expectNeedsReset(t.env, ruleAfterEnd, r)
		}
	}
	return r.errs
}

// begin returns the twins after their reset.
func (c *checker) begin(seed uint64, r *report) ([]*twin, error) {
	twins := []*twin{{}, {rule: ruleSame}, {rule: ruleClean}, {rule: ruleUnchanged}}
	for i, t := range twins {
		e, err := c.newEnv()
		if err != nil {
			return nil, err
		}
		t.env = e
		if i == 0 {
			expectNeedsReset(e, ruleNeedsReset, r)
		}
		if t.rule == ruleClean {
			if err := c.playSome(e, seed+1); err != nil {
				return nil, err
			}
		}
		if t.step, err = e.Reset(seed); err != nil {
			return nil, err
		}
	}
	return twins, nil
}

// playSome plays the beginning of another episode, leaving it unfinished where
// it can.
func (c *checker) playSome(e env.Env, seed uint64) error {
	step, err := e.Reset(seed)
	actions := rng.New(seed, "envtest/some")
	for n := 0; err == nil && n < 20 && !step.Done() && c.inSpace(&step.Observation, false) == nil; n++ {
		step, err = stepSafely(e, c.spec.Space.Sample(&step.Observation, actions))
	}
	return err
}

// advance applies a to every twin and compares them. It returns false where
// the first twin fails.
func (c *checker) advance(twins []*twin, a env.Action, n int, r *report) bool {
	for i, t := range twins {
		if t.off {
			continue
		}
		step, err := stepSafely(t.env, a)
		t.step = step
		switch {
		case err == nil:
		case i == 0:
			r.broken(ruleFails, n, fmt.Errorf("action %d, legal by the mask: %w", a, err))
			return false
		default:
			r.broken(t.rule, n, err)
			t.off = true
		}
	}
	c.compare(twins, n, r)
	return true
}

// compare reports the twins that differ from the first.
func (c *checker) compare(twins []*twin, n int, r *report) {
	for _, t := range twins[1:] {
		if t.off {
			continue
		}
		if err := sameStep(&twins[0].step, &t.step); err != nil {
			// Where even plain twins differ, the others say nothing.
			rule := t.rule
			if twins[1].off {
				rule = ruleSame
			}
			r.broken(rule, n, err)
			t.off = true
		}
	}
}

func (c *checker) checkReset(step *env.TimeStep, r *report) {
	if step.Reward != 0 || step.Elapsed != 0 || step.Done() {
		r.broken(ruleReset, 0, fmt.Errorf("reward %v, elapsed %v, terminated %v, truncated %v", step.Reward, step.Elapsed, step.Terminated, step.Truncated))
	}
	if err := c.inSpace(&step.Observation, step.Done()); err != nil {
		r.broken(ruleSpace, 0, err)
	}
}

// checkStep checks the last step of t on its own; before is the observation it
// followed.
func (c *checker) checkStep(t *twin, before *env.Observation, n int, r *report) {
	step := &t.step
	if err := c.specChanged(t.env); err != nil {
		r.broken(ruleSpec, n, err)
	}
	if err := c.inSpace(&step.Observation, step.Done()); err != nil {
		r.broken(ruleSpace, n, err)
	}
	if !finite(step.Reward) {
		r.broken(ruleReward, n, fmt.Errorf("reward is %v", step.Reward))
	}
	if step.Elapsed < 0 {
		r.broken(ruleElapsed, n, fmt.Errorf("elapsed is %v", step.Elapsed))
	}
	if step.Observation.Epoch == before.Epoch && !step.Done() {
		if err := sameFeatures(before, &step.Observation); err != nil {
			r.broken(ruleEpoch, n, fmt.Errorf("epoch %d: %w", before.Epoch, err))
		}
	}
}

// probe asks t for actions out of range and for one that the mask of o forbids.
func probe(t *twin, o *env.Observation, n int, r *report) {
	if t.off {
		return
	}
	asked := []env.Action{-1, env.Action(o.N())}
	for i := range o.N() {
		if k := (i + n) % o.N(); !o.Mask[k] { // another one at each step
			asked = append(asked, env.Action(k))
			break
		}
	}
	for _, a := range asked {
		_, err := stepSafely(t.env, a)
		if errors.Is(err, env.ErrInvalidAction) {
			continue
		}
		r.broken(ruleForbidden, n, fmt.Errorf("action %d of %d: got %w", a, o.N(), orNil(err)))
		if err == nil {
			t.off = true // it moved on; comparing it would report the same again
			return
		}
	}
}

func expectNeedsReset(e env.Env, rule string, r *report) {
	for _, a := range []env.Action{0, -1} {
		if _, err := stepSafely(e, a); !errors.Is(err, env.ErrNeedsReset) {
			r.broken(rule, 0, fmt.Errorf("action %d: got %w", a, orNil(err)))
			return
		}
	}
}

var errNone = errors.New("no error")

// orNil makes a missing error printable.
func orNil(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// stepSafely turns a panic, which a check left out may well cause, into an
// error.
func stepSafely(e env.Env, a env.Action) (step env.TimeStep, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("step panicked: %v", p)
		}
	}()
	return e.Step(a)
}
