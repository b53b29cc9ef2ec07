package modelstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
)

// ErrCorrupt is wrapped by the error about an object whose bytes are not what its
// name says, or never came.
var ErrCorrupt = errors.New("modelstore: object is corrupt or cannot be read")

// DefaultPointers is the key-value bucket of the pointers.
const DefaultPointers = "YM_MODEL"

// Config configures a Bucket. JetStream and Bucket must be given; the zero value of
// every other field is its default.
type Config struct {
	JetStream jetstream.JetStream
	Bucket    string // object store with the models
	Pointers  string // key-value bucket with the pointers; DefaultPointers
	// Cache keeps a copy of models that were fit to decide; nil keeps none.
	Cache    *repository.Repository
	Timeout  time.Duration // of one request to the broker, and of the reading of one object; 10 s
	Replicas int           // of buckets that are made, on a NATS cluster; 1
	Logger   *slog.Logger  // nil discards
}

func (c *Config) fillDefaults() {
	if c.Pointers == "" {
		c.Pointers = DefaultPointers
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Bucket is models in JetStream. It is safe for concurrent use. It is a
// live.Source.
type Bucket struct {
	cfg Config

	mu    sync.Mutex
	known map[repository.ID]string // first digits of the content that a version has in the bucket
}

// New returns a bucket, which need not be there yet.
func New(cfg Config) (*Bucket, error) {
	cfg.fillDefaults()
	if cfg.JetStream == nil || cfg.Bucket == "" {
		return nil, errors.New("modelstore: config: JetStream is nil or Bucket empty, want both")
	}
	return &Bucket{cfg: cfg, known: make(map[repository.ID]string)}, nil
}

// bounded is ctx with the deadline of one request.
func (b *Bucket) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.cfg.Timeout)
}

// objects returns what is in the bucket, by name and version.
func (b *Bucket) objects(ctx context.Context) ([]object, map[object]*jetstream.ObjectInfo, error) {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	store, err := b.cfg.JetStream.ObjectStore(ctx, b.cfg.Bucket)
	if err != nil {
		return nil, nil, fmt.Errorf("modelstore: bucket %s: %w", b.cfg.Bucket, err)
	}
	infos, err := store.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("modelstore: list bucket %s: %w", b.cfg.Bucket, err)
	}
	var all []object
	byName := make(map[object]*jetstream.ObjectInfo)
	for _, info := range infos {
		if o, err := parseObject(info.Name); err == nil { // others put other things there
			all = append(all, o)
			byName[o] = info
		}
	}
	slices.SortFunc(all, func(a, b object) int {
		if a.id.Name != b.id.Name {
			return compareText(a.id.Name, b.id.Name)
		}
		if c := a.id.Version.Compare(b.id.Version); c != 0 {
			return c
		}
		return compareText(a.sha12, b.sha12)
	})
	return all, byName, nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Resolve implements live.Source.
func (b *Bucket) Resolve(ctx context.Context, name, policy string) (repository.ID, error) {
	all, _, err := b.objects(ctx)
	if err != nil {
		return repository.ID{}, err
	}
	var versions []repository.Version
	digits := make(map[repository.Version]string)
	for _, o := range all {
		if o.id.Name != name {
			continue
		}
		if other, twice := digits[o.id.Version]; twice {
			return repository.ID{}, fmt.Errorf("modelstore: %s is there twice, as %s and %s: remove one", o.id, other, o.sha12)
		}
		versions, digits[o.id.Version] = append(versions, o.id.Version), o.sha12
	}
	v, err := repository.Choose(name, policy, versions)
	if err != nil {
		return repository.ID{}, err
	}
	id := repository.ID{Name: name, Version: v}
	b.expect(id, digits[v])
	return id, nil
}

// expect notes what content a version has.
func (b *Bucket) expect(id repository.ID, sha12 string) {
	b.mu.Lock()
	b.known[id] = sha12
	b.mu.Unlock()
}

// Fetch implements live.Source. It prefers the copy on disk: the content of a
// version never changes. The copy is not used where Resolve or a pointer said that
// the content is another.
func (b *Bucket) Fetch(ctx context.Context, id repository.ID) (models.Files, error) {
	b.mu.Lock()
	want := b.known[id]
	b.mu.Unlock()
	if f, ok := b.cached(id, want); ok {
		return f, nil
	}
	if want == "" {
		if _, err := b.Resolve(ctx, id.Name, id.Version.String()); err != nil {
			return models.Files{}, err
		}
		return b.Fetch(ctx, id)
	}
	f, err := b.read(ctx, object{id, want})
	if err != nil {
		return models.Files{}, err
	}
	return f, nil
}

// cached returns the copy on disk if it has the content that is wanted, "" for any.
func (b *Bucket) cached(id repository.ID, want string) (models.Files, bool) {
	if b.cfg.Cache == nil {
		return models.Files{}, false
	}
	f, err := b.cfg.Cache.Files(id)
	if err != nil {
		return models.Files{}, false
	}
	raw, err := pack(f)
	if err != nil || want != "" && short(digest(raw)) != want {
		return models.Files{}, false
	}
	if _, err := models.Decode(f); err != nil { // damaged on disk: the bucket may have it whole
		b.cfg.Logger.Warn("copy of a model is damaged", "model", id.String(), "error", err)
		return models.Files{}, false
	}
	return f, true
}

// Keep stores a copy of a model that is fit to decide. It is not needed for
// anything now, so what goes wrong is only logged.
func (b *Bucket) Keep(id repository.ID, f models.Files) {
	if b.cfg.Cache == nil {
		return
	}
	_, err := b.cfg.Cache.Replace(id, f)
	if err != nil {
		b.cfg.Logger.Warn("no copy kept of a model", "model", id.String(), "error", err)
	}
}

// read gets an object within the deadline and holds it against its name.
func (b *Bucket) read(ctx context.Context, o object) (models.Files, error) {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	raw, err := b.get(ctx, o.String())
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return models.Files{}, fmt.Errorf("%w: %s in bucket %s", repository.ErrNotFound, o, b.cfg.Bucket)
	}
	if err != nil {
		return models.Files{}, fmt.Errorf("%w: %s in bucket %s: %w", ErrCorrupt, o, b.cfg.Bucket, err)
	}
	if got := digest(raw); short(got) != o.sha12 {
		return models.Files{}, fmt.Errorf("%w: %s in bucket %s has SHA-256 %s", ErrCorrupt, o, b.cfg.Bucket, got)
	}
	return unpack(raw)
}

func (b *Bucket) get(ctx context.Context, name string) ([]byte, error) {
	store, err := b.cfg.JetStream.ObjectStore(ctx, b.cfg.Bucket)
	if err != nil {
		return nil, err
	}
	info, err := store.GetInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > MaxObject {
		return nil, fmt.Errorf("%d bytes, want at most %d", info.Size, int64(MaxObject))
	}
	r, err := store.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, MaxObject+1))
	return raw, errors.Join(err, r.Close())
}

// List implements live.Source. It reads no object: what is in one is not told.
func (b *Bucket) List(ctx context.Context) ([]repository.Entry, error) {
	all, infos, err := b.objects(ctx)
	if err != nil {
		return nil, err
	}
	var list []repository.Entry
	for _, o := range all {
		info := infos[o]
		list = append(list, repository.Entry{
			ID: o.id, SHA256: info.Metadata[metaWeights], Kind: models.Kind(info.Metadata[metaKind]), Encoder: info.Metadata[metaEncoder],
			Golden: info.Metadata[metaGolden] == "true", Bytes: int64(info.Size), Added: info.ModTime.UTC().Truncate(time.Second),
		})
	}
	return list, nil
}

// Metadata of objects: for people. Nothing is decided by it.
const (
	metaDigest  = "sha256"
	metaWeights = "weights_sha256"
	metaKind    = "kind"
	metaEncoder = "encoder"
	metaGolden  = "golden"
)

// Push adds a model as a version of name, the next one where version is the zero
// Version, and makes the buckets if need be. A model that would not verify is not
// added.
func (b *Bucket) Push(ctx context.Context, name string, f models.Files, version repository.Version) (repository.ID, error) {
	if err := repository.CheckName(name); err != nil {
		return repository.ID{}, err
	}
	m, err := repository.Check(f)
	if err != nil {
		return repository.ID{}, err
	}
	if m.Golden == nil {
		f.Golden = nil
	}
	raw, err := pack(f)
	if err != nil {
		return repository.ID{}, err
	}
	if err := b.ensure(ctx); err != nil {
		return repository.ID{}, err
	}
	id, err := b.place(ctx, name, version)
	if err != nil {
		return repository.ID{}, err
	}
	sum := digest(raw)
	if err := b.put(ctx, object{id, short(sum)}, raw, map[string]string{
		metaDigest: sum, metaWeights: m.Manifest.SHA256, metaKind: string(m.Manifest.Kind), metaEncoder: m.Manifest.Encoder.Version, metaGolden: fmt.Sprint(m.Golden != nil),
	}); err != nil {
		return repository.ID{}, fmt.Errorf("modelstore: push %s: %w", id, err)
	}
	b.expect(id, short(sum))
	return id, nil
}

// place returns the version to be pushed. Two that push at once may choose the
// same: then Resolve refuses to choose between them.
func (b *Bucket) place(ctx context.Context, name string, version repository.Version) (repository.ID, error) {
	all, _, err := b.objects(ctx)
	if err != nil {
		return repository.ID{}, err
	}
	var last repository.Version
	for _, o := range all {
		if o.id.Name != name {
			continue
		}
		if o.id.Version == version {
			return repository.ID{}, fmt.Errorf("%w: %s in bucket %s", repository.ErrExists, o, b.cfg.Bucket)
		}
		last = o.id.Version // ascending
	}
	if version == (repository.Version{}) {
		version = last.Next()
	}
	return repository.ID{Name: name, Version: version}, nil
}

func (b *Bucket) put(ctx context.Context, o object, raw []byte, metadata map[string]string) error {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	store, err := b.cfg.JetStream.ObjectStore(ctx, b.cfg.Bucket)
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, jetstream.ObjectMeta{Name: o.String(), Description: "a model of Yardmaster", Metadata: metadata}, bytes.NewReader(raw))
	return err
}

// ensure makes the buckets that are missing.
func (b *Bucket) ensure(ctx context.Context) error {
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	_, err := b.cfg.JetStream.ObjectStore(ctx, b.cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = b.cfg.JetStream.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: b.cfg.Bucket, Description: "Yardmaster's models", Replicas: b.cfg.Replicas})
	}
	if err != nil {
		return fmt.Errorf("modelstore: bucket %s: %w", b.cfg.Bucket, err)
	}
	_, err = b.pointers(ctx, true)
	return err
}

// Remove removes a version that no pointer names.
func (b *Bucket) Remove(ctx context.Context, id repository.ID) error {
	for _, kind := range []models.Kind{models.JobStrategy, models.Configuration} {
		p, _, err := b.Pointer(ctx, kind)
		if err != nil && !errors.Is(err, ErrNoPointer) {
			return fmt.Errorf("%w; nothing is removed while it is not known what is in use", err)
		}
		if err == nil && p.Model == id {
			return fmt.Errorf("%w: %s is active", repository.ErrInUse, id)
		}
	}
	all, _, err := b.objects(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := b.bounded(ctx)
	defer cancel()
	store, err := b.cfg.JetStream.ObjectStore(ctx, b.cfg.Bucket)
	if err != nil {
		return fmt.Errorf("modelstore: bucket %s: %w", b.cfg.Bucket, err)
	}
	found := false
	for _, o := range all {
		if o.id == id {
			found = true
			if err := store.Delete(ctx, o.String()); err != nil {
				return fmt.Errorf("modelstore: remove %s: %w", o, err)
			}
		}
	}
	if !found {
		return fmt.Errorf("%w: %s in bucket %s", repository.ErrNotFound, id, b.cfg.Bucket)
	}
	return nil
}
