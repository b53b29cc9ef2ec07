package guard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Unfamiliar configures the fallback for states that are unlike those the policy
// was trained on, reason ood. It needs a policy that tells how unlike they are, a
// ScoringDecider, whose model holds the statistics. The zero value is the default:
// on.
type Unfamiliar struct {
	Off bool
	// The fallback begins when Enter of the last Window decisions have a score
	// above 1, and ends after Calm in a row below Leave. Defaults 3, 5, 10, 0.8.
	Enter, Window, Calm int
	Leave               float64
}

// Starvation configures what happens to jobs that wait too long, reason starving:
// if the policy passes over the one that waited longest, the linear program
// decides with that job running. The zero value is the default: on.
type Starvation struct {
	Off bool
	// A job starves once it waits longer than Factor times the median of the time
	// that the state's jobs ran, and longer than AtLeast. Defaults 20 and 12 h.
	Factor  float64
	AtLeast time.Duration
	// Lease is for how many decisions a job that was helped is kept running;
	// default 10.
	Lease int
}

// Regret configures the budget of disagreement with the linear program, reason
// regret. The regret of a decision is how much less its allocation is worth than
// the linear program's, by the program's own objective, as a share of the latter.
// The zero value is the default: on.
type Regret struct {
	Off bool
	// Budget is the mean regret of the last Window comparisons above which the
	// linear program decides; below Leave times it the policy does again. A policy
	// is made to pursue another objective than the program, so the default, 0.5, is
	// for one that has gone wrong: on Gavel's jobs the regret of shortest-first
	// policies stays below 0.35, that of first come first served is at 0.6 to 0.75.
	// Default window 20, leave 0.8.
	Budget, Leave float64
	Window        int
	// Every is how many decisions of a cluster there are to one comparison;
	// default 10. Where the program decides anyway, each is compared. Comparisons
	// take at most a tenth of one processor; at high rates there are fewer.
	Every int
	// Patience bounds the time of a program that is solved only to compare, after
	// the decision has left; default 10 s.
	Patience time.Duration
}

// Breaker configures when a policy that fails again and again is not asked any
// more, reason breaker: late, wrong, not finite or with errors, per cluster. The
// zero value is the default: on.
type Breaker struct {
	Off bool
	// It opens when Failures of the last Window decisions failed, defaults 5 and
	// 10. After Pause decisions, default 20, the policy is tried once: with success
	// the breaker closes, else it stays open twice as long as before, up to 16
	// pauses. A new policy is tried at once.
	Failures, Window, Pause int
}

// maxWindow bounds the windows of decisions, which are kept as bits.
const maxWindow = 64

func (c *Config) fillRails() {
	c.Unfamiliar.Enter = cmp.Or(c.Unfamiliar.Enter, 3)
	c.Unfamiliar.Window = cmp.Or(c.Unfamiliar.Window, 5)
	c.Unfamiliar.Calm = cmp.Or(c.Unfamiliar.Calm, 10)
	c.Unfamiliar.Leave = cmp.Or(c.Unfamiliar.Leave, 0.8)
	c.Starvation.Factor = cmp.Or(c.Starvation.Factor, 20)
	c.Starvation.AtLeast = cmp.Or(c.Starvation.AtLeast, 12*time.Hour)
	c.Starvation.Lease = cmp.Or(c.Starvation.Lease, 10)
	c.Regret.Budget = cmp.Or(c.Regret.Budget, 0.5)
	c.Regret.Leave = cmp.Or(c.Regret.Leave, 0.8)
	c.Regret.Window = cmp.Or(c.Regret.Window, 20)
	c.Regret.Every = cmp.Or(c.Regret.Every, 10)
	c.Regret.Patience = cmp.Or(c.Regret.Patience, 10*time.Second)
	c.Breaker.Failures = cmp.Or(c.Breaker.Failures, 5)
	c.Breaker.Window = cmp.Or(c.Breaker.Window, 10)
	c.Breaker.Pause = cmp.Or(c.Breaker.Pause, 20)
	if c.PolicyDelay > 0 {
		c.Breaker.Off = true // each decision is to show what a late policy comes to
	}
}

func (c *Config) validateRails() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("guard: config: "+format, args...)) }
	if u := c.Unfamiliar; u.Window < 1 || u.Window > maxWindow || u.Enter < 1 || u.Enter > u.Window || u.Calm < 1 || !(u.Leave > 0 && u.Leave <= 1) {
		bad("Unfamiliar is Enter %d, Window %d, Calm %d, Leave %v, want 1 <= Enter <= Window <= %d, Calm >= 1 and 0 < Leave <= 1", u.Enter, u.Window, u.Calm, u.Leave, maxWindow)
	}
	if s := c.Starvation; !(s.Factor > 0) || math.IsInf(s.Factor, 1) || s.AtLeast < 0 || s.Lease < 1 {
		bad("Starvation is Factor %v, AtLeast %v, Lease %d, want Factor finite and > 0, AtLeast > 0, Lease >= 1", s.Factor, s.AtLeast, s.Lease)
	}
	if r := c.Regret; !(r.Budget > 0) || !(r.Leave > 0 && r.Leave <= 1) || r.Window < 1 || r.Window > maxWindow || r.Every < 1 || r.Patience < 0 {
		bad("Regret is Budget %v, Leave %v, Window %d, Every %d, Patience %v, want Budget > 0, 0 < Leave <= 1, Window 1 to %d, Every >= 1, Patience > 0", r.Budget, r.Leave, r.Window, r.Every, r.Patience, maxWindow)
	}
	if b := c.Breaker; b.Window < 1 || b.Window > maxWindow || b.Failures < 1 || b.Failures > b.Window || b.Pause < 1 {
		bad("Breaker is Failures %d, Window %d, Pause %d, want 1 <= Failures <= Window <= %d and Pause >= 1", b.Failures, b.Window, b.Pause, maxWindow)
	}
	return errors.Join(errs...)
}
