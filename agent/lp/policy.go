package lp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/agent"
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
	// Columns is how many candidates per job the lp:hetero policies start with
	// (lazy.go); default 4.
	Columns int
	// Partitions is in how many parts lp:hetero-pop solves (partition.go); default:
	// what suits the number of jobs and GPUs.
	Partitions int
	// CostWeight is μ of lp:hetero-cost (hetero.go); default 0.5.
	CostWeight float64
	// Power is p of lp:hetero-pnorm (hetero.go); default 0.5.
	Power float64
	// Nodes bounds the branch and bound of lp:sia (branch.go); default 50.
	Nodes int
}

func (c *Config) fillDefaults() {
	if c.Horizon == 0 {
		c.Horizon = 3
	}
	if c.Columns == 0 {
		c.Columns = 4
	}
	if c.CostWeight == 0 {
		c.CostWeight = 0.5
	}
	if c.Power == 0 {
		c.Power = 0.5
	}
	if c.Nodes == 0 {
		c.Nodes = 50
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
	if c.Columns < 0 || c.Partitions < 0 || c.Nodes < 0 {
		errs = append(errs, fmt.Errorf("lp: config: Columns %d, Partitions %d and Nodes %d, want all >= 0", c.Columns, c.Partitions, c.Nodes))
	}
	if !(c.CostWeight >= 0) || math.IsInf(c.CostWeight, 1) {
		errs = append(errs, fmt.Errorf("lp: config: CostWeight is %v, want finite and >= 0", c.CostWeight))
	}
	if !(c.Power > 0 && c.Power <= 1) {
		errs = append(errs, fmt.Errorf("lp: config: Power is %v, want over 0 and at most 1", c.Power))
	}
	return errors.Join(errs...)
}

// Policy solves a linear program for every decision. It is safe for concurrent
// use.
type Policy struct {
	formulation formulation
	config      Config
}

// New returns the policy of this name, one of those that Register adds.
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
