package guard

import "math/bits"

// history is the last decisions as bits, the newest lowest: whether something was
// the case.
type history uint64

func (h *history) add(was bool) {
	*h <<= 1
	if was {
		*h |= 1
	}
}

// count returns in how many of the last n it was.
func (h history) count(n int) int {
	if n < maxWindow {
		h &= 1<<n - 1
	}
	return bits.OnesCount64(uint64(h))
}

// hysteresis turns scores into a state that does not flutter.
type hysteresis struct {
	active bool
	above  history
	calm   int // scores in a row below the lower limit
}

// add takes a score and reports whether the state changed.
func (h *hysteresis) add(u *Unfamiliar, score float64) (changed bool) {
	h.above.add(!(score <= 1)) // what is no number is not familiar
	if !h.active {
		h.active = h.above.count(u.Window) >= u.Enter
		h.calm = 0
		return h.active
	}
	h.calm++
	if !(score < u.Leave) {
		h.calm = 0
	}
	if h.calm < u.Calm {
		return false
	}
	*h = hysteresis{}
	return true
}

// breaker keeps a policy that fails from being asked.
type breaker struct {
	open   bool
	failed history
	model  string // whose failures these are
	wait   int    // decisions until the next trial
	pause  int    // decisions between trials, doubled by each that fails
}

// maxPauses bounds the time between two trials, in pauses.
const maxPauses = 16

// next reports whether the policy of this name is asked for the coming decision,
// and whether that is a trial.
func (b *breaker) next(cfg *Breaker, model string) (ask, trial bool) {
	if b.model != model { // another one: it gets its chance, and only one if the last had none
		b.model, b.failed, b.wait, b.pause = model, 0, 0, cfg.Pause
	}
	if !b.open {
		return true, false
	}
	if b.wait > 0 {
		b.wait--
		return false, false
	}
	b.wait = b.pause // while the trial runs, others are not asked
	return true, true
}

// record takes how the policy did and reports whether the breaker opened or closed.
func (b *breaker) record(cfg *Breaker, failed bool) (changed bool) {
	b.failed.add(failed)
	if b.open {
		if failed {
			b.pause = min(2*b.pause, maxPauses*cfg.Pause)
			b.wait = b.pause
			return false
		}
		b.open, b.failed = false, 0
		return true
	}
	if b.failed.count(cfg.Window) < cfg.Failures {
		return false
	}
	b.open, b.pause, b.wait = true, cfg.Pause, cfg.Pause
	return true
}

// ledger is the budget of regret.
type ledger struct {
	active bool
	values []float64 // of the last comparisons, oldest first
	since  int       // decisions since the last one
}

// add takes a regret and reports whether the budget was crossed. It is not judged
// before its window is full.
func (l *ledger) add(cfg *Regret, regret float64) (changed bool) {
	if len(l.values) >= cfg.Window {
		l.values = append(l.values[:0], l.values[len(l.values)-cfg.Window+1:]...)
	}
	l.values = append(l.values, regret)
	was, mean := l.active, l.mean()
	switch {
	case was:
		l.active = mean >= cfg.Leave*cfg.Budget
	case len(l.values) >= cfg.Window:
		l.active = mean > cfg.Budget
	}
	return l.active != was
}

func (l *ledger) mean() float64 {
	sum := 0.0
	for _, v := range l.values {
		sum += v
	}
	return sum / float64(max(1, len(l.values)))
}

// lease is the help for a job that starved.
type lease struct {
	job  int64
	left int // decisions for which it is kept running
}
