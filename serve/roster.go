package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
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

// open finds the models and modes of the process before. What cannot be found or
// read leaves the linear program in charge and is told: the service starts.
func (r *roster) open(ctx context.Context, nc *nats.Conn) error {
	cfg := &r.cfg.Models
	if err := r.openSource(ctx, nc); err != nil {
		return err
	}
	if cfg.Modes != "" {
		if err := os.MkdirAll(cfg.Modes, 0o755); err != nil {
			r.logger.Warn("modes of clusters will not be kept", "folder", cfg.Modes, "error", err)
		}
		modes, err := live.NewModes(cfg.Modes, cfg.Mode)
		if err != nil {
			r.logger.Error("modes of clusters are the configured ones: what was kept cannot be read", "error", err)
		}
		r.modes = modes
	}
	if cfg.Log.Create != nil {
		log := cfg.Log
		if log.Logger == nil {
			log.Logger = r.logger
		}
		opened, err := decisionlog.Open(log)
		if err != nil {
			return err
		}
		r.log.Store(opened)
	}
	r.shadow.start()
	return nil
}

// openSource opens the repository or bucket and puts in charge what was, or what
// the configuration names.
func (r *roster) openSource(ctx context.Context, nc *nats.Conn) error {
	cfg := &r.cfg.Models
	if !cfg.managed() {
		return nil
	}
	root := cfg.Root
	if root == "" {
		root = cfg.Cache
	}
	repo, err := repository.Create(root)
	if err != nil {
		return err
	}
	var source live.Source = live.Folder{Repository: repo}
	r.source = "folder " + root
	if cfg.Bucket != "" {
		js, err := jetstream.New(nc)
		if err != nil {
			return fmt.Errorf("serve: jetstream: %w", err)
		}
		if r.bucket, err = modelstore.New(modelstore.Config{JetStream: js, Bucket: cfg.Bucket, Cache: repo, Timeout: cfg.FetchTimeout, Logger: r.logger}); err != nil {
			return err
		}
		source, r.source = r.bucket, "bucket "+cfg.Bucket
	}
	r.set, err = live.NewSet(live.Config{Source: source, Keeper: repo, Publish: r.publish, Timeout: cfg.LoadTimeout, Logger: r.logger})
	if err != nil {
		return err
	}
	if err := r.set.Restore(ctx); err != nil {
		r.logger.Error("models of the process before are not all here", "error", err)
	}
	if cfg.Name != "" && r.set.View().JobStrategy.Active == nil {
		if _, err := r.set.Load(ctx, cfg.Name, cfg.Version, true); err != nil {
			r.logger.Error("the linear program decides: the model cannot be loaded", "model", cfg.Name, "version", cfg.Version, "error", err)
		}
	}
	if r.bucket != nil {
		r.waiting.Go(func() { r.bucket.Watch(r.ctx, r.follow) })
		r.waiting.Go(r.persist)
	}
	return nil
}

// follow loads what a pointer in the bucket names.
func (r *roster) follow(kind models.Kind, p modelstore.Pointer) {
	r.following.Lock()
	defer r.following.Unlock()
	r.obey(kind, p)
}

func (r *roster) obey(kind models.Kind, p modelstore.Pointer) {
	r.want(kind, nil)
	v := r.set.View()
	slot := v.Slot(kind)
	if slot.Active != nil && slot.Active.ID == p.Model {
		return // it was this service that moved the pointer, or nothing is new
	}
	m, err := r.set.Load(r.ctx, p.Model.Name, p.Model.Version.String(), true)
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		r.want(kind, &p)
		r.announce(nil, fmt.Sprintf("%s is to be in charge and cannot be loaded: %v", p.Model, err))
		return
	}
	r.announce(m, m.Name+" is in charge, as the pointer says")
}

// want notes that a pointer is to be followed again later; nil that none is.
func (r *roster) want(kind models.Kind, p *modelstore.Pointer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p == nil {
		delete(r.wanted, kind)
		return
	}
	if r.wanted == nil {
		r.wanted = make(map[models.Kind]modelstore.Pointer)
	}
	r.wanted[kind] = *p
}

// persist follows pointers again whose models could not be loaded: what was wrong
// with the bucket may be over.
func (r *roster) persist() {
	again := time.NewTicker(3 * r.cfg.Models.FetchTimeout)
	defer again.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-again.C:
		}
		for _, kind := range []models.Kind{models.JobStrategy, models.Configuration} {
			r.retry(kind)
		}
	}
}

// retry follows the pointer of a kind again, if it is still where it was.
func (r *roster) retry(kind models.Kind) {
	r.following.Lock()
	defer r.following.Unlock()
	r.mu.Lock()
	p, ok := r.wanted[kind]
	r.mu.Unlock()
	if !ok {
		return
	}
	if now, _, err := r.bucket.Pointer(r.ctx, kind); err == nil && now.Model == p.Model { // else the watch tells
		r.obey(kind, p)
	}
}

// point moves the pointer in the bucket to a model that is in charge here. Its
// error says that other services were not told.
func (r *roster) point(kind models.Kind, m *live.Model) error {
	if r.bucket == nil {
		return nil
	}
	r.want(kind, nil) // whoever changes what is in charge here wants nothing else
	ctx, cancel := context.WithTimeout(r.ctx, 10*time.Second)
	defer cancel()
	p, revision, err := r.bucket.Pointer(ctx, kind)
	switch {
	case err == nil && p.Model == m.ID:
		return nil // another service was quicker
	case err != nil && !errors.Is(err, modelstore.ErrNoPointer):
		return err
	}
	err = r.bucket.Point(ctx, kind, m.ID, revision)
	if errors.Is(err, modelstore.ErrMoved) { // at once with another: is it where it should be?
		if p, _, again := r.bucket.Pointer(ctx, kind); again == nil && p.Model == m.ID {
			return nil
		}
	}
	return err
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
