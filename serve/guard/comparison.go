package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Comparisons must not take the processors from decisions: one runs at a time, and
// after each the guard rests for restFactor times as long as it took, so that they
// take a tenth of one processor. Those that would fall in between come later.
const (
	maxComparisons = 1
	restFactor     = 9
)

// Comparison is a decision of the learned policy beside the linear program's on
// the same state. Whoever gets it must not modify what it points to.
type Comparison struct {
	State     *wire.State
	Model     string
	Policy    env.Allocation
	LP        env.Allocation
	PolicyIs  float64 // value of Policy by the program's objective
	LPIs      float64
	Regret    float64       // (LPIs − PolicyIs) / LPIs, within −1 to 1
	Published wire.Source   // whose allocation was sent
	LPTook    time.Duration // time of the program
}

// regretOf returns how much less a policy's value is than the program's, as a share
// of the latter: 0 where there is nothing to gain.
func regretOf(policy, program float64) float64 {
	if !(program > 0) {
		return 0
	}
	return max(-1, min(1, (program-policy)/program))
}

// compareLater begins to compare the decision of r, if it is its turn. It takes no
// time of the decision: where the linear program was not asked it is only now, with
// all the time of Regret.Patience. parent bounds it, not the decision's deadline.
func (g *Guard) compareLater(parent context.Context, r *race, published wire.Source) {
	valuer, ok := g.cfg.Fallback.(Valuer)
	if g.cfg.Regret.Off || !ok || r.policy == nil || r.aid != nil || r.track.key.requested {
		return
	}
	if !r.track.due(&g.cfg, int64(time.Since(g.made)) < g.rested.Load()) {
		return
	}
	ctx, cancel := context.WithTimeout(parent, g.cfg.Regret.Patience)
	c := Comparison{State: r.state, Model: g.cfg.ModelName, Policy: r.policy.allocation, Published: published}
	if r.program != nil {
		c.LP, c.LPTook = r.program.allocation, r.program.took
	}
	track := r.track
	started := g.comparisons.start(func() {
		defer cancel()
		began := time.Now()
		defer func() { g.rested.Store(int64(time.Since(g.made) + restFactor*time.Since(began))) }()
		if _, err := protect(ctx, g.cfg.Logger, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, g.compare(ctx, &c, valuer)
		}); err != nil {
			track.compared(&g.cfg, 0, false)
			g.cfg.Logger.Debug("decision not compared", "cluster", c.State.Cluster, "seq", c.State.Seq, "error", err)
			return
		}
		g.account(track, &c)
	})
	if !started {
		cancel()
		track.compared(&g.cfg, 0, false)
	}
}

// compare completes c.
func (g *Guard) compare(ctx context.Context, c *Comparison, valuer Valuer) error {
	s := &c.State.State
	if c.LP == nil {
		start := time.Now()
		a, _, err := decide(ctx, g.cfg.Fallback, s)
		if err != nil {
			return err
		}
		if err := a.Validate(s); err != nil {
			return err
		}
		c.LP, c.LPTook = a, time.Since(start)
	}
	values := valuer.Values(s, c.Policy, c.LP)
	if len(values) != 2 {
		return fmt.Errorf("guard: %d values of 2 allocations", len(values))
	}
	c.PolicyIs, c.LPIs = values[0], values[1]
	c.Regret = regretOf(c.PolicyIs, c.LPIs)
	return nil
}

// account adds the regret of c to the budget of its cluster.
func (g *Guard) account(t *track, c *Comparison) {
	mean, active, changed := t.compared(&g.cfg, c.Regret, true)
	if changed {
		text := "the policy decides again: its regret is within the budget"
		if active {
			text = "the linear program decides: by its objective the policy has given away too much"
		}
		g.turn(c.State, wire.ReasonRegret, active, mean, g.cfg.Regret.Budget, text)
	}
	if g.cfg.OnComparison != nil {
		g.cfg.OnComparison(*c)
	}
}
