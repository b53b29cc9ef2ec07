package lp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Config of a policy. The zero value is the default.
type Config struct {
	// Horizon is the time over which a restart is written off, in rounds;
	// default 3.
	Horizon float64
	// MaxPivots bounds the work of the solver, the answer being the best so far;
	// default: that of simplex.Options.
	MaxPivots int
}

func (c *Config) fillDefaults() {
	if c.Horizon == 0 {
		c.Horizon = 3
	}
}

func (c *Config) validate() error {
	var errs []error
	if !(c.Horizon > 0) || math.IsInf(c.Horizon, 1) {
		errs = append(errs, fmt.Errorf("lp: config: Horizon is %v, want > 0 rounds", c.Horizon))
	}
	if c.MaxPivots < 0 {
		errs = append(errs, fmt.Errorf("lp: config: MaxPivots is %d, want >= 0", c.MaxPivots))
	}
	return errors.Join(errs...)
}

// formulation is a linear program and the way from its answer to whole jobs.
type formulation struct {
	name, about string
	program     func(*env.State, *Config) *program
	allocate    func(*program, *simplex.Result, *Config) env.Allocation
}

var formulations = []formulation{
	{"lp:throughput", "linear program: weighted normalized throughput over job-strategy pairs", throughputProgram, allocateWhole},
	{"lp:srpt", "linear program: throughput weighted by one over the remaining work", srptProgram, allocateWhole},
	{"lp:maxmin", "linear program: max-min fair normalized throughput (Gavel), realised in rounds", maxMinProgram, rounds},
}

func allocateWhole(p *program, r *simplex.Result, _ *Config) env.Allocation { return whole(p, r) }

// Policy solves a linear program for every decision. It is safe for concurrent
// use.
type Policy struct {
	formulation formulation
	config      Config
}

// New returns the policy of this name: "lp:throughput", "lp:srpt" or
// "lp:maxmin".
func New(name string, c Config) (*Policy, error) {
	c.fillDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	for _, f := range formulations {
		if f.name == name {
			return &Policy{f, c}, nil
		}
	}
	return nil, fmt.Errorf("lp: no formulation %q", name)
}

// Register adds every policy of this package to r, with its defaults.
func Register(r *agent.Registry) {
	for _, f := range formulations {
		r.Register(agent.Entry{Name: f.name, About: f.about, New: func() (agent.Policy, error) {
			return New(f.name, Config{})
		}})
	}
}

// Decide implements agent.Policy: the allocation of Solve, if ctx has not ended.
func (p *Policy) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	solution, err := p.Solve(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("lp: decide: %w", err)
	}
	return solution.Allocation, nil
}
