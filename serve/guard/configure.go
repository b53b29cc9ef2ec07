package guard

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Configures reports whether there is a configurer.
func (g *Guard) Configures() bool { return g.cfg.Configurer != nil }

// Configure asks the configurer within the deadline. Unlike an allocation a
// configuration may be missing: the cluster then keeps the one it has. The
// error says why, the reason classifies it.
func (g *Guard) Configure(ctx context.Context, s *env.State) (env.Configuration, wire.Reason, error) {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Deadline)
	defer cancel()
	out := run(ctx, &g.config, func(ctx context.Context) (env.Configuration, error) {
		c, err := g.cfg.Configurer.Configure(ctx, s)
		if err != nil {
			return c, err
		}
		if err := c.Validate(); err != nil {
			return c, fmt.Errorf("%w: %w", errInvalid, err)
		}
		return c, nil
	})
	select {
	case r := <-out:
		return r.value, g.reason(r.err), r.err
	case <-ctx.Done():
		return env.Configuration{}, wire.ReasonLate, fmt.Errorf("guard: configurer: %w", context.DeadlineExceeded)
	}
}

// ConfigurerName returns the name of the configurer for messages.
func (g *Guard) ConfigurerName() string { return g.cfg.ConfigurerName }
