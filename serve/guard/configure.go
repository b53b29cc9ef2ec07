package guard

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Configures reports whether there is a configurer.
func (g *Guard) Configures() bool { return g.cfg.Configurer != nil }

// configured is what a configurer answered.
type configured struct {
	configuration env.Configuration
	novelty       float64
}

// Configure asks the configurer within the deadline about a state that its cluster
// published. Unlike an allocation a configuration may be missing: the cluster then
// keeps the one it has. The error says why, the reason classifies it.
func (g *Guard) Configure(ctx context.Context, s *wire.State) (env.Configuration, wire.Reason, error) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Deadline)
	defer cancel()
	out := run(ctx, &g.config, func(ctx context.Context) (configured, error) {
		c, novelty, err := configure(ctx, g.cfg.Configurer, &s.State)
		if err != nil {
			return configured{}, err
		}
		if err := c.Validate(); err != nil {
			return configured{}, fmt.Errorf("%w: %w", errInvalid, err)
		}
		return configured{c, novelty}, nil
	})
	select {
	case r := <-out:
		if r.err != nil {
			return env.Configuration{}, g.reason(r.err), r.err
		}
		if g.configuresUnlike(s, r.value.novelty) {
			return env.Configuration{}, wire.ReasonOOD, errUnfamiliar
		}
		return r.value.configuration, wire.ReasonNone, nil
	case <-ctx.Done():
		return env.Configuration{}, wire.ReasonLate, fmt.Errorf("guard: configurer: %w", context.DeadlineExceeded)
	}
}

// configure returns a negative novelty where c tells none.
func configure(ctx context.Context, c Configurer, s *env.State) (env.Configuration, float64, error) {
	if scoring, ok := c.(ScoringConfigurer); ok {
		return scoring.ConfigureScored(ctx, s)
	}
	chosen, err := c.Configure(ctx, s)
	return chosen, -1, err
}

// configuresUnlike reports whether the configurer must not decide for a cluster
// because its states are unlike those of training.
func (g *Guard) configuresUnlike(s *wire.State, novelty float64) bool {
	active, changed := g.cfg.Memory.track(s.Cluster, false).unlikeConfigured(&g.cfg, novelty)
	if changed {
		text := "the configurer decides again: states are like those of training"
		if active {
			text = "the cluster keeps its configuration: states are unlike those the configurer was trained on"
		}
		g.turn(s, wire.ReasonOOD, active, novelty, 1, text)
	}
	return active
}

// ConfigurerName returns the name of the configurer for messages.
func (g *Guard) ConfigurerName() string { return g.cfg.ConfigurerName }
