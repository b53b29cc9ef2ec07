package gavel

import (
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// ErrReference is returned by a blind MinTotalDuration where a job does not fit
// the GPU type whose rate stands for all.
var ErrReference = errors.New("gavel: job does not fit the reference GPU type")

// MaxMinFairness is MaxMinFairness_Perf (max_min_fairness.py): it maximises the
// least of the jobs' normalized throughputs
//
//	g[m] · Σ_t T[m,t]·X[m,t] / Σ_t T[m,t]·X[prop][m,t]
//
// with g GPUs, rates T and the proportional shares X[prop][m,t] = C[t] / Σ C.
// With Blind it is MaxMinFairness, for which all rates are 1.
type MaxMinFairness struct {
	Blind bool
	Seed  uint64 // of the ties of a Blind one

	ties ties
}

// Rules implements [gavel.Policy].
func (p *MaxMinFairness) Rules() gavel.Rules { return gavel.Rules{Shuffle: p.Blind} }

// Allocate implements [gavel.Policy].
func (p *MaxMinFairness) Allocate(v *gavel.View, x []float64) error {
	if p.Blind {
		need := p.ties.needs(v.Jobs())
		for i, g := range v.GPUs {
			need[i] = 1 / float64(g)
		}
		p.ties.spread(v, x, p.Seed)
		return nil
	}
	k := len(v.Types)
	target := p.ties.needs(v.Jobs())
	total := 0.0
	for _, t := range v.Types {
		total += float64(t.GPUs)
	}
	for i, g := range v.GPUs {
		proportional := 0.0
		for t, r := range v.Rates[i*k : (i+1)*k] {
			proportional += r * float64(v.Types[t].GPUs) / total
		}
		target[i] = proportional / float64(g)
	}
	return p.ties.solve(v, x)
}

// MinTotalDuration is MinTotalDuration_Perf (min_total_duration.py): the least
// time in which all jobs can finish, T = max_m left[m] / Σ_t T[m,t]·X[m,t]. The
// original brackets it within 5 % by bisection; this is exact. With Blind it is
// MinTotalDuration, for which a job's rate on every type is that on the first.
type MinTotalDuration struct {
	Blind bool
	Seed  uint64 // of the ties of a Blind one

	ties ties
}

// Rules implements [gavel.Policy].
func (p *MinTotalDuration) Rules() gavel.Rules { return gavel.Rules{Shuffle: p.Blind} }

// Allocate implements [gavel.Policy].
func (p *MinTotalDuration) Allocate(v *gavel.View, x []float64) error {
	need := p.ties.needs(v.Jobs())
	if !p.Blind {
		copy(need, v.Left)
		return p.ties.solve(v, x)
	}
	for i, left := range v.Left {
		rate := v.Rates[i*len(v.Types)]
		if rate == 0 {
			return fmt.Errorf("%w: job %d on %s", ErrReference, v.IDs[i], v.Types[0].Name)
		}
		need[i] = left / rate
	}
	p.ties.spread(v, x, p.Seed)
	return nil
}

// solve writes the shares X that maximise the least of Σ_t T[m,t]·X[m,t] /
// need[m], and gives away what they leave.
func (s *ties) solve(v *gavel.View, x []float64) error {
	s.build(v)
	r, err := simplex.Solve(context.Background(), &s.problem, simplex.Options{})
	if err != nil {
		return fmt.Errorf("gavel: max-min over %d jobs: %w", v.Jobs(), err)
	}
	if r.Status != simplex.Optimal {
		return fmt.Errorf("gavel: max-min over %d jobs is not solved: gap %v", v.Jobs(), r.Gap)
	}
	k := len(v.Types)
	for _, share := range r.Shares {
		i, column := int(share.Candidate)/k, int(share.Candidate)%k
		x[i*k+v.ByName[column]] = share.Weight
	}
	s.giveAway(v, x)
	return nil
}

// build writes the linear program: a candidate for each job and type, in the
// order of Gavel's matrices.
func (s *ties) build(v *gavel.View) {
	k := len(v.Types)
	p := &s.problem
	p.Objective, p.Target = simplex.MaxMin, s.need
	p.Capacity, p.Usages = p.Capacity[:0], p.Usages[:0]
	p.Offsets, p.Rate, p.Usage = append(p.Offsets[:0], 0), p.Rate[:0], p.Usage[:0]
	for _, t := range v.ByName {
		p.Capacity = append(p.Capacity, float64(v.Types[t].GPUs))
	}
	known := make(map[int32]int32) // GPUs of a job → its first usage vector
	for i, g := range v.GPUs {
		first, seen := known[g]
		if !seen {
			first = int32(len(p.Usages))
			known[g] = first
			for column := range k {
				p.Usages = append(p.Usages, simplex.Usage{{Resource: int32(column), Amount: float64(g)}})
			}
		}
		for column, t := range v.ByName {
			p.Rate = append(p.Rate, v.Rates[i*k+t])
			p.Usage = append(p.Usage, first+int32(column))
		}
		p.Offsets = append(p.Offsets, int32((i+1)*k))
	}
}
