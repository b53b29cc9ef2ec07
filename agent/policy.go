// Package agent defines policies: functions from the state of a cluster to an
// allocation. Heuristics, linear programs and learned policies are one kind of
// thing here, compared and served alike.
package agent

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
)

// Policy decides which strategy each job of a state runs in the coming round.
// Implementations pass agenttest.Check.
type Policy interface {
	// Decide returns an allocation that env.Allocation.Validate accepts for s,
	// owned by the caller. It is a pure function of s: it keeps no memory
	// between calls, retains and modifies nothing of s, and is safe for
	// concurrent use. It returns early with ctx's error where ctx ends.
	Decide(ctx context.Context, s *env.State) (env.Allocation, error)
}

// Configurer chooses how the scheduler itself is configured for the coming
// window, from the workload that State.Recent summarises. The same rules hold
// as for Policy.
type Configurer interface {
	Configure(ctx context.Context, s *env.State) (env.Configuration, error)
}
