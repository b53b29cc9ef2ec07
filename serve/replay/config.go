package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/client"
)

// Cluster is what a replay needs from a simulator. Of makes one from env/sim.
type Cluster interface {
	// State returns the state to decide on, borrowed until the next Advance.
	State() *env.State
	// Advance runs one round under a, which is valid for State.
	Advance(a env.Allocation) error
	// Done reports whether every job finished, or a limit was reached.
	Done() bool
}

// Simulator is the shape of *sim.Sim: O is the outcome of a round.
type Simulator[O any] interface {
	State() *env.State
	Advance(a env.Allocation) (O, error)
	Done() bool
}

// Of returns s as a Cluster.
func Of[O any](s Simulator[O]) Cluster { return simulated[O]{s} }

type simulated[O any] struct{ Simulator[O] }

func (s simulated[O]) Advance(a env.Allocation) error {
	_, err := s.Simulator.Advance(a)
	return err
}

// Scheduler is a base scheduler that runs in the cluster itself.
type Scheduler interface {
	Decide(ctx context.Context, s *env.State) (env.Allocation, error)
}

// Apply says which kind of decision a replay applies.
type Apply int

const (
	// Allocations are applied as they come; configurations are received and
	// counted, no more.
	Allocations Apply = iota
	// Configurations are applied to a base scheduler that runs in the cluster;
	// allocations are received and counted, no more.
	Configurations
)

// Config configures a replay. Client and Cluster must be given; the zero value
// of every other field is its default.
type Config struct {
	Client  client.Config
	Cluster Cluster // at its start

	Timeout time.Duration // for the decision of one state, before the round is held; 2 s

	Apply Apply
	// Build makes the scheduler for a received configuration, and Initial is
	// the configuration before the first: needed where Apply is Configurations.
	Build   func(env.Configuration) (Scheduler, error)
	Initial env.Configuration

	// Progress, if given, is called after each round, on Run's goroutine.
	Progress func(round int64, s *env.State)
}

func (c *Config) fillDefaults() {
	if c.Timeout == 0 {
		c.Timeout = 2 * time.Second
	}
}

func (c *Config) validate() error {
	var errs []error
	if c.Cluster == nil {
		errs = append(errs, errors.New("replay: config: Cluster is nil, want a simulator"))
	}
	if c.Timeout < 0 {
		errs = append(errs, fmt.Errorf("replay: config: Timeout is %v, want > 0", c.Timeout))
	}
	if c.Apply != Allocations && c.Apply != Configurations {
		errs = append(errs, fmt.Errorf("replay: config: Apply is %d, want Allocations or Configurations", c.Apply))
	}
	if c.Apply == Configurations && c.Build == nil {
		errs = append(errs, errors.New("replay: config: Build is nil, want one to apply configurations"))
	}
	return errors.Join(errs...)
}
