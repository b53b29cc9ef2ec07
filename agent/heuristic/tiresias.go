package heuristic

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// TiresiasConfig holds the knobs of [Tiresias].
type TiresiasConfig struct {
	// Thresholds are the limits between the queues in GPU-seconds of attained
	// service, ascending: len(Thresholds)+1 queues. None is a single queue.
	Thresholds []float64
	// Promote moves a job to the first queue once it has waited at least
	// Promote times as long as it ran (PROMOTEKNOB of the paper); 0 is never.
	Promote float64
}

func (c *TiresiasConfig) validate() error {
	var errs []error
	if len(c.Thresholds) > env.MaxKnobValues {
		errs = append(errs, fmt.Errorf("heuristic: tiresias: %d thresholds, want at most %d", len(c.Thresholds), env.MaxKnobValues))
	}
	last := 0.0
	for i, t := range c.Thresholds {
		if !(t > last) || math.IsInf(t, 1) {
			errs = append(errs, fmt.Errorf("heuristic: tiresias: thresholds[%d] is %v GPU-seconds, want finite and above %v", i, t, last))
		}
		last = t
	}
	if !(c.Promote >= 0) || math.IsInf(c.Promote, 1) {
		errs = append(errs, fmt.Errorf("heuristic: tiresias: promote is %v, want finite and >= 0", c.Promote))
	}
	return errors.Join(errs...)
}

// Tiresias is discretized two-dimensional LAS (Gu et al., NSDI 2019, section
// 3.2): jobs sink through a few queues as their attained service (GPUs × time)
// passes thresholds; higher queues go first, and within a queue the order is
// first come, first served, so equal jobs do not preempt each other.
//
// Two departures, since a state holds neither: within a queue the order is that
// of submission, ties by ID, where the paper takes the first start; a promoted
// job goes back to its own queue when it has run, where the paper restarts its
// count of executed time.
type Tiresias struct{ cfg TiresiasConfig }

// NewTiresias returns a Tiresias policy. It copies cfg.
func NewTiresias(cfg TiresiasConfig) (*Tiresias, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Thresholds = append([]float64(nil), cfg.Thresholds...)
	return &Tiresias{cfg: cfg}, nil
}

// Decide implements agent.Policy.
func (t *Tiresias) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	queues := make([]uint8, len(s.Jobs))
	for i := range s.Jobs {
		queues[i] = t.queue(&s.Jobs[i])
	}
	// The jobs are in the order of submission already: one pass per queue
	// takes the place of sorting.
	for q := range len(t.cfg.Thresholds) + 1 {
		for i := range s.Jobs {
			if p.full() {
				return p.given, nil
			}
			if int(queues[i]) == q {
				p.giveRigid(i)
			}
		}
	}
	return p.given, nil
}

// queue returns the queue of j, 0 being the first served.
func (t *Tiresias) queue(j *env.JobState) uint8 {
	if t.cfg.Promote > 0 && j.Waiting > 0 && float64(j.Waiting) >= t.cfg.Promote*float64(j.Ran) {
		return 0
	}
	q := 0
	for q < len(t.cfg.Thresholds) && j.Service >= t.cfg.Thresholds[q] {
		q++
	}
	return uint8(q)
}
