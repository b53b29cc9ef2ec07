package guard

import (
	"sync"
)

// track is what is remembered of one cluster.
type track struct {
	key trackKey

	mu         sync.Mutex
	novelty    float64 // of the last decision, negative where unknown
	unfamiliar hysteresis
	configurer hysteresis // the same for configurations
	breaker    breaker
	regret     ledger
	leases     []lease
	comparing  bool // a comparison is in work
}

// newTrack returns the track of a cluster of which nothing is known.
func newTrack(key trackKey) *track { return &track{key: key, novelty: -1} }

// plan is how a decision is begun.
type plan struct {
	ask   bool // the policy is asked
	doubt bool // the linear program starts at once beside it: its answer is likely to be needed
}

// begin plans a decision by the policy of this name.
func (t *track) begin(cfg *Config) plan {
	t.mu.Lock()
	defer t.mu.Unlock()
	ask, probe := true, false
	if !cfg.Breaker.Off {
		ask, probe = t.breaker.next(&cfg.Breaker, cfg.ModelName)
	}
	doubt := probe || !cfg.Unfamiliar.Off && t.unfamiliar.active || !cfg.Regret.Off && t.regret.active
	return plan{ask, doubt}
}

// answered notes that the policy answered, or failed, and reports whether the
// breaker opened or closed by that.
func (t *track) answered(cfg *Config, failed bool) (changed, open bool) {
	if cfg.Breaker.Off {
		return false, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.breaker.record(&cfg.Breaker, failed), t.breaker.open
}

// unlike notes how novel the state is and reports whether the policy must not
// decide for that, and whether this has changed.
func (t *track) unlike(cfg *Config, novelty float64) (active, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.novelty = novelty
	if cfg.Unfamiliar.Off || novelty < 0 { // nothing is known: nothing changes
		return !cfg.Unfamiliar.Off && t.unfamiliar.active, false
	}
	changed = t.unfamiliar.add(&cfg.Unfamiliar, novelty)
	return t.unfamiliar.active, changed
}

// unlikeConfigured is unlike for configurations.
func (t *track) unlikeConfigured(cfg *Config, novelty float64) (active, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cfg.Unfamiliar.Off || novelty < 0 {
		return !cfg.Unfamiliar.Off && t.configurer.active, false
	}
	changed = t.configurer.add(&cfg.Unfamiliar, novelty)
	return t.configurer.active, changed
}

// overBudget reports whether the policy's regret is over its budget.
func (t *track) overBudget(cfg *Config) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !cfg.Regret.Off && t.regret.active
}

// due reports whether this decision is to be compared, and claims that: there is
// one comparison of a cluster at a time. While the guard rests none is, and the turn
// is not lost.
func (t *track) due(cfg *Config, rests bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.regret.since++
	if rests || t.comparing || t.regret.since < cfg.Regret.Every && !t.regret.active {
		return false
	}
	t.regret.since, t.comparing = 0, true
	return true
}

// compared notes a regret, or with ok false that there is none, and reports the
// mean and whether the budget was crossed, in one direction or the other.
func (t *track) compared(cfg *Config, regret float64, ok bool) (mean float64, active, changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.comparing = false
	if ok {
		changed = t.regret.add(&cfg.Regret, regret)
	}
	return t.regret.mean(), t.regret.active, changed
}

func (t *track) status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Status{
		Cluster: t.key.cluster, Novelty: t.novelty, Unfamiliar: t.unfamiliar.active,
		Regret: t.regret.mean(), Compared: len(t.regret.values), OverBudget: t.regret.active,
		BreakerOpen: t.breaker.open, Helped: len(t.leases),
	}
}
