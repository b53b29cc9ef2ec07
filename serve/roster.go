package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/modelstore"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// roster is who decides: the guards of the models in use, the modes of clusters,
// and what looks on in shadow. A decision takes what it needs from one atomic load,
// so it belongs to one model from beginning to end, whatever is swapped meanwhile.
// It is safe for concurrent use.
type roster struct {
	cfg    *Config
	logger *slog.Logger
	told   func(*wire.Event)

	modes    *live.Modes
	current  atomic.Pointer[lineup]
	guards   atomic.Pointer[guard.Config] // what guards are made of: cfg.Guard until it is retuned
	changing sync.Mutex                   // of current and guards
	shadow   *shadow
	log      atomic.Pointer[decisionlog.Log] // nil without one

	// Of a repository or bucket; nil and "" where the policies are Guard's.
	set    *live.Set
	bucket *modelstore.Bucket
	source string

	following sync.Mutex // one pointer at a time: the last one told wins

	mu     sync.Mutex
	wanted map[models.Kind]modelstore.Pointer // pointers whose model could not be loaded yet

	blamed    atomic.Int64               // decisions in a row that the guard took from the active model
	taken     atomic.Pointer[live.Model] // the last one that the service took out of charge by itself
	rollbacks atomic.Int64               // made by the service itself
	swaps     atomic.Int64               // of the active policy

	ctx     context.Context // ends with the service
	stop    context.CancelFunc
	waiting sync.WaitGroup // retired guards, the watch of pointers, rollbacks
}

// newRoster returns a roster that decides with the policies of cfg.Guard, or by the
// linear program until open has found models.
func newRoster(cfg *Config) (*roster, error) {
	r := &roster{cfg: cfg, logger: cfg.Logger, told: func(*wire.Event) {}}
	r.connectGuard(&cfg.Guard)
	r.guards.Store(&cfg.Guard)
	r.ctx, r.stop = context.WithCancel(context.Background())
	var err error
	if r.modes, err = live.NewModes("", cfg.Models.Mode); err != nil {
		return nil, err
	}
	var first *lineup
	if cfg.Models.managed() {
		first, err = r.assemble(live.View{})
	} else {
		first, err = r.fixed()
	}
	if err != nil {
		return nil, err
	}
	first.begin()
	r.current.Store(first)
	r.shadow = newShadow(r)
	return r, nil
}

// connectGuard makes guards share what they know of clusters, also with those that
// follow after a swap, and tell what they compared.
func (r *roster) connectGuard(cfg *guard.Config) {
	if cfg.Memory == nil {
		cfg.Memory = guard.NewMemory(r.cfg.MaxClusters)
	}
	next := cfg.OnComparison
	cfg.OnComparison = func(c guard.Comparison) {
		r.logComparison(&c)
		if next != nil {
			next(c)
		}
	}
	hear := cfg.OnEvent
	cfg.OnEvent = func(e *wire.Event) {
		r.told(e)
		if hear != nil {
			hear(e)
		}
	}
}

// logComparison logs a decision that the guard compared with the linear program's.
func (r *roster) logComparison(c *guard.Comparison) {
	log := r.log.Load()
	if log == nil {
		return
	}
	row := &decisionlog.Row{
		Decided: time.Now(), Cluster: c.State.Cluster, Epoch: c.State.Epoch, StateSeq: c.State.Seq, State: &c.State.State,
		Mode: string(r.modes.Get().Of(c.State.Cluster).Mode), Source: string(c.Published), Model: c.Model,
		Published: c.Policy, Learned: c.Policy, Program: c.LP, PublishedValue: c.PolicyIs, LearnedValue: c.PolicyIs, ProgramValue: c.LPIs, Regret: c.Regret,
	}
	switch c.Published {
	case wire.SourcePolicy:
	case wire.SourceLP:
		row.Published, row.PublishedValue = c.LP, c.LPIs
	default:
		return // what was published is not known here
	}
	log.Add(row)
}

// managed reports whether models come from a repository or bucket.
func (m *Models) managed() bool { return m.Root != "" || m.Bucket != "" }

// publish puts a view in charge. Decisions in the making are finished by the guards
// they began with, which are waited for at the end of the service.
func (r *roster) publish(v live.View) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	next, err := r.assemble(v)
	if err != nil {
		return err
	}
	r.swap(next)
	return nil
}

// swap puts a lineup in charge. The caller holds changing.
func (r *roster) swap(next *lineup) {
	next.begin()
	before := r.current.Swap(next)
	if before.view.JobStrategy.Active != next.view.JobStrategy.Active {
		r.blamed.Store(0)
		r.swaps.Add(1)
	}
	before.leave()
	r.waiting.Go(func() { before.end(r.ctx) })
}

// refuses returns the refusal for a cluster that is switched off, or nil.
func (r *roster) refuses(cluster string) *wire.Error {
	if r.modes.Get().Of(cluster).Mode != live.Off {
		return nil
	}
	return wire.Errorf(wire.CodeUnavailable, "cluster", "decisions for cluster %q are switched off", cluster)
}

// Decide answers a state by who is in charge of its cluster.
func (r *roster) Decide(ctx context.Context, s *wire.State) guard.Decision {
	l := r.enter()
	defer l.leave()
	c := l.choose(r.modes.Get().Of(s.Cluster), s.Cluster)
	d := c.guard.Decide(ctx, s)
	if c.reason == wire.ReasonMode {
		// That no model was asked is no failure here.
		if len(d.Failures) > 0 && d.Failures[0].Reason == wire.ReasonNoModel {
			d.Failures = d.Failures[1:]
		}
		if d.Message.Reason == wire.ReasonNoModel {
			d.Message.Reason = wire.ReasonMode
		}
	}
	if guard.IsRequested(ctx) { // anyone may ask: that takes no model out of charge and is no decision to learn from
		return d
	}
	if c.blame {
		r.watchOver(l, d.Message)
	}
	if c.shadow {
		r.shadow.offer(s, d.Message, l, c.setting)
	}
	return d
}

// Configure asks the configurer in charge, whose name it returns.
func (r *roster) Configure(ctx context.Context, s *wire.State) (c env.Configuration, model string, reason wire.Reason, err error) {
	l := r.enter()
	defer l.leave()
	c, reason, err = l.plain.Configure(ctx, s)
	return c, l.plain.ConfigurerName(), reason, err
}

// Configures reports whether there is a configurer.
func (r *roster) Configures() bool { return r.current.Load().plain.Configures() }

// watchOver counts the decisions in a row that the guard took from the active model
// because of what it is worth or because it fails, and returns to the previous model
// when there are too many.
func (r *roster) watchOver(l *lineup, m *wire.Allocation) {
	switch m.Reason {
	case wire.ReasonRegret, wire.ReasonBreaker:
	case wire.ReasonNone:
		if r.blamed.Load() != 0 {
			r.blamed.Store(0)
		}
		return
	default:
		return
	}
	previous := l.view.JobStrategy.Previous
	if r.set == nil || r.cfg.Models.RollbackAfter < 0 || previous == nil || previous == r.taken.Load() { // never back and forth
		return
	}
	if r.blamed.Add(1) != int64(r.cfg.Models.RollbackAfter) {
		return
	}
	r.waiting.Go(func() { r.rollBackFrom(l, m.Reason) })
}

// rollBackFrom takes the active model of l out of charge, unless somebody did.
func (r *roster) rollBackFrom(l *lineup, reason wire.Reason) {
	bad := l.view.JobStrategy.Active
	m, err := r.set.RollbackFrom(models.JobStrategy, bad)
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		r.logger.Error("model not taken back", "model", bad.Name, "reason", string(reason), "error", err)
		return
	}
	r.taken.Store(bad)
	r.rollbacks.Add(1)
	r.announce(m, fmt.Sprintf("%s is in charge again instead of %s, whose last %d decisions the guard had to replace (%s)", m.Name, bad.Name, r.cfg.Models.RollbackAfter, reason))
	if err := r.point(models.JobStrategy, m); err != nil {
		r.logger.Warn("other services were not told which model is in charge", "model", m.Name, "error", err)
	}
}

// announce logs and tells observers what became of a model; m may be nil.
func (r *roster) announce(m *live.Model, text string) {
	e := wire.NewEvent(wire.EventModel, "", text)
	if m != nil {
		e.Model = m.Name
	}
	r.logger.Info("models: "+text, "model", e.Model)
	r.told(e)
}

// Wait returns once no call of a policy in charge is in flight, or with ctx's error.
func (r *roster) Wait(ctx context.Context) error {
	var errs []error
	for _, g := range r.current.Load().guards() {
		errs = append(errs, g.Wait(ctx))
	}
	return errors.Join(errs...)
}

// close ends what runs beside decisions. It is safe to call twice.
func (r *roster) close() {
	r.stop()
	r.waiting.Wait()
	r.shadow.close()
	r.log.Load().Close()
}
