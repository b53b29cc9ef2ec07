package perf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/env"
)

// maxGlobal bounds the samples of one iteration.
const maxGlobal = 1 << 40

// Config says where predictions come from. Its zero value is the built-in
// catalogue without measurements.
type Config struct {
	// Catalogue is copied; nil is Default().
	Catalogue *Catalogue
	// Measured rows win over the analytic model where they apply.
	Measured []Measurement
	// MaxStrategies bounds the strategies of one job: the fastest are kept.
	// 0 is env.MaxStrategies.
	MaxStrategies int
	// Rigid offers only the requested number of GPUs; otherwise half and twice
	// as many are offered too.
	Rigid bool
	// Shares are the parts into which a GPU may be divided, of 2, 4 and 8: a job
	// that asks for one GPU is also offered one part of it, with that part of its
	// memory, arithmetic and memory bandwidth. None: GPUs are not divided.
	Shares []int
}

func (c *Config) fillDefaults() {
	if c.Catalogue == nil {
		c.Catalogue = builtin()
	}
	c.Catalogue = c.Catalogue.clone()
	if c.MaxStrategies == 0 {
		c.MaxStrategies = env.MaxStrategies
	}
	c.Measured = slices.Clone(c.Measured)
	c.Shares = slices.Clone(c.Shares)
	slices.SortFunc(c.Shares, func(a, b int) int { return cmp.Compare(b, a) }) // the smallest part first
}

func (c *Config) validate() error {
	var errs []error
	if c.MaxStrategies < 1 || c.MaxStrategies > env.MaxStrategies {
		errs = append(errs, fmt.Errorf("perf: config: MaxStrategies is %d, want 1 to %d", c.MaxStrategies, env.MaxStrategies))
	}
	for i, s := range c.Shares {
		if s != 2 && s != 4 && s != 8 || i > 0 && s == c.Shares[i-1] {
			errs = append(errs, fmt.Errorf("perf: config: Shares holds %d, want each of 2, 4 and 8 at most once", s))
		}
	}
	for i := range c.Measured {
		if err := c.Measured[i].validate(c.Catalogue); err != nil {
			errs = append(errs, fmt.Errorf("config: Measured[%d]: %w", i, err))
		}
		if len(errs) >= maxReported {
			break
		}
	}
	return errors.Join(errs...)
}

// maxReported bounds the problems of one error.
const maxReported = 10

// Performance answers how fast jobs run. It is safe for concurrent use; equal
// questions get equal answers whatever was asked before.
type Performance struct {
	cfg      Config
	measured measurements

	mu    sync.Mutex
	cache cache
}

// New returns the performance model that cfg describes.
func New(cfg Config) (*Performance, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Performance{cfg: cfg}
	p.measured = newMeasurements(cfg.Measured, cfg.Catalogue)
	return p, nil
}

// Throughput returns the steps/s of model's best plan with batch samples per
// worker on gpus GPUs of type gpuType, spread over nodes nodes: samples/s
// divided by batch, summed over the workers. It wraps ErrUnknownModel,
// ErrUnknownGPU and ErrNoStrategy.
func (p *Performance) Throughput(model string, batch int, gpuType string, gpus, nodes int) (float64, error) {
	m, g, err := p.lookup(model, gpuType)
	if err != nil {
		return 0, err
	}
	if batch < 1 || gpus < 1 || nodes < 1 || nodes > gpus || batch > maxGlobal/gpus {
		return 0, fmt.Errorf("perf: throughput of %s with batch %d on %d GPUs of %d nodes: want all >= 1, nodes at most gpus and at most %d samples per iteration", model, batch, gpus, nodes, maxGlobal)
	}
	q := &query{m: m, g: g, memory: g.MemoryGiB * gib, gpus: gpus, nodes: nodes, global: batch * gpus}
	_, samples, ok := p.predict(q)
	if !ok {
		return 0, fmt.Errorf("%w for %s with batch %d on %d × %s: it does not fit or cannot be divided so", ErrNoStrategy, model, batch, gpus, gpuType)
	}
	return samples / float64(batch), nil
}

func (p *Performance) lookup(model, gpuType string) (*Model, *GPU, error) {
	m, ok := p.cfg.Catalogue.Model(model)
	if !ok {
		return nil, nil, p.cfg.Catalogue.UnknownModel(model)
	}
	g, ok := p.cfg.Catalogue.GPU(gpuType)
	if !ok {
		return nil, nil, p.cfg.Catalogue.unknownGPU(gpuType)
	}
	return m, g, nil
}

// predict returns the best plan for q and its samples/s: measured where there
// are rows, of the analytic model otherwise.
func (p *Performance) predict(q *query) (env.Plan, float64, bool) {
	plan, seconds, ok := q.best()
	samples := 0.0
	if ok {
		samples = float64(q.global) / seconds
	}
	return p.measured.correct(q, plan, samples, ok)
}
