package tune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/eval"
)

// Constant is a configurer that never changes its mind.
type Constant env.Configuration

// Configure implements agent.Configurer.
func (c Constant) Configure(context.Context, *env.State) (env.Configuration, error) {
	return env.Configuration(c), nil
}

// Observer is a configurer that learns from what the cluster finishes.
type Observer interface {
	agent.Configurer
	// Observe is told of the jobs that finished since the last call, by ID,
	// before Configure is asked.
	Observe(finished []metrics.Job)
}

// Rollout runs the episode that s is at under the schedulers that c configures,
// to its end: at the first decision at or after the start of each window c
// chooses the configuration in force until the next.
func Rollout(ctx context.Context, s *sim.Sim, c agent.Configurer, window time.Duration) (metrics.Schedule, error) {
	e, err := rollout(ctx, s, c, window, heuristic.FromConfiguration)
	return e.Schedule, err
}

// builder makes the scheduler of a configuration.
type builder func(env.Configuration) (agent.Policy, error)

func rollout(ctx context.Context, s *sim.Sim, c agent.Configurer, window time.Duration, build builder) (eval.Episode, error) {
	if window <= 0 {
		return eval.Episode{}, fmt.Errorf("tune: rollout: window is %v, want > 0", window)
	}
	if s.Done() {
		return eval.Episode{}, errors.New("tune: rollout: the episode is over before it begins")
	}
	p := player{sim: s, configurer: c, build: build}
	p.observer, _ = c.(Observer)
	next := s.State().Now
	for !s.Done() {
		if now := s.State().Now; now >= next {
			if err := p.configure(ctx); err != nil {
				return eval.Episode{}, fmt.Errorf("configure at %v: %w", now, err)
			}
			next += (1 + (now-next)/window) * window
		}
		a, err := p.policy.Decide(ctx, s.State())
		if err != nil {
			return eval.Episode{}, fmt.Errorf("round %d: %w", s.State().Round, err)
		}
		if _, err := s.Advance(a); err != nil {
			return eval.Episode{}, err
		}
	}
	p.episode.Schedule = s.Schedule()
	return p.episode, nil
}

// player is a rollout under way.
type player struct {
	sim        *sim.Sim
	configurer agent.Configurer
	build      builder
	observer   Observer // nil if the configurer is none
	told       time.Duration
	current    env.Configuration
	policy     agent.Policy
	episode    eval.Episode
}

// configure asks for the configuration of the next window.
func (p *player) configure(ctx context.Context) error {
	if p.observer != nil {
		p.observe()
	}
	began := time.Now()
	c, err := p.configurer.Configure(ctx, p.sim.State())
	p.episode.DecisionTime += time.Since(began)
	p.episode.Decisions++
	if err != nil || p.policy != nil && c.Equal(p.current) {
		return err
	}
	p.policy, err = p.build(c)
	p.current = c
	return err
}

// observe tells the observer of the jobs finished since it was told last.
func (p *player) observe() {
	now := p.sim.State().Now
	var finished []metrics.Job
	for _, j := range p.sim.Schedule().Jobs {
		if j.Finish > p.told && j.Finish <= now {
			finished = append(finished, j)
		}
	}
	p.told = now
	p.observer.Observe(finished)
}
