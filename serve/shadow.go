package serve

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Bounds of what waits to be looked at. Beyond them decisions are not looked at.
const (
	shadowQueue      = 64
	shadowCandidates = 1 << 20 // of all states that wait: some 200 MB
)

// shadow asks a learned policy beside decisions that others made, one at a time and
// after they are gone, and logs both.
type shadow struct {
	roster *roster
	queue  chan glance
	queued atomic.Int64 // candidates
	done   sync.WaitGroup

	closing sync.RWMutex // held to close the queue, read to send
	closed  bool

	mu    sync.Mutex
	stats ShadowStats
}

// ShadowStats counts what was seen in mode shadow.
type ShadowStats struct {
	Compared int64 `json:"compared"` // decisions with an answer of the learned policy beside them
	Agreed   int64 `json:"agreed"`   // of those, the ones where both allocations were the same
	Failed   int64 `json:"failed"`   // decisions on which the learned policy failed
	Dropped  int64 `json:"dropped"`  // decisions that were not looked at: too many waited
	// RegretSum is that of all regrets; divided by Valued it is the mean.
	RegretSum float64 `json:"regret_sum"`
	Valued    int64   `json:"valued"` // compared decisions whose regret is known
}

// glance is one decision to be looked at.
type glance struct {
	state   *wire.State
	message *wire.Allocation
	looker  guard.Decider
	name    string
	setting live.Setting
	at      time.Time
	weight  int64
}

func newShadow(r *roster) *shadow {
	return &shadow{roster: r, queue: make(chan glance, shadowQueue)}
}

func (w *shadow) start() { w.done.Go(w.run) }

// close ends it. What waits is not looked at any more.
func (w *shadow) close() {
	w.closing.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.closing.Unlock()
	w.done.Wait()
}

// offer notes a decision to be looked at. It never waits.
func (w *shadow) offer(s *wire.State, m *wire.Allocation, l *lineup, setting live.Setting) {
	g := glance{state: s, message: m, looker: l.looker, name: l.lookerName, setting: setting, at: time.Now(), weight: 1}
	for i := range s.State.Jobs {
		g.weight += int64(len(s.State.Jobs[i].Strategies))
	}
	w.closing.RLock()
	defer w.closing.RUnlock()
	// A state that is larger than the bound is looked at where nothing else waits.
	if n := w.queued.Add(g.weight); !w.closed && (n <= shadowCandidates || n == g.weight) {
		select {
		case w.queue <- g:
			return
		default:
		}
	}
	w.queued.Add(-g.weight)
	w.count(func(s *ShadowStats) { s.Dropped++ })
}

func (w *shadow) run() {
	for g := range w.queue {
		if w.roster.ctx.Err() == nil {
			w.look(g)
		}
		w.queued.Add(-g.weight)
	}
}

func (w *shadow) count(f func(*ShadowStats)) {
	w.mu.Lock()
	f(&w.stats)
	w.mu.Unlock()
}

func (w *shadow) snapshot() ShadowStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// look asks the learned policy, and the linear program where it did not make the
// decision, and compares them by the program's objective.
func (w *shadow) look(g glance) {
	s := &g.state.State
	row := &decisionlog.Row{
		Decided: g.at, Cluster: g.state.Cluster, Epoch: g.state.Epoch, StateSeq: g.state.Seq, State: s,
		Mode: string(g.setting.Mode), Source: string(g.message.Source), Reason: string(g.message.Reason), Model: g.name,
		Published: g.message.Allocation(s),
	}
	began := time.Now()
	var err error
	row.Learned, err = w.ask(g.looker, s)
	row.Latency = time.Since(began)
	if err != nil {
		text := err.Error()
		row.Learned, row.Failure = nil, strings.ToValidUTF8(text[:min(len(text), maxFailure)], "")
	}
	if row.Program = row.Published; g.message.Source != wire.SourceLP {
		if row.Program, err = w.ask(w.roster.cfg.Guard.Fallback, s); err != nil {
			row.Program = nil
		}
	}
	value(w.roster.cfg.Guard.Fallback, row)
	w.note(row)
	w.roster.log.Load().Add(row)
}

// maxFailure bounds the text of a failure in a log.
const maxFailure = 200

func (w *shadow) note(row *decisionlog.Row) {
	w.count(func(s *ShadowStats) {
		if row.Learned == nil {
			s.Failed++
			return
		}
		s.Compared++
		if same(row.Learned, row.Published) {
			s.Agreed++
		}
		if row.ProgramValue != 0 {
			s.Valued++
			s.RegretSum += row.Regret
		}
	})
}

func same(a, b env.Allocation) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// ask asks a policy within the bound. Its answer is valid.
func (w *shadow) ask(d guard.Decider, s *env.State) (a env.Allocation, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.roster.logger.Error("policy panicked in shadow", "panic", p, "stack", string(debug.Stack()))
			a, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(w.roster.ctx, w.roster.cfg.Models.ShadowTimeout)
	defer cancel()
	if a, err = d.Decide(ctx, s); err != nil {
		return nil, err
	}
	if err := a.Validate(s); err != nil {
		return nil, fmt.Errorf("invalid: %w", err)
	}
	return a, nil
}

// valuer tells what allocations are worth; the linear program does.
type valuer interface {
	Values(s *env.State, allocations ...env.Allocation) []float64
}

// value fills in what the allocations of a row are worth by the linear program's
// objective, and the regret. A program without an objective gives zeros.
func value(program guard.Decider, row *decisionlog.Row) {
	v, ok := program.(valuer)
	if !ok {
		return
	}
	idle := env.NewAllocation(len(row.State.Jobs))
	or := func(a env.Allocation) env.Allocation {
		if a == nil {
			return idle
		}
		return a
	}
	values := v.Values(row.State, or(row.Published), or(row.Learned), or(row.Program))
	for _, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return
		}
	}
	row.PublishedValue = values[0]
	if row.Learned != nil {
		row.LearnedValue = values[1]
	}
	if row.Program != nil {
		row.ProgramValue = values[2]
	}
	if row.Learned != nil && row.ProgramValue > 0 {
		row.Regret = min(1, max(-1, (row.ProgramValue-row.LearnedValue)/row.ProgramValue))
	}
}
