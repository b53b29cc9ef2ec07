package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// errInvalid is wrapped by the error of an answer that cannot be applied.
var errInvalid = errors.New("guard: answer cannot be applied")

// errNoModel is the failure of a guard without a learned policy.
var errNoModel = errors.New("guard: no learned policy is loaded")

// Guard makes decisions. It is safe for concurrent use.
type Guard struct {
	cfg    Config
	calls  sync.WaitGroup // calls in flight, given up or not
	policy runner
	lp     runner
	greedy runner
	config runner
}

// New returns a guard.
func New(cfg Config) (*Guard, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	g := &Guard{cfg: cfg}
	for _, r := range []*runner{&g.policy, &g.lp, &g.greedy, &g.config} {
		*r = runner{places: make(chan struct{}, cfg.MaxInFlight), calls: &g.calls, logger: cfg.Logger}
	}
	return g, nil
}

// Failure is one policy that did not answer, or not well.
type Failure struct {
	Source wire.Source
	Reason wire.Reason
	Err    error
}

// Decision is an allocation, ready to be sent, and what failed before it.
type Decision struct {
	Message  *wire.Allocation
	Failures []Failure // in the order of sources
}

// Deadline returns the time that Decide keeps to.
func (g *Guard) Deadline() time.Duration { return g.cfg.Deadline }

// Decide answers s, which must be valid, within the deadline. It always
// answers. If ctx ends early, what is ready by then is the answer.
func (g *Guard) Decide(ctx context.Context, s *wire.State) Decision {
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Deadline)
	defer cancel()
	race := race{g: g, ctx: ctx, state: s}
	m := race.learnedOrLP()
	if m == nil {
		m = race.greedyOrHold()
	}
	if m.Source != wire.SourcePolicy {
		m.Reason = race.failures[0].Reason // the learned policy is the first to fail
	}
	m.Model = g.cfg.ModelName
	m.DeadlineMS = float64(g.cfg.Deadline) / float64(time.Millisecond)
	return Decision{Message: m, Failures: race.failures}
}

// Wait returns once no call is in flight any more, or with ctx's error.
func (g *Guard) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		g.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("guard: policies still run: %w", ctx.Err())
	}
}

// ask starts d on the state of the race and checks what it answers.
func (g *Guard) ask(ctx context.Context, r *runner, d Decider, s *wire.State, source wire.Source) <-chan result[*wire.Allocation] {
	return run(ctx, r, func(ctx context.Context) (*wire.Allocation, error) {
		if source == wire.SourcePolicy && g.cfg.PolicyDelay > 0 {
			if err := sleep(ctx, g.cfg.PolicyDelay); err != nil {
				return nil, err
			}
		}
		a, gap, err := decide(ctx, d, &s.State)
		if err != nil {
			return nil, err
		}
		return compose(s, a, gap, source)
	})
}

// decide returns a negative gap where d reports none.
func decide(ctx context.Context, d Decider, s *env.State) (env.Allocation, float64, error) {
	if gd, ok := d.(GapDecider); ok {
		return gd.DecideGap(ctx, s)
	}
	a, err := d.Decide(ctx, s)
	return a, -1, err
}

// compose builds the message for a and runs both checks: the contract's own on
// the allocation, the independent one on the message.
func compose(s *wire.State, a env.Allocation, gap float64, source wire.Source) (*wire.Allocation, error) {
	if err := a.Validate(&s.State); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	m := wire.NewAllocation(s, a)
	if err := m.Check(s.Key(), &s.State); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	m.Source = source
	if gap >= 0 && !math.IsInf(gap, 1) {
		m.Gap = &gap
	}
	return m, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
