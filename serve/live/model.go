package live

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Model is a model that is fit to decide. It is immutable.
type Model struct {
	ID       repository.ID // zero where it comes from no repository
	Name     string        // in messages and metrics
	Manifest *models.Manifest
	// One of them is set, by the kind.
	Policy     *neural.Policy
	Configurer *neural.Configurer

	Network *models.Model // as it was read
}

// Kind says what the model decides.
func (m *Model) Kind() models.Kind { return m.Manifest.Kind }

// Sha12 returns the first 12 digits of the hash of its weights.
func (m *Model) Sha12() string { return fmt.Sprintf("%.12s", m.Manifest.SHA256) }

// errPanic is wrapped by the error of a model that panicked while it was made
// ready.
var errPanic = errors.New("live: panic")

// Ready returns a model that is fit to decide from its files. Its error says why
// it is not: damaged, incompatible (models.ErrIncompatible), other scores than
// where it was trained (models.ErrGolden), scores that are not finite
// (neural.ErrNonFinite).
func Ready(id repository.ID, f models.Files) (*Model, error) {
	m, err := models.Decode(f)
	if err != nil {
		return nil, err
	}
	return Warm(id, m)
}

// Warm is Ready of a model that is decoded.
func Warm(id repository.ID, m *models.Model) (ready *Model, err error) {
	defer func() {
		if p := recover(); p != nil { // a fault of the network must not end the service
			ready, err = nil, fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	ready = &Model{ID: id, Manifest: &m.Manifest, Network: m}
	switch m.Manifest.Kind {
	case models.JobStrategy:
		ready.Policy, err = neural.NewPolicy(m)
	default:
		ready.Configurer, err = neural.NewConfigurer(m, heuristic.TiresiasConfigurations())
	}
	if err != nil {
		return nil, err
	}
	if m.Golden != nil {
		if err := m.Golden.Check(m.Params); err != nil {
			return nil, err
		}
	}
	if err := neural.Probe(m); err != nil {
		return nil, err
	}
	if id.IsZero() {
		ready.Name = fmt.Sprintf("%s@%s", m.Manifest.Kind, ready.Sha12())
	} else {
		ready.Name = fmt.Sprintf("%s@%s+%s", id.Name, id.Version, ready.Sha12())
	}
	return ready, nil
}

// readyWithin is Ready that gives up when ctx ends. A model that never comes to an
// end keeps a goroutine, and nothing else.
func readyWithin(ctx context.Context, id repository.ID, f models.Files) (*Model, error) {
	type result struct {
		m   *Model
		err error
	}
	out := make(chan result, 1)
	go func() {
		m, err := Ready(id, f)
		out <- result{m, err}
	}()
	select {
	case r := <-out:
		return r.m, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("live: %s is not warm in time: %w", id, ctx.Err())
	}
}
