package heuristic

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// GittinsConfig holds what [Gittins] knows of the jobs' service. The zero value
// is the default; the fields are those of [DensityConfig].
type GittinsConfig struct{ Sigma, Median float64 }

// Gittins runs the jobs with the largest Gittins index of attained service first
// (Gu et al., Tiresias, NSDI 2019, section 3.2.2: 2D-Gittins, service being GPUs
// × time), ties by ID: optimal for the mean completion time on one machine where
// only the distribution of service is known (Gittins 1979).
//
// Three departures. The distribution is log-normal, fitted to the means that
// State.Recent reports and to what is assumed, where the paper takes a histogram
// of history. The index is that of the best quantum, where the paper takes the
// distance to the next queue. And priorities are continuous, so that a running
// job keeps its GPUs until it has fallen 10 % behind (see [TwoStage] for its
// place in a rule that weighs the cost of moving).
//
// It needs no knowledge of durations and uses none that a state holds.
type Gittins struct{ cfg GittinsConfig }

// NewGittins returns a Gittins policy.
func NewGittins(cfg GittinsConfig) (*Gittins, error) {
	if err := (&DensityConfig{Sigma: cfg.Sigma, Median: cfg.Median}).validate(); err != nil {
		return nil, err
	}
	return &Gittins{cfg}, nil
}

// keep is how many times the index of a running job counts.
const keep = 1.1

// Decide implements agent.Policy.
func (g *Gittins) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	all := newPopulation(s, orDefault(g.cfg.Sigma, populationSigma), orDefault(g.cfg.Median, populationMedian))
	p.fillInOrder(func(j *env.JobState) float64 {
		index := all.at(j.Service / all.median)
		if j.Current != env.Idle {
			index *= keep
		}
		return -index
	})
	return p.given, nil
}
