package lp

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// Stage is one linear program of a decision and its answer. Most policies have
// one.
type Stage struct {
	Problem *simplex.Problem
	Result  *simplex.Result
	Whole   bool // all shares are 0 or 1
	Parts   bool // put together of parts: feasible, but not the best
}

// run is one decision in the making.
type run struct {
	ctx    context.Context
	state  *env.State
	config *Config
	name   string
	stages []Stage
	pivots int
	last   []*simplex.Result // of the programs of an earlier decision, to start from
}

// answer is a solved program and what was made of it.
type answer struct {
	program    *program
	result     *simplex.Result
	overTime   bool // as in formulation
	allocation env.Allocation
}

func (p *Policy) answer(ctx context.Context, s *env.State) (*answer, error) {
	a, _, err := p.decide(ctx, s, nil)
	return a, err
}

// decide returns the answer and the programs on the way to it. last are the answers
// of an earlier decision, nil for a decision that depends on s alone.
func (p *Policy) decide(ctx context.Context, s *env.State, last []*simplex.Result) (*answer, []Stage, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("lp: solve: %w", err)
	}
	r := &run{ctx: ctx, state: s, config: &p.config, name: p.formulation.name, last: last}
	prog, result, err := p.formulation.solve(r)
	if err != nil {
		return nil, nil, err
	}
	result.Pivots = r.pivots
	a := &answer{program: prog, result: result, overTime: p.formulation.overTime}
	if a.overTime {
		a.allocation = rounds(prog, result, &p.config)
	} else {
		a.allocation = whole(prog, result)
	}
	return a, r.stages, nil
}

// Stages solves s and returns every linear program that took, in their order, for
// those who want to compare with another solver.
func (p *Policy) Stages(ctx context.Context, s *env.State) ([]Stage, error) {
	_, stages, err := p.decide(ctx, s, nil)
	return stages, err
}

// solve solves p with what is left of the budget. After the first program it
// returns nil where nothing is left of it, or nothing was found: the caller goes
// on with what it has.
func (r *run) solve(p *program, warm *simplex.Result) (*simplex.Result, error) {
	if n := len(r.stages); warm == nil && n < len(r.last) && len(r.last[n].Prices) == len(p.problem.Capacity) && r.last[n].Status.Feasible() {
		warm = r.last[n]
	}
	o := simplex.Options{MaxPivots: r.config.MaxPivots, Warm: warm}
	if o.MaxPivots > 0 {
		if o.MaxPivots -= r.pivots; o.MaxPivots <= 0 && len(r.stages) > 0 {
			return nil, nil
		}
		o.MaxPivots = max(1, o.MaxPivots)
	}
	if len(r.stages) > 0 && r.ctx.Err() != nil {
		return nil, nil
	}
	result, err := simplex.Solve(r.ctx, &p.problem, o)
	if err != nil {
		return nil, fmt.Errorf("lp: %s: %w", r.name, err)
	}
	r.pivots += result.Pivots
	r.stages = append(r.stages, Stage{Problem: &p.problem, Result: result})
	return result, nil
}

// single solves the one program of a formulation.
func single(build func(*env.State, *Config) *program) func(*run) (*program, *simplex.Result, error) {
	return func(r *run) (*program, *simplex.Result, error) {
		p := build(r.state, r.config)
		result, err := r.solve(p, nil)
		return p, result, err
	}
}
