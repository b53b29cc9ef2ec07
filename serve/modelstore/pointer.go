package modelstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Keys of the pointers, by the kind of model.
const (
	keyActive        = "active"
	keyConfiguration = "active.configuration"
)

func keyOf(kind models.Kind) string {
	if kind == models.Configuration {
		return keyConfiguration
	}
	return keyActive
}

// Pointer says which version is in charge.
type Pointer struct {
	Model  repository.ID `json:"model"`
	SHA256 string        `json:"sha256"` // of the object, 12 hex digits or all 64
}

// ErrNoPointer is wrapped by the error about a pointer that was never set.
var ErrNoPointer = errors.New("modelstore: no model is in charge")

// ErrMoved is wrapped by the error of a change of a pointer that somebody else
// changed meanwhile.
var ErrMoved = errors.New("modelstore: pointer was changed by somebody else")

func decodePointer(raw []byte) (Pointer, error) {
	var p Pointer
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return p, fmt.Errorf("modelstore: pointer is %.128q: %w", raw, err)
	}
	if _, err := parseObject(p.Model.String() + "+" + p.SHA256[:min(12, len(p.SHA256))]); err != nil {
		return p, fmt.Errorf("modelstore: pointer is %.128q: %w", raw, err)
	}
	return p, nil
}

func (b *Bucket) pointers(ctx context.Context, create bool) (jetstream.KeyValue, error) {
	kv, err := b.cfg.JetStream.KeyValue(ctx, b.cfg.Pointers)
	if create && errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = b.cfg.JetStream.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: b.cfg.Pointers, Description: "which models of Yardmaster are in charge", History: 16, Replicas: b.cfg.Replicas,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("modelstore: key-value bucket %s: %w", b.cfg.Pointers, err)
	}
	return kv, nil
}

// Pointer reads which version of a kind is in charge, and the revision that Point
// wants.
func (b *Bucket) Pointer(ctx context.Context, kind models.Kind) (Pointer, uint64, error) {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	kv, err := b.pointers(ctx, false)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return Pointer{}, 0, fmt.Errorf("%w: %w", ErrNoPointer, err)
	}
	if err != nil {
		return Pointer{}, 0, err
	}
	e, err := kv.Get(ctx, keyOf(kind))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return Pointer{}, 0, ErrNoPointer
	}
	if err != nil {
		return Pointer{}, 0, fmt.Errorf("modelstore: pointer: %w", err)
	}
	p, err := decodePointer(e.Value())
	return p, e.Revision(), err
}

// Point puts a version of a kind in charge, unless the pointer is not at this
// revision any more; 0 is that there is none.
func (b *Bucket) Point(ctx context.Context, kind models.Kind, id repository.ID, revision uint64) error {
	b.mu.Lock()
	sha12 := b.known[id]
	b.mu.Unlock()
	if sha12 == "" {
		if _, err := b.Resolve(ctx, id.Name, id.Version.String()); err != nil {
			return err
		}
		return b.Point(ctx, kind, id, revision)
	}
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	kv, err := b.pointers(ctx, true)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(Pointer{id, sha12})
	if err != nil {
		return fmt.Errorf("modelstore: pointer: %w", err)
	}
	if revision == 0 {
		_, err = kv.Create(ctx, keyOf(kind), raw)
	} else {
		_, err = kv.Update(ctx, keyOf(kind), raw, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return fmt.Errorf("%w: %w", ErrMoved, err)
	}
	if err != nil {
		return fmt.Errorf("modelstore: pointer: %w", err)
	}
	return nil
}

// retry is how long Watch waits before it tries again.
const retry = 2 * time.Second

// Watch calls follow with every pointer that is there, and with every change, until
// ctx ends. A pointer that cannot be read is logged and passed over. It outlives
// brokers that go and buckets that are not there yet.
func (b *Bucket) Watch(ctx context.Context, follow func(models.Kind, Pointer)) {
	told := make(map[string]mark) // by key
	for said := false; ctx.Err() == nil; {
		err := b.watch(ctx, told, follow)
		if err != nil && ctx.Err() == nil && !said {
			b.cfg.Logger.Warn("pointers to models are not watched", "bucket", b.cfg.Pointers, "error", err)
		}
		said = err != nil // once: it is tried every two seconds
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// mark tells one state of a key from all others: a bucket that was made anew counts its
// revisions from 1 again.
type mark struct {
	revision uint64
	created  int64 // Unix nanoseconds
}

// watch returns when the connection is lost: the watch of NATS goes on behind the last
// change it saw, and a bucket that was made anew meanwhile begins before that.
func (b *Bucket) watch(ctx context.Context, told map[string]mark, follow func(models.Kind, Pointer)) error {
	nc := b.cfg.JetStream.Conn()
	lost := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer nc.RemoveStatusListener(lost)
	bounded, cancel := b.bounded(ctx)
	kv, err := b.pointers(bounded, false)
	cancel()
	if err != nil {
		return err
	}
	w, err := kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return fmt.Errorf("modelstore: watch %s: %w", b.cfg.Pointers, err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-lost:
			return nil
		case e, ok := <-w.Updates():
			if !ok {
				return errors.New("modelstore: the watch ended")
			}
			if e == nil {
				continue // all that was there is told
			}
			if m := (mark{e.Revision(), e.Created().UnixNano()}); told[e.Key()] != m {
				told[e.Key()] = m
				b.tell(e, follow)
			}
		}
	}
}

func (b *Bucket) tell(e jetstream.KeyValueEntry, follow func(models.Kind, Pointer)) {
	kind := models.JobStrategy
	switch e.Key() {
	case keyActive:
	case keyConfiguration:
		kind = models.Configuration
	default:
		return
	}
	p, err := decodePointer(e.Value())
	if err != nil {
		b.cfg.Logger.Warn("pointer to a model passed over", "key", e.Key(), "error", err)
		return
	}
	b.expect(p.Model, short(p.SHA256))
	follow(kind, p)
}
