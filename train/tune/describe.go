package tune

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
)

// How much is played to describe what a policy meets, and which share of the
// windows is kept. Lessons would not do: they are of windows in which
// configurations matter.
const (
	describeEpisodes = 32
	describeEvery    = 3
)

// describe plays m on training episodes and keeps with it what it met.
func (c *Config) describe(ctx context.Context, m *models.Model) error {
	configurations := c.Engine.Configurations
	seen := make([][]*env.Observation, describeEpisodes)
	err := each(ctx, runtime.GOMAXPROCS(0), describeEpisodes, func(ctx context.Context, _, i int) error {
		learned, err := neural.NewConfigurer(m, configurations)
		if err != nil {
			return err
		}
		s, err := sim.New(c.Train)
		if err != nil {
			return err
		}
		if err := s.Reset(rng.Seed(c.Seed, "tune/describe/"+strconv.Itoa(i))); err != nil {
			return err
		}
		o := &observer{Configurer: learned, configurations: configurations}
		_, err = rollout(ctx, s, o, c.Window, c.Engine.Build)
		seen[i] = o.seen
		return err
	})
	if err != nil {
		return fmt.Errorf("tune: describe: %w", err)
	}
	return neural.Describe(m, slices.Concat(seen...))
}

// observer is a configurer that keeps what it is asked about.
type observer struct {
	*neural.Configurer
	configurations []env.Configuration
	encoder        encode.Configuration
	asked          int
	seen           []*env.Observation
}

// Configure implements agent.Configurer.
func (o *observer) Configure(ctx context.Context, s *env.State) (env.Configuration, error) {
	if o.asked%describeEvery == 0 {
		observation := new(env.Observation)
		o.encoder.Encode(observation, s, o.configurations)
		o.seen = append(o.seen, observation)
	}
	o.asked++
	return o.Configurer.Configure(ctx, s)
}
