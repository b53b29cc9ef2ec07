package gavel

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// MaxMin is MaxMinFairness_Perf (max_min_fairness.py): it maximises the least
// of the jobs' normalized throughputs, GPUs × throughput / throughput under
// the proportional shares, which are the same for all jobs. With Blind it is
// MaxMinFairness, for which all rates are 1.
type MaxMin struct {
	Blind bool

	problem simplex.Problem
	types   []int // of each candidate
}

// Rules implements [gavel.Policy].
func (p *MaxMin) Rules() gavel.Rules { return gavel.Rules{Shuffle: p.Blind} }

// Allocate implements [gavel.Policy].
func (p *MaxMin) Allocate(v *gavel.View, x []float64) error {
	p.build(v)
	r, err := simplex.Solve(context.Background(), &p.problem, simplex.Options{})
	if err != nil {
		return fmt.Errorf("gavel: max-min: %w", err)
	}
	if r.Status != simplex.Optimal {
		return fmt.Errorf("gavel: max-min: not solved: gap %v", r.Gap)
	}
	k := len(v.Types)
	for _, s := range r.Shares {
		c := int(s.Candidate)
		x[c/k*k+v.ByName[c%k]] = s.Weight
	}
	return nil
}

func (p *MaxMin) build(v *gavel.View) {
	k, n := len(v.Types), v.Jobs()
	q := &p.problem
	q.Objective = simplex.MaxMin
	q.Capacity = q.Capacity[:0]
	total := 0.0
	for _, t := range v.ByName {
		q.Capacity = append(q.Capacity, float64(v.Types[t].GPUs))
		total += float64(v.Types[t].GPUs)
	}
	q.Offsets, q.Rate, q.Usage, q.Target = append(q.Offsets[:0], 0), q.Rate[:0], q.Usage[:0], q.Target[:0]
	q.Usages = q.Usages[:0]
	index := map[[2]int32]int32{}
	for i := range n {
		prop := 0.0
		for _, t := range v.ByName {
			r := v.Rates[i*k+t]
			if p.Blind {
				r = 1
			}
			prop += r * float64(v.Types[t].GPUs) / total
		}
		for c, t := range v.ByName {
			r := v.Rates[i*k+t]
			if p.Blind {
				r = 1
			}
			q.Rate = append(q.Rate, r*float64(v.GPUs[i])/prop)
			key := [2]int32{int32(c), v.GPUs[i]}
			u, ok := index[key]
			if !ok {
				u = int32(len(q.Usages))
				index[key] = u
				q.Usages = append(q.Usages, simplex.Usage{{Resource: int32(c), Amount: float64(v.GPUs[i])}})
			}
			q.Usage = append(q.Usage, u)
		}
		q.Offsets = append(q.Offsets, int32((i+1)*k))
		q.Target = append(q.Target, 1)
	}
}
