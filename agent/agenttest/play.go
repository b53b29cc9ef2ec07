package agenttest

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Play simulates cfg under p, from seed 1 to the end of the episode, and returns
// how its jobs fared. Its error is the simulator's or the policy's.
func Play(ctx context.Context, p agent.Policy, cfg sim.Config) (metrics.Summary, error) {
	s, err := sim.New(cfg)
	if err != nil {
		return metrics.Summary{}, err
	}
	if err := s.Reset(1); err != nil {
		return metrics.Summary{}, err
	}
	for !s.Done() {
		a, err := p.Decide(ctx, s.State())
		if err != nil {
			return metrics.Summary{}, fmt.Errorf("agenttest: round %d: %w", s.State().Round, err)
		}
		if _, err := s.Advance(a); err != nil {
			return metrics.Summary{}, err
		}
	}
	schedule := s.Schedule()
	return schedule.Summarize()
}
