package serve

import (
	"context"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// lineup is the guards that decide now. It is immutable but for its users.
type lineup struct {
	users atomic.Int64  // decisions that use it, and one while it is the current one
	idle  chan struct{} // closed when the last of them is done

	view      live.View
	active    *guard.Guard // nil without an active model
	candidate *guard.Guard // nil without a candidate
	plain     *guard.Guard // without a learned policy; never nil
	// looker is asked for clusters in mode shadow; nil is nobody.
	looker     guard.Decider
	lookerName string
}

// fixed is the lineup of Guard's policies.
func (r *roster) fixed() (*lineup, error) {
	l := &lineup{}
	cfg := *r.guards.Load()
	if cfg.Policy != nil {
		var err error
		if l.active, err = guard.New(cfg); err != nil {
			return nil, err
		}
		l.looker, l.lookerName = cfg.Policy, cfg.ModelName
	}
	cfg.Policy, cfg.ModelName = nil, ""
	var err error
	l.plain, err = guard.New(cfg)
	return l, err
}

// assemble makes the guards of a view.
func (r *roster) assemble(v live.View) (*lineup, error) {
	base := *r.guards.Load()
	base.Policy, base.ModelName = nil, ""
	if m := v.Configuration.Active; m != nil {
		base.Configurer, base.ConfigurerName = m.Configurer, m.Name
	}
	l := &lineup{view: v}
	var err error
	if l.plain, err = guard.New(base); err != nil {
		return nil, err
	}
	for _, of := range []struct {
		m *live.Model
		g **guard.Guard
	}{{v.JobStrategy.Active, &l.active}, {v.JobStrategy.Candidate, &l.candidate}} {
		if of.m == nil {
			continue
		}
		cfg := base
		cfg.Policy, cfg.ModelName = of.m.Policy, of.m.Name
		if *of.g, err = guard.New(cfg); err != nil {
			return nil, err
		}
		l.looker, l.lookerName = of.m.Policy, of.m.Name // the candidate, if there is one
	}
	return l, nil
}

// begin makes l ready to be the current lineup.
func (l *lineup) begin() {
	l.idle = make(chan struct{})
	l.users.Store(1)
}

// enter returns the current lineup, which stays whole until leave.
func (r *roster) enter() *lineup {
	for {
		l := r.current.Load()
		for n := l.users.Load(); n > 0; n = l.users.Load() { // none: it was replaced just now
			if l.users.CompareAndSwap(n, n+1) {
				return l
			}
		}
	}
}

func (l *lineup) leave() {
	if l.users.Add(-1) == 0 {
		close(l.idle)
	}
}

// end returns when the last decision by l and all calls of its policies are done,
// or with ctx.
func (l *lineup) end(ctx context.Context) {
	select {
	case <-l.idle:
	case <-ctx.Done():
		return
	}
	for _, g := range l.guards() {
		_ = g.Wait(ctx)
	}
}

func (l *lineup) guards() []*guard.Guard {
	var all []*guard.Guard
	for _, g := range []*guard.Guard{l.active, l.candidate, l.plain} {
		if g != nil {
			all = append(all, g)
		}
	}
	return all
}

// choice is who decides for one cluster.
type choice struct {
	guard   *guard.Guard
	setting live.Setting
	reason  wire.Reason // why no learned policy is asked, "" where one is
	blame   bool        // the active model is the one whose faults count
	shadow  bool        // a learned policy looks on
}

// choose says who decides for a cluster: the table in the comment of package live.
func (l *lineup) choose(s live.Setting, cluster string) choice {
	c := choice{setting: s, guard: l.plain, reason: wire.ReasonMode}
	learned := func(g *guard.Guard) {
		c.guard, c.reason, c.blame = g, wire.ReasonNone, g == l.active
		if g == nil {
			c.guard, c.reason, c.blame = l.plain, wire.ReasonNoModel, false
		}
	}
	switch s.Mode {
	case live.Policy:
		learned(l.active)
	case live.Shadow:
		c.shadow = l.looker != nil
	case live.Canary:
		switch in := s.Has(cluster); {
		case in && l.candidate != nil:
			learned(l.candidate)
		case in || l.candidate != nil:
			learned(l.active)
		}
	}
	return c
}
