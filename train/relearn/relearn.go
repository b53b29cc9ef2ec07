// Package relearn fits a policy to decisions that a service logged: it clones what
// was decided on recorded states, starting from a model, and keeps the epoch that
// predicts best some stretches of the record, which it never learns from.
//
// It learns to decide like whoever decided, on the states that were met. What the
// schedules are worth shows in simulation only (bench), and in shadow.
package relearn

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/agent/novelty"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/bc"
)

// Config says what is learned. Model, States and Allocations must be given.
type Config struct {
	Model       *models.Model    // to start from; it is not modified
	States      []*env.State     // in the order in which they were met
	Allocations []env.Allocation // what was decided on them; nil is left out
	BC          bc.Config
	Holdout     float64 // share of the demonstrations, in stretches, that choose the epoch; 0.2
	Seed        uint64  // of the order in which they are learned
	Progress    func(epoch, epochs int)
}

// Result says how well the model decides like its teacher.
type Result struct {
	Demonstrations int        `json:"demonstrations"`
	Skipped        int        `json:"skipped"` // states without an allocation that could be learned
	Epoch          int        `json:"epoch"`   // whose parameters were kept; 0 is the model as it was
	Before         bc.Metrics `json:"before"`  // on the demonstrations held out
	After          bc.Metrics `json:"after"`
}

// minDemonstrations is the least that says anything.
const minDemonstrations = 10

func (c *Config) validate() error {
	if c.Model == nil || c.Model.Manifest.Kind != models.JobStrategy {
		return fmt.Errorf("relearn: no model of kind %s to start from", models.JobStrategy)
	}
	if !(c.Holdout > 0 && c.Holdout <= 0.5) {
		return fmt.Errorf("relearn: Holdout is %v, want more than 0 and at most 0.5", c.Holdout)
	}
	return nil
}

// Run fits a copy of the model. The result does not depend on the number of cores.
func Run(ctx context.Context, cfg Config) (*models.Model, Result, error) {
	if cfg.Holdout == 0 {
		cfg.Holdout = 0.2
	}
	var result Result
	if err := cfg.validate(); err != nil {
		return nil, result, err
	}
	m := cfg.Model.Clone()
	demos, skipped, err := bc.FromStates(cfg.States, cfg.Allocations, cfg.Model.Params)
	if err != nil {
		return nil, result, fmt.Errorf("relearn: %w", err)
	}
	result.Demonstrations, result.Skipped = len(demos), skipped
	if len(demos) < minDemonstrations {
		return nil, result, fmt.Errorf("relearn: %d demonstrations, want at least %d", len(demos), minDemonstrations)
	}
	if err := cfg.fit(ctx, m, demos, &result); err != nil {
		return nil, result, fmt.Errorf("relearn: %w", err)
	}
	return m, result, describe(m, demos)
}

func (c *Config) fit(ctx context.Context, m *models.Model, demos []bc.Demonstration, result *Result) error {
	fitter, err := bc.NewFitter(c.BC, m.Params)
	if err != nil {
		return err
	}
	c.BC.FillDefaults()
	learn, held := split(demos, c.Holdout)
	order := rng.New(c.Seed, "relearn")
	result.Before = fitter.Evaluate(held)
	result.After = result.Before
	best := m.Params.Clone()
	for epoch := range c.BC.Epochs {
		if _, err := fitter.Epoch(ctx, learn, order); err != nil {
			return err
		}
		if now := fitter.Evaluate(held); now.Loss < result.After.Loss {
			result.After, result.Epoch = now, epoch+1
			copy(best.Flat, m.Params.Flat)
		}
		if c.Progress != nil {
			c.Progress(epoch+1, c.BC.Epochs)
		}
	}
	copy(m.Params.Flat, best.Flat)
	return nil
}

// stretches is the number of parts of a record that are held out or not, whole: states
// that follow one another are too much alike to tell anything of each other.
const stretches = 50

// split holds out every so many stretches of the record: at least one.
func split(demos []bc.Demonstration, holdout float64) (learn, held []bc.Demonstration) {
	length := max(1, len(demos)/stretches)
	every := min(int(math.Round(1/holdout)), len(demos)/length)
	for i, d := range demos {
		if (i/length)%every == every-1 {
			held = append(held, d)
		} else {
			learn = append(learn, d)
		}
	}
	return learn, held
}

// describe keeps with m what it was fitted to: statistics of the states and golden
// inputs. Too few states give no statistics.
func describe(m *models.Model, demos []bc.Demonstration) error {
	observations := make([]*env.Observation, len(demos))
	for i := range demos {
		observations[i] = &demos[i].Observation
	}
	m.Manifest.Novelty = nil
	n, err := novelty.Measure(observations)
	if err == nil {
		m.Manifest.Novelty = &n
	} else if !errors.Is(err, novelty.ErrFewStates) {
		return fmt.Errorf("relearn: %w", err)
	}
	g, err := neural.NewGolden(m, observations)
	if err != nil {
		return fmt.Errorf("relearn: %w", err)
	}
	m.Golden = &g
	return nil
}
