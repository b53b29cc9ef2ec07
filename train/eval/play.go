package eval

import (
	"context"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Episode is one played episode.
type Episode struct {
	Schedule metrics.Schedule
	Reward   float64 // sum over the episode, of sim.Config.Objective
	// Decisions counts the calls of the policy; DecisionTime is the wall time
	// they took together.
	Decisions    int64
	DecisionTime time.Duration
}

// Play runs the episode of seed under p to its end.
func Play(ctx context.Context, cfg sim.Config, p agent.Policy, seed uint64) (Episode, error) {
	s, err := sim.New(cfg)
	if err != nil {
		return Episode{}, err
	}
	if err := s.Reset(seed); err != nil {
		return Episode{}, err
	}
	var e Episode
	for !s.Done() {
		start := time.Now()
		a, err := p.Decide(ctx, s.State())
		e.DecisionTime += time.Since(start)
		e.Decisions++
		if err != nil {
			return Episode{}, fmt.Errorf("eval: seed %d, round %d: %w", seed, s.State().Round, err)
		}
		out, err := s.Advance(a)
		if err != nil {
			return Episode{}, fmt.Errorf("eval: seed %d: %w", seed, err)
		}
		e.Reward += out.Reward
	}
	e.Schedule = s.Schedule()
	return e, nil
}
