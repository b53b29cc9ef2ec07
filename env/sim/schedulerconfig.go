package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// SchedulerConfigID names the environment of [SchedulerConfig].
const SchedulerConfigID = "SchedulerConfig-v0"

// Scheduler is what SchedulerConfig-v0 needs of a base scheduler. Every
// agent.Policy is one.
type Scheduler interface {
	Decide(ctx context.Context, s *env.State) (env.Allocation, error)
}

// SchedulerConfigConfig describes a SchedulerConfig-v0.
type SchedulerConfigConfig struct {
	Sim            Config                                     // Sim.Window defaults to Window
	Configurations []env.Configuration                        // what may be chosen, [N], N >= 1, all different
	Build          func(env.Configuration) (Scheduler, error) // called once per configuration, when it is first chosen
	Window         time.Duration                              // simulated time per action, rounded up to rounds; default 1 h
}

func (c *SchedulerConfigConfig) fillDefaults() {
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.Sim.Window == 0 {
		c.Sim.Window = c.Window
	}
}

func (c *SchedulerConfigConfig) validate() error {
	var errs []error
	if c.Window < 0 {
		errs = append(errs, fmt.Errorf("sim: config: Window is %v, want > 0", c.Window))
	}
	if c.Build == nil {
		errs = append(errs, errors.New("sim: config: Build is nil, want a constructor of schedulers"))
	}
	if len(c.Configurations) == 0 {
		errs = append(errs, errors.New("sim: config: no Configurations, want at least one"))
	}
	for i := range c.Configurations {
		if err := c.Configurations[i].Validate(); err != nil {
			errs = append(errs, fmt.Errorf("sim: config: Configurations[%d]: %w", i, err))
		}
		for k := range i {
			if c.Configurations[i].Equal(c.Configurations[k]) {
				errs = append(errs, fmt.Errorf("sim: config: Configurations[%d] equals Configurations[%d]: %v", i, k, c.Configurations[i]))
			}
		}
	}
	return errors.Join(errs...)
}

// SchedulerConfig is the environment in which one action configures the base
// scheduler for the coming window: action a is Configurations[a], row a of the
// observation, and always legal. The scheduler runs the cluster until a window
// of simulated time has passed, longer where an idle cluster jumps to the next
// arrival, or until the episode ends. The reward is the sum of those of its
// rounds.
type SchedulerConfig struct {
	cfg        SchedulerConfigConfig
	sim        *Sim
	encoder    encode.Configuration
	obs        env.Observation
	schedulers []Scheduler // [N], nil until first chosen
	broken     bool        // a scheduler failed: the episode cannot go on
}

// NewSchedulerConfig returns SchedulerConfig-v0.
func NewSchedulerConfig(cfg SchedulerConfigConfig) (*SchedulerConfig, error) {
	cfg.fillDefaults()
	s, simErr := New(cfg.Sim)
	if err := errors.Join(cfg.validate(), simErr); err != nil {
		return nil, err
	}
	return &SchedulerConfig{cfg: cfg, sim: s, schedulers: make([]Scheduler, len(cfg.Configurations))}, nil
}

// RegisterSchedulerConfig adds SchedulerConfig-v0 to r.
func RegisterSchedulerConfig(r *env.Registry[SchedulerConfigConfig]) {
	r.Register(SchedulerConfigID, func(cfg SchedulerConfigConfig) (env.Env, error) {
		e, err := NewSchedulerConfig(cfg)
		if err != nil {
			return nil, err // not e: a nil *SchedulerConfig is not a nil env.Env
		}
		return e, nil
	})
}

// Spec implements [env.Env].
func (e *SchedulerConfig) Spec() env.Spec {
	space := encode.ConfigurationSpace()
	space.MaxCandidates = len(e.cfg.Configurations)
	return env.Spec{ID: SchedulerConfigID, Encoder: encode.ConfigurationVersion, Space: space}
}

// Configurations returns what may be chosen, [N]; not to be modified.
func (e *SchedulerConfig) Configurations() []env.Configuration { return e.cfg.Configurations }

// State returns the state that the observation encodes, borrowed as
// [Sim.State] is.
func (e *SchedulerConfig) State() *env.State { return e.sim.State() }

// Schedule returns what [Sim.Schedule] does.
func (e *SchedulerConfig) Schedule() metrics.Schedule { return e.sim.Schedule() }

// Reset implements [env.Env].
func (e *SchedulerConfig) Reset(seed uint64) (env.TimeStep, error) {
	if err := e.sim.Reset(seed); err != nil {
		return env.TimeStep{}, err
	}
	e.broken = false
	e.observe()
	return env.TimeStep{Observation: e.obs}, nil
}

// Step implements [env.Env]. An error of the scheduler itself ends the episode.
func (e *SchedulerConfig) Step(a env.Action) (env.TimeStep, error) {
	if e.broken || e.sim.Done() {
		return env.TimeStep{}, env.ErrNeedsReset
	}
	if a < 0 || int(a) >= len(e.cfg.Configurations) {
		return env.TimeStep{}, fmt.Errorf("%w: %d of %d configurations", env.ErrInvalidAction, a, len(e.cfg.Configurations))
	}
	scheduler, err := e.scheduler(int(a))
	if err != nil {
		e.broken = true
		return env.TimeStep{}, fmt.Errorf("sim: build %v: %w", e.cfg.Configurations[a], err)
	}
	step, err := e.runWindow(scheduler)
	if err != nil {
		e.broken = true
		return env.TimeStep{}, fmt.Errorf("sim: run %v: %w", e.cfg.Configurations[a], err)
	}
	e.observe()
	step.Observation = e.obs
	return step, nil
}

// runWindow lets scheduler run the cluster for one window.
func (e *SchedulerConfig) runWindow(scheduler Scheduler) (env.TimeStep, error) {
	var step env.TimeStep
	for step.Elapsed < e.cfg.Window && !step.Done() {
		a, err := scheduler.Decide(context.Background(), e.sim.State())
		if err != nil {
			return step, err
		}
		out, err := e.sim.Advance(a)
		if err != nil {
			return step, err
		}
		step.Reward += out.Reward
		step.Elapsed += out.Elapsed
		step.Terminated, step.Truncated = out.Terminated, out.Truncated
	}
	return step, nil
}

func (e *SchedulerConfig) scheduler(i int) (Scheduler, error) {
	if e.schedulers[i] == nil {
		built, err := e.cfg.Build(e.cfg.Configurations[i])
		if err != nil {
			return nil, err
		}
		e.schedulers[i] = built
	}
	return e.schedulers[i], nil
}

func (e *SchedulerConfig) observe() {
	e.encoder.Encode(&e.obs, e.sim.State(), e.cfg.Configurations)
}
