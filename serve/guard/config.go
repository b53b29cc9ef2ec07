package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Decider is what the guard needs from a policy; agent.Policy satisfies it. It
// must be safe for concurrent use and must not modify or retain the state.
type Decider interface {
	Decide(ctx context.Context, s *env.State) (env.Allocation, error)
}

// GapDecider is a Decider that can tell how far from the optimum its answer is
// at most: (bound − value) / bound, 0 for an optimum. The linear program is one.
type GapDecider interface {
	Decider
	DecideGap(ctx context.Context, s *env.State) (a env.Allocation, gap float64, err error)
}

// ScoringDecider is a Decider that can tell how far the state is from those it was
// trained on: above 1 is farther than 99 in 100 of those, a negative score says that
// nothing is known. neural.Policy is one.
type ScoringDecider interface {
	Decider
	DecideScored(ctx context.Context, s *env.State) (a env.Allocation, novelty float64, err error)
}

// ScoringConfigurer is a Configurer that can tell the same. neural.Configurer is
// one.
type ScoringConfigurer interface {
	Configurer
	ConfigureScored(ctx context.Context, s *env.State) (c env.Configuration, novelty float64, err error)
}

// Valuer is a Decider with an objective, in which allocations can be compared:
// higher is better. Its gaps are of the same objective. LP is one.
type Valuer interface {
	Decider
	Values(s *env.State, allocations ...env.Allocation) []float64
}

// Configurer chooses the scheduler's configuration; agent.Configurer satisfies
// it. The same rules hold as for Decider.
type Configurer interface {
	Configure(ctx context.Context, s *env.State) (env.Configuration, error)
}

// Config configures a Guard. Fallback and Greedy must be given; the zero value
// of every other field is its default.
type Config struct {
	Policy     Decider    // learned; nil decides without one (reason no_model)
	Fallback   Decider    // linear program
	Greedy     Decider    // fast heuristic
	Configurer Configurer // nil makes no configuration decisions

	// ModelName names the learned policy in messages, such as demo@3.
	ModelName string
	// ConfigurerName names the configurer in messages.
	ConfigurerName string
	// NonFinite is the sentinel error of a policy whose scores are not finite,
	// to tell that reason from other errors. nil tells none.
	NonFinite error

	Deadline time.Duration // from the start of a decision to its answer; 500 ms
	Hedge    float64       // fraction of Deadline after which Fallback starts beside Policy, less than 1 - Reserve; 0 is 0.25, negative is at once
	Reserve  float64       // fraction of Deadline kept for Fallback's answer and for Greedy, 0 to 0.9; 0 is 0.1
	// MaxInFlight bounds the calls of each policy that run at once, those
	// included that were given up; 64.
	MaxInFlight int

	// PolicyDelay delays the learned policy by this much. It is a fault drill:
	// with a delay above the deadline every decision must come from Fallback,
	// with reason late.
	PolicyDelay time.Duration

	// Memory is what is known of clusters from their earlier decisions. It outlives
	// a guard: give it to the next one. nil makes an empty one.
	Memory *Memory

	Unfamiliar Unfamiliar
	Starvation Starvation
	Regret     Regret
	Breaker    Breaker

	// OnEvent is told what the guard does about published states. It is called from
	// the goroutine that decides and must return at once; nil is nobody.
	OnEvent func(*wire.Event)
	// OnComparison gets every comparison with the linear program, from several
	// goroutines at once. nil is nobody.
	OnComparison func(Comparison)

	// DumpDir is a folder for states that the linear program failed on, as JSON
	// that `yardmaster solve` reads; at most 16 files at a time. "" keeps none.
	DumpDir string

	Stages *stage.Recorder // measures each policy's answers; nil does not

	Logger *slog.Logger // nil discards
}

func (c *Config) fillDefaults() {
	if c.Deadline == 0 {
		c.Deadline = 500 * time.Millisecond
	}
	if c.Hedge == 0 {
		c.Hedge = 0.25
	}
	c.Hedge = max(c.Hedge, 0)
	if c.Reserve == 0 {
		c.Reserve = 0.1
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Memory == nil {
		c.Memory = NewMemory(0)
	}
	c.fillRails()
}

func (c *Config) validate() error {
	var errs []error
	if c.Fallback == nil {
		errs = append(errs, errors.New("guard: config: Fallback is nil, want the linear program"))
	}
	if c.Greedy == nil {
		errs = append(errs, errors.New("guard: config: Greedy is nil, want a heuristic"))
	}
	if c.Deadline < 0 {
		errs = append(errs, fmt.Errorf("guard: config: Deadline is %v, want > 0", c.Deadline))
	}
	if !(c.Reserve > 0 && c.Reserve <= 0.9) {
		errs = append(errs, fmt.Errorf("guard: config: Reserve is %v, want 0 to 0.9", c.Reserve))
	}
	if !(c.Hedge < 1-c.Reserve) {
		errs = append(errs, fmt.Errorf("guard: config: Hedge is %v, want less than 1 - Reserve (%v)", c.Hedge, c.Reserve))
	}
	if c.MaxInFlight < 1 {
		errs = append(errs, fmt.Errorf("guard: config: MaxInFlight is %d, want >= 1", c.MaxInFlight))
	}
	if c.PolicyDelay < 0 {
		errs = append(errs, fmt.Errorf("guard: config: PolicyDelay is %v, want >= 0", c.PolicyDelay))
	}
	return errors.Join(append(errs, c.validateRails())...)
}
