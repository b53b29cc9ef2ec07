package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Source is where models come from. A repository in a folder is one, a bucket of
// JetStream another. Errors about what is not there wrap repository.ErrNotFound.
type Source interface {
	// Resolve returns the version of a model that policy asks for.
	Resolve(ctx context.Context, name, policy string) (repository.ID, error)
	// Fetch reads the files of a version.
	Fetch(ctx context.Context, id repository.ID) (models.Files, error)
	// List describes all versions.
	List(ctx context.Context) ([]repository.Entry, error)
}

// CachingSource is a Source that is told of every model that turned out fit to
// decide, to keep a copy of it.
type CachingSource interface {
	Source
	Keep(id repository.ID, f models.Files)
}

// Keeper remembers what is in use. A repository in a folder is one.
type Keeper interface {
	Active() (repository.Active, error)
	SetActive(repository.Active) error
}

// Slot is what is in use of one kind; nil is none.
type Slot struct{ Active, Previous, Candidate *Model }

// View is what is in use. It is a value: whoever has one sees no change.
type View struct{ JobStrategy, Configuration Slot }

// Slot returns the slot of a kind.
func (v *View) Slot(kind models.Kind) *Slot {
	if kind == models.Configuration {
		return &v.Configuration
	}
	return &v.JobStrategy
}

// Config configures a Set. Source and Publish must be given.
type Config struct {
	Source Source
	Keeper Keeper // nil remembers nothing
	// Publish puts a view in charge. Where it returns an error, the view before
	// stays. It is not called twice at once.
	Publish func(View) error
	// Timeout bounds one load: fetching, checking, warming up; 60 s.
	Timeout time.Duration
	Logger  *slog.Logger // nil discards
}

// Set is the models in use. It is safe for concurrent use.
type Set struct {
	cfg     Config
	loading chan struct{} // one load at a time: capacity 1

	mu     sync.Mutex
	view   View
	loads  map[string]int64 // by result
	failed string           // the error of the last load, "" where it went well
}

// Results of loads, as they are counted.
const (
	ResultOK           = "ok"
	ResultNotFound     = "not_found"
	ResultDamaged      = "damaged"
	ResultIncompatible = "incompatible"
	ResultGolden       = "golden"
	ResultNonFinite    = "nonfinite"
	ResultTimeout      = "timeout"
	ResultPanic        = "panic"
)

// Results returns all results.
func Results() []string {
	return []string{ResultOK, ResultNotFound, ResultDamaged, ResultIncompatible, ResultGolden, ResultNonFinite, ResultTimeout, ResultPanic}
}

// NewSet returns a set with nothing in use.
func NewSet(cfg Config) (*Set, error) {
	if cfg.Source == nil || cfg.Publish == nil {
		return nil, errors.New("live: config: Source or Publish is nil, want both")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Set{cfg: cfg, loading: make(chan struct{}, 1), loads: make(map[string]int64)}
	for _, result := range Results() {
		s.loads[result] = 0
	}
	return s, nil
}

// Source returns where models come from.
func (s *Set) Source() Source { return s.cfg.Source }

// View returns what is in use.
func (s *Set) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// ErrNoModel is wrapped by the error of a change that needs a model in a slot that
// is empty.
var ErrNoModel = errors.New("live: no such model is loaded")

// Load makes a version ready and puts it into the slot of its kind: as candidate,
// or with promote as the active one. Its error says why not; then nothing changed,
// unless it wraps ErrNotKept.
func (s *Set) Load(ctx context.Context, name, policy string, promote bool) (*Model, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	select {
	case s.loading <- struct{}{}:
		defer func() { <-s.loading }()
	case <-ctx.Done():
		return nil, fmt.Errorf("live: load %s: another load is in work: %w", name, ctx.Err())
	}
	m, err := s.fetch(ctx, name, policy)
	s.count(err)
	if err != nil {
		s.cfg.Logger.Warn("model not loaded", "model", name, "version", policy, "error", err)
		return nil, err
	}
	err = s.change(func(v *View) error {
		slot := v.Slot(m.Kind())
		if promote {
			slot.activate(m)
		} else {
			slot.Candidate = m
		}
		return nil
	})
	s.cfg.Logger.Info("model loaded", "model", m.Name, "kind", m.Kind(), "promoted", promote, "error", err)
	return m, err
}

// activate makes m the active model. The one that was active before is what a
// rollback returns to.
func (s *Slot) activate(m *Model) {
	if s.Candidate != nil && s.Candidate.ID == m.ID {
		s.Candidate = nil
	}
	if s.Active != nil && s.Active.Name == m.Name {
		s.Active = m // read again: there is nothing else to return to
		return
	}
	s.Previous, s.Active = s.Active, m
}

func (s *Set) fetch(ctx context.Context, name, policy string) (*Model, error) {
	id, err := s.cfg.Source.Resolve(ctx, name, policy)
	if err != nil {
		return nil, err
	}
	return s.fetchID(ctx, id)
}

func (s *Set) fetchID(ctx context.Context, id repository.ID) (*Model, error) {
	f, err := s.cfg.Source.Fetch(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := readyWithin(ctx, id, f)
	if err != nil {
		return nil, fmt.Errorf("live: load %s: %w", id, err)
	}
	if source, ok := s.cfg.Source.(CachingSource); ok {
		source.Keep(id, f)
	}
	return m, nil
}

// Promote puts the candidate of a kind in charge.
func (s *Set) Promote(kind models.Kind) (*Model, error) {
	var m *Model
	err := s.change(func(v *View) error {
		slot := v.Slot(kind)
		if m = slot.Candidate; m == nil {
			return fmt.Errorf("%w: there is no candidate of kind %s to promote", ErrNoModel, kind)
		}
		slot.activate(m)
		return nil
	})
	return m, err
}

// Rollback puts the model that was active before in charge again. Another rollback
// takes it back.
func (s *Set) Rollback(kind models.Kind) (*Model, error) { return s.RollbackFrom(kind, nil) }

// RollbackFrom is Rollback if bad is still the active model; nil is whichever.
func (s *Set) RollbackFrom(kind models.Kind, bad *Model) (*Model, error) {
	var m *Model
	err := s.change(func(v *View) error {
		slot := v.Slot(kind)
		if bad != nil && slot.Active != bad {
			return fmt.Errorf("%w: %s is not in charge any more", ErrNoModel, bad.Name)
		}
		if m = slot.Previous; m == nil {
			return fmt.Errorf("%w: there is no earlier model of kind %s to return to", ErrNoModel, kind)
		}
		slot.Active, slot.Previous = slot.Previous, slot.Active
		return nil
	})
	return m, err
}

// Discard takes the candidate of a kind out of use.
func (s *Set) Discard(kind models.Kind) error {
	return s.change(func(v *View) error {
		if v.Slot(kind).Candidate == nil {
			return fmt.Errorf("%w: there is no candidate of kind %s", ErrNoModel, kind)
		}
		v.Slot(kind).Candidate = nil
		return nil
	})
}

// change publishes an edited view and remembers it.
func (s *Set) change(edit func(*View) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.view
	if err := edit(&next); err != nil {
		return err
	}
	if err := s.cfg.Publish(next); err != nil {
		return fmt.Errorf("live: %w", err)
	}
	s.view = next
	if s.cfg.Keeper == nil {
		return nil
	}
	if err := s.cfg.Keeper.SetActive(next.kept()); err != nil {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return nil
}

// kept is v as it is remembered.
func (v *View) kept() repository.Active {
	id := func(m *Model) repository.ID {
		if m == nil {
			return repository.ID{}
		}
		return m.ID
	}
	slot := func(s Slot) repository.Slot {
		return repository.Slot{Active: id(s.Active), Previous: id(s.Previous), Candidate: id(s.Candidate)}
	}
	return repository.Active{JobStrategy: slot(v.JobStrategy), Configuration: slot(v.Configuration)}
}

// Restore loads what was in use when the process before ended. What cannot be
// loaded is left out: where it was active, the previous one takes its place, else
// none. The error tells all of it; the set is usable.
func (s *Set) Restore(ctx context.Context) error {
	if s.cfg.Keeper == nil {
		return nil
	}
	kept, err := s.cfg.Keeper.Active()
	if err != nil {
		s.count(err)
		return err
	}
	var errs []error
	load := func(id repository.ID) *Model {
		if id.IsZero() {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		defer cancel()
		m, err := s.fetchID(bounded, id)
		s.count(err)
		if err != nil {
			errs = append(errs, err)
		}
		return m
	}
	var next View
	for _, kind := range []models.Kind{models.JobStrategy, models.Configuration} {
		ids, slot := kept.Slot(kind), next.Slot(kind)
		*slot = Slot{load(ids.Active), load(ids.Previous), load(ids.Candidate)}
		if slot.Active == nil {
			slot.Active, slot.Previous = slot.Previous, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.cfg.Publish(next); err != nil {
		return errors.Join(append(errs, fmt.Errorf("live: %w", err))...)
	}
	s.view = next // what is kept stays: a file that comes back is found again
	return errors.Join(errs...)
}
