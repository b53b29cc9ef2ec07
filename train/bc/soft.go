package bc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// SoftConfig says which network is fitted to soft labels, and how.
type SoftConfig struct {
	Config
	Kind    models.Kind
	Encoder models.Encoder // of the observations: neural.Encoder
	Hidden  int            // width of the network; default 32
	Holdout float64        // share of the examples, the last ones, that choose the epoch; default 0.2
	Seed    uint64         // of the initial parameters and of the order of the examples
}

// FillDefaults sets every field that is zero and has a default to it.
func (c *SoftConfig) FillDefaults() {
	if c.Epochs == 0 {
		c.Epochs = 40
	}
	if c.Minibatch == 0 {
		c.Minibatch = 32
	}
	c.Config.FillDefaults()
	if c.Hidden == 0 {
		c.Hidden = 32
	}
	if c.Holdout == 0 {
		c.Holdout = 0.2
	}
}

func (c *SoftConfig) validate() error {
	errs := []error{c.Config.Validate()}
	if c.Hidden < 1 || c.Hidden > nn.MaxDim {
		errs = append(errs, fmt.Errorf("bc: config: Hidden is %d, want 1 to %d", c.Hidden, nn.MaxDim))
	}
	if !(c.Holdout > 0 && c.Holdout < 1) {
		errs = append(errs, fmt.Errorf("bc: config: Holdout is %v, want between 0 and 1", c.Holdout))
	}
	if len(c.Encoder.Global) == 0 || len(c.Encoder.Candidate) == 0 {
		errs = append(errs, errors.New("bc: config: Encoder names no features, want those of the observations"))
	}
	return errors.Join(errs...)
}

// SoftResult says how well a network fits soft labels.
type SoftResult struct {
	Epoch    int     // whose parameters were kept, from 1; 0 is the initial network
	Train    Metrics // of that epoch
	Holdout  Metrics // on the examples held out
	Examples int
}

// NewExample returns the demonstration that the rows of o, which it copies,
// should be chosen with probabilities target, shape [N]: 0 on illegal rows and
// summing to 1.
func NewExample(o *env.Observation, target []float64) (Demonstration, error) {
	if len(target) != o.N() {
		return Demonstration{}, fmt.Errorf("bc: target of %d rows for an observation of %d", len(target), o.N())
	}
	sum := 0.0
	for i, p := range target {
		if !(p >= 0) || p > 0 && !o.Mask[i] {
			return Demonstration{}, fmt.Errorf("bc: target of row %d is %v, want >= 0, and 0 where the row is illegal", i, p)
		}
		sum += p
	}
	if math.Abs(sum-1) > 1e-6 {
		return Demonstration{}, fmt.Errorf("bc: targets sum to %v, want 1", sum)
	}
	d := Demonstration{Target: append([]float64(nil), target...)}
	o.CopyTo(&d.Observation)
	return d, nil
}

// FitSoft trains a network from nothing on examples made by [NewExample] and
// keeps the epoch with the least loss on the last ones, which it never learns
// from.
func FitSoft(ctx context.Context, cfg SoftConfig, examples []Demonstration) (*models.Model, SoftResult, error) {
	cfg.FillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, SoftResult{}, err
	}
	cut := len(examples) - max(1, int(cfg.Holdout*float64(len(examples))))
	if cut < 1 {
		return nil, SoftResult{}, fmt.Errorf("bc: %d examples, want at least 2: one to learn from and one to choose the epoch", len(examples))
	}
	params := nn.NewParams(nn.Dims{Candidate: len(cfg.Encoder.Candidate), Global: len(cfg.Encoder.Global), Hidden: cfg.Hidden, Value: 1})
	params.Initialize(rng.New(cfg.Seed, "bc/initialize"))
	fitter, err := NewFitter(cfg.Config, params)
	if err != nil {
		return nil, SoftResult{}, err
	}
	best := params.Clone()
	result := SoftResult{Holdout: fitter.Evaluate(examples[cut:]), Examples: len(examples)}
	order := rng.New(cfg.Seed, "bc/order")
	for epoch := 1; epoch <= cfg.Epochs; epoch++ {
		m, err := fitter.Epoch(ctx, examples[:cut], order)
		if err != nil {
			return nil, result, err
		}
		if held := fitter.Evaluate(examples[cut:]); held.Loss < result.Holdout.Loss {
			result.Epoch, result.Train, result.Holdout = epoch, m, held
			best = params.Clone()
		}
	}
	return models.New(cfg.Kind, cfg.Encoder, best), result, nil
}
