package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/modelstore"
)

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
