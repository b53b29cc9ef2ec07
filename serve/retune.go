package serve

import (
	"errors"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
)

// Retune changes how decisions are guarded while the service runs: the deadline
// and its parts, the rails and, where models come from no repository, the policy
// and the configurer. Decisions in the making keep what they began with; what is
// known of clusters is kept. Fallback, Greedy, MaxInFlight and what is told to
// whom stay as they were. After an error nothing has changed.
func (s *Server) Retune(to guard.Config) error { return s.handler.guard.retune(to) }

// SetMode changes the mode of the clusters that have none of their own.
func (s *Server) SetMode(to live.Setting) error {
	if err := s.handler.guard.modes.SetDefault(to); err != nil && !errors.Is(err, live.ErrNotKept) {
		return err
	}
	return nil
}

func (r *roster) retune(to guard.Config) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	before := r.guards.Load()
	next := *before
	next.Deadline, next.Hedge, next.Reserve, next.PolicyDelay = to.Deadline, to.Hedge, to.Reserve, to.PolicyDelay
	next.Unfamiliar, next.Starvation, next.Regret, next.Breaker = to.Unfamiliar, to.Starvation, to.Regret, to.Breaker
	next.Configurer, next.ConfigurerName = to.Configurer, to.ConfigurerName
	managed := r.cfg.Models.managed()
	if !managed {
		next.Policy, next.ModelName = to.Policy, to.ModelName
	}
	r.guards.Store(&next)
	var l *lineup
	var err error
	if managed {
		l, err = r.assemble(r.current.Load().view)
	} else {
		l, err = r.fixed()
	}
	if err != nil {
		r.guards.Store(before)
		return err
	}
	if next.ModelName != before.ModelName {
		r.swaps.Add(1)
	}
	r.swap(l)
	return nil
}
