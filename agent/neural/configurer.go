package neural

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/agent/novelty"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Configurer is a learned agent.Configurer: it chooses among given
// configurations. It is safe for concurrent use.
type Configurer struct {
	scorer  *nn.Scorer
	novelty *novelty.Scorer // nil where the model has no statistics
	configs []env.Configuration
	pool    sync.Pool // of *configuring
}

// configuring is the memory of one decision.
type configuring struct {
	encoder encode.Configuration
	obs     env.Observation
	scratch nn.Scratch
	scores  []float32
}

// NewConfigurer returns the policy of m over configs. Its error wraps
// models.ErrIncompatible if m is of another kind or reads other features than
// encode computes.
func NewConfigurer(m *models.Model, configs []env.Configuration) (*Configurer, error) {
	if err := m.Manifest.CheckEncoder(models.Configuration, Encoder(encode.ConfigurationVersion, encode.ConfigurationSpace())); err != nil {
		return nil, fmt.Errorf("neural: new configurer: %w", err)
	}
	if len(configs) == 0 {
		return nil, errors.New("neural: new configurer: no configurations to choose from")
	}
	c := &Configurer{scorer: nn.NewScorer(m.Params), configs: slices.Clone(configs)}
	if n := m.Manifest.Novelty; n != nil {
		var err error
		if c.novelty, err = novelty.New(n.Clone()); err != nil {
			return nil, fmt.Errorf("neural: new configurer: %w", err)
		}
	}
	c.pool.New = func() any { return new(configuring) }
	return c, nil
}

// Configure implements agent.Configurer: the configuration with the highest
// score, the first among equals.
func (c *Configurer) Configure(ctx context.Context, s *env.State) (env.Configuration, error) {
	d := c.pool.Get().(*configuring)
	defer c.pool.Put(d)
	return c.configure(ctx, d, s)
}

// ConfigureScored is Configure that also tells how far s is from the states of
// training, as novelty.Scorer does; -1 where the model does not know those.
func (c *Configurer) ConfigureScored(ctx context.Context, s *env.State) (chosen env.Configuration, unlike float64, err error) {
	d := c.pool.Get().(*configuring)
	defer c.pool.Put(d)
	if chosen, err = c.configure(ctx, d, s); err != nil || c.novelty == nil {
		return chosen, -1, err
	}
	return chosen, c.novelty.Score(&d.obs), nil
}

// configure chooses in the memory of d.
func (c *Configurer) configure(ctx context.Context, d *configuring, s *env.State) (env.Configuration, error) {
	if err := ctx.Err(); err != nil {
		return env.Configuration{}, err
	}
	d.encoder.Encode(&d.obs, s, c.configs)
	d.scores = grow(d.scores, d.obs.N())
	c.scorer.Score(d.scores, d.obs.Global, d.obs.Candidates, d.obs.Mask, &d.scratch)
	if err := checkFinite(d.scores); err != nil {
		return env.Configuration{}, err
	}
	best := 0
	for i, score := range d.scores {
		if score > d.scores[best] {
			best = i
		}
	}
	return c.configs[best], nil
}
