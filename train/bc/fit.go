package bc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/optim"
	"github.com/yardmaster/yardmaster/train/picks"
)

// Config holds the settings of cloning. Its zero value is the default.
type Config struct {
	Epochs    int     `json:"epochs"`    // passes over the demonstrations; default 8
	Minibatch int     `json:"minibatch"` // demonstrations per step of the optimizer; default 128
	Rate      float64 `json:"rate"`      // learning rate of the first epoch, falling linearly to a tenth; default 3e-3
	GradNorm  float64 `json:"grad_norm"` // limit on the norm of the gradient; default 1
	Decay     float64 `json:"decay"`     // pull of the parameters to 0 per step, times the learning rate; default 0
}

// FillDefaults sets every field that is zero to its default.
func (c *Config) FillDefaults() {
	if c.Epochs == 0 {
		c.Epochs = 8
	}
	if c.Minibatch == 0 {
		c.Minibatch = 128
	}
	if c.Rate == 0 {
		c.Rate = 3e-3
	}
	if c.GradNorm == 0 {
		c.GradNorm = 1
	}
}

// Validate reports everything that is wrong with c at once.
func (c *Config) Validate() error {
	var errs []error
	if c.Epochs < 1 || c.Minibatch < 1 {
		errs = append(errs, fmt.Errorf("bc: config: Epochs is %d and Minibatch %d, want both >= 1", c.Epochs, c.Minibatch))
	}
	if !(c.Rate > 0 && c.Rate < 1) || !(c.GradNorm > 0) || !(c.Decay >= 0 && c.Decay < 1) {
		errs = append(errs, fmt.Errorf("bc: config: Rate is %v, GradNorm %v, Decay %v, want 0 < Rate < 1, GradNorm > 0, 0 <= Decay < 1", c.Rate, c.GradNorm, c.Decay))
	}
	return errors.Join(errs...)
}

// ErrNonFinite is wrapped by the error of a fit whose loss or gradient is not finite; a
// [checkpoint.BatchError] holds the minibatch.
var ErrNonFinite = errors.New("bc: loss is not finite")

// Metrics of one epoch; train/README.md defines them.
type Metrics struct {
	Loss     float64 `json:"loss"`      // nats per pick
	Accuracy float64 `json:"accuracy"`  // share of the picks whose highest score is right
	GradNorm float64 `json:"grad_norm"` // before clipping, mean over the steps
	Steps    int     `json:"steps"`
}

// Fitter fits parameters to demonstrations, epoch by epoch. It is not safe for
// concurrent use.
type Fitter struct {
	cfg        Config
	engine     *graph.Engine
	params     *nn.Params
	adam       *optim.Adam
	grad       []float32
	evaluators sync.Pool
	epoch      int
}

// NewFitter returns a fitter that updates params in place. The critic's
// parameters stay as they are.
func NewFitter(cfg Config, params *nn.Params) (*Fitter, error) {
	cfg.FillDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	engine, err := graph.NewEngine(params.Dims)
	if err != nil {
		return nil, err
	}
	f := &Fitter{cfg: cfg, engine: engine, params: params, adam: optim.NewAdam(params.Dims.ScorerSize()), grad: make([]float32, params.Dims.Size())}
	f.evaluators.New = func() any { return new(picks.Evaluator) }
	return f, nil
}

// Epoch passes once over the demonstrations in an order drawn from r. At an
// error the parameters are as they were before the epoch.
func (f *Fitter) Epoch(ctx context.Context, demos []Demonstration, r *rand.Rand) (Metrics, error) {
	before := f.params.Clone()
	rate := f.cfg.Rate * (1 - 0.9*float64(f.epoch)/float64(max(1, f.cfg.Epochs-1)))
	f.epoch = min(f.epoch+1, f.cfg.Epochs-1)
	order := r.Perm(len(demos))
	var sum found
	norms, steps := 0.0, 0
	for len(order) > 0 {
		n := min(f.cfg.Minibatch, len(order))
		part, norm, err := f.step(ctx, demos, order[:n], rate)
		if err != nil {
			err = f.failed(err, demos, order[:n])
			copy(f.params.Flat, before.Flat)
			return Metrics{}, err
		}
		order = order[n:]
		sum.add(part)
		norms += norm
		steps++
	}
	m := sum.metrics()
	m.GradNorm, m.Steps = norms/float64(max(1, steps)), steps
	return m, nil
}

// failed returns err, with the demonstrations of a minibatch if it says that something
// is not finite.
func (f *Fitter) failed(err error, demos []Demonstration, indices []int) error {
	if !errors.Is(err, ErrNonFinite) && !errors.Is(err, graph.ErrNonFinite) {
		return err
	}
	out := checkpoint.Batch{Parameters: slices.Clone(f.params.Flat)}
	for _, k := range indices {
		out.Observations = append(out.Observations, demos[k].Observation)
		out.Picks = append(out.Picks, demos[k].Picks)
		out.Sets = append(out.Sets, demos[k].Set)
		out.Shares = append(out.Shares, demos[k].Target)
	}
	return &checkpoint.BatchError{Batch: out, Err: err}
}

// Evaluate returns the loss and accuracy on demos without learning from them.
func (f *Fitter) Evaluate(demos []Demonstration) Metrics {
	scorer, e := nn.NewScorer(f.params), &picks.Evaluator{}
	var scratch nn.Scratch
	var scores, sink []float32
	var sum found
	for i := range demos {
		o := &demos[i].Observation
		scores, sink = make([]float32, o.N()), make([]float32, o.N())
		scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
		sum.add(demos[i].loss(e, scores, 0, sink))
	}
	return sum.metrics()
}

// step takes one step of the optimizer on the demonstrations with these indices
// and returns what they add up to and the norm of the gradient before clipping.
func (f *Fitter) step(ctx context.Context, demos []Demonstration, indices []int, rate float64) (sum found, norm float64, err error) {
	rounds, total := make([]*env.Observation, len(indices)), 0
	for i, k := range indices {
		rounds[i] = &demos[k].Observation
		total += demos[k].picks()
	}
	each := make([]found, len(indices))
	scale := 1 / float64(total)
	loss := func(i int, scores []float32, _ float32, dScores []float32) float32 {
		e := f.evaluators.Get().(*picks.Evaluator)
		defer f.evaluators.Put(e)
		each[i] = demos[indices[i]].loss(e, scores, scale, dScores)
		return 0
	}
	if err := f.engine.Gradient(ctx, f.params, rounds, graph.Objective{Loss: loss, Heads: graph.Scores}, f.grad); err != nil {
		return sum, 0, fmt.Errorf("bc: fit: %w", err)
	}
	for _, x := range each {
		sum.add(x)
	}
	if math.IsNaN(sum.loss) || math.IsInf(sum.loss, 0) {
		return sum, 0, fmt.Errorf("%w: %v", ErrNonFinite, sum.loss)
	}
	at := f.params.Dims.ScorerSize()
	if norm = optim.ClipNorm(f.grad[:at], f.cfg.GradNorm); math.IsNaN(norm) || math.IsInf(norm, 0) {
		return sum, 0, fmt.Errorf("%w: norm of the gradient is %v", ErrNonFinite, norm)
	}
	f.adam.Step(f.params.Flat[:at], f.grad[:at], rate)
	if f.cfg.Decay > 0 {
		keep := float32(1 - rate*f.cfg.Decay)
		for i := range f.params.Flat[:at] {
			f.params.Flat[i] *= keep
		}
	}
	return sum, norm, nil
}
