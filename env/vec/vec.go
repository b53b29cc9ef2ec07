package vec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Config says how environments are stepped. The zero value is the default.
type Config struct {
	// Workers is the number of goroutines. Default GOMAXPROCS, never more than
	// environments.
	Workers int
	// Seed returns the seed of an episode, counted from 0, of environment i in
	// the run with this seed. Default: drawn from a random stream of (i,
	// episode). It is called from several goroutines at once.
	Seed func(run uint64, i, episode int) uint64
}

// Envs is a number of equal environments. Its methods must not be called
// concurrently.
type Envs struct {
	cfg      Config
	envs     []env.Env
	steps    []env.TimeStep // [N], where each environment is
	episodes []int          // [N], number of each environment's episode
	errs     []error        // [N], scratch
	run      uint64
	started  bool
}

// New returns n environments made by newEnv, which must all be alike.
func New(n int, newEnv func() (env.Env, error), cfg Config) (*Envs, error) {
	if n < 1 || cfg.Workers < 0 {
		return nil, fmt.Errorf("vec: %d environments and %d workers, want at least 1, and 1 or 0 for the default", n, cfg.Workers)
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Seed == nil {
		cfg.Seed = drawn
	}
	v := &Envs{cfg: cfg, steps: make([]env.TimeStep, n), episodes: make([]int, n), errs: make([]error, n)}
	for i := range n {
		e, err := newEnv()
		if err != nil {
			return nil, fmt.Errorf("vec: environment %d: %w", i, err)
		}
		v.envs = append(v.envs, e)
	}
	return v, nil
}

// drawn is the default of Config.Seed.
func drawn(run uint64, i, episode int) uint64 {
	return rng.New(run, "vec/"+strconv.Itoa(i)+"/"+strconv.Itoa(episode)).Uint64()
}

// Len returns the number of environments.
func (v *Envs) Len() int { return len(v.envs) }

// Spec returns the spec of the environments.
func (v *Envs) Spec() env.Spec { return v.envs[0].Spec() }

// Steps returns where each environment is, shape [Len]. It is borrowed until
// the next call of a method that steps.
func (v *Envs) Steps() []env.TimeStep { return v.steps }

// Reset starts the first episode of every environment in the run with this seed.
func (v *Envs) Reset(run uint64) error {
	v.run, v.started = run, true
	clear(v.episodes)
	return v.all(v.reset)
}

// reset starts the episode of environment i that is due.
func (v *Envs) reset(i int) (err error) {
	v.steps[i], err = v.envs[i].Reset(v.cfg.Seed(v.run, i, v.episodes[i]))
	return err
}

// Step applies actions[i] in environment i, for all of them. Where the episode
// is over the action is ignored and the environment's next episode begins: its
// new TimeStep has reward 0, as after a Reset. An error of one environment
// leaves the others stepped; the run then needs a Reset.
func (v *Envs) Step(actions []env.Action) error {
	if len(actions) != len(v.envs) {
		return fmt.Errorf("vec: %d actions for %d environments", len(actions), len(v.envs))
	}
	if !v.started {
		return env.ErrNeedsReset
	}
	return v.all(func(i int) error { return v.step(i, actions[i]) })
}

func (v *Envs) step(i int, a env.Action) (err error) {
	if v.steps[i].Done() {
		v.episodes[i]++
		return v.reset(i)
	}
	v.steps[i], err = v.envs[i].Step(a)
	return err
}

// Rollout takes n steps in every environment. act chooses the action for
// environment i, which is where step says; it is called from several goroutines,
// for one environment by one at a time. It is called at the end of an episode
// too, so that it sees the last reward; its action is then ignored, as in Step.
// Each environment stops at an error of its own or at ctx's end; the run then
// needs a Reset.
func (v *Envs) Rollout(ctx context.Context, n int, act func(i int, step *env.TimeStep) (env.Action, error)) error {
	if !v.started {
		return env.ErrNeedsReset
	}
	return v.all(func(i int) error {
		for k := range n {
			if k%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			a, err := act(i, &v.steps[i])
			if err != nil {
				return err
			}
			if err := v.step(i, a); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkEvery is the number of steps between two looks at the context.
const checkEvery = 1024

// all calls do for every environment and returns all errors, in order.
func (v *Envs) all(do func(i int) error) error {
	clear(v.errs)
	v.share(len(v.envs), func(_, i int) bool {
		if err := do(i); err != nil {
			v.errs[i] = fmt.Errorf("vec: environment %d: %w", i, err)
		}
		return true
	})
	err := errors.Join(v.errs...)
	if err != nil {
		v.started = false
	}
	return err
}
