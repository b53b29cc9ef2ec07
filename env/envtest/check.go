// Package envtest checks that an environment keeps the contract of [env.Env].
// Every environment's tests call [Check]; since it returns an error instead of
// failing a test, it is itself tested against environments that break one rule
// each.
package envtest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Check plays an episode of at most maxSteps random legal actions per seed and
// returns every broken rule, once per seed:
//
//   - the Spec is well-formed and never changes;
//   - Step before Reset and after the end returns env.ErrNeedsReset;
//   - Reset gives no reward and no elapsed time;
//   - every observation is in the Space, some action legal until the end;
//   - while Epoch stays the same, so do Global and Candidates;
//   - rewards are finite, elapsed times not negative;
//   - the same seed and actions give the same episode, bit for bit;
//   - a Reset in mid-episode starts afresh;
//   - an action that the mask forbids, or that is out of range, returns
//     env.ErrInvalidAction and leaves the episode as it was;
//   - the episode ends within maxSteps;
//   - different seeds give different episodes (at least two of them, where
//     seeds holds two).
//
// newEnv returns a new environment, equal each time. seeds must not be empty
// and maxSteps must be positive.
func Check(newEnv func() (env.Env, error), seeds []uint64, maxSteps int) error {
	if len(seeds) == 0 || maxSteps < 1 {
		return fmt.Errorf("envtest: %d seeds and %d steps, want at least one of each", len(seeds), maxSteps)
	}
	c := &checker{newEnv: newEnv, maxSteps: maxSteps}
	if err := c.checkSpec(); err != nil {
		return err
	}
	for _, seed := range seeds {
		c.errs = append(c.errs, c.checkEpisode(seed)...)
	}
	if err := c.checkSeedsDiffer(seeds); err != nil {
		c.errs = append(c.errs, err)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	newEnv   func() (env.Env, error)
	maxSteps int
	spec     env.Spec
	errs     []error
}

// checkSpec reads the spec that everything else is checked against.
func (c *checker) checkSpec() error {
	e, err := c.newEnv()
	if err != nil {
		return fmt.Errorf("envtest: new environment: %w", err)
	}
	c.spec = e.Spec()
	if c.spec.ID == "" {
		c.errs = append(c.errs, errors.New("envtest: spec: the ID is empty"))
	}
	for _, list := range [][]env.Feature{c.spec.Space.Global, c.spec.Space.Candidate} {
		for i, f := range list {
			named := func(g env.Feature) bool { return g.Name == f.Name }
			if f.Name == "" || slices.IndexFunc(list, named) != i {
				c.errs = append(c.errs, fmt.Errorf("envtest: spec: feature %d is named %q, want a name used once", i, f.Name))
			}
			if !(f.Low < f.High) {
				c.errs = append(c.errs, fmt.Errorf("envtest: spec: feature %s ranges from %v to %v, want low < high", f.Name, f.Low, f.High))
			}
		}
	}
	return nil
}

// specChanged returns an error if e's spec is not the first one seen.
func (c *checker) specChanged(e env.Env) error {
	if got := e.Spec(); !reflect.DeepEqual(got, c.spec) {
		return fmt.Errorf("the spec changed from %+v to %+v", c.spec, got)
	}
	return nil
}

// inSpace returns nil if o is in the space; at the end of an episode its mask
// may be all false.
func (c *checker) inSpace(o *env.Observation, done bool) error {
	if !done || o.N() == 0 {
		if done && len(o.Global) == len(c.spec.Space.Global) && len(o.Candidates) == 0 {
			return nil
		}
		return c.spec.Space.Contains(o)
	}
	relaxed := *o
	relaxed.Mask = make([]bool, o.N())
	relaxed.Mask[0] = true
	return c.spec.Space.Contains(&relaxed)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
