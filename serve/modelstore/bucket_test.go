package modelstore_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/modelstore"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// house is a broker and a bucket in it.
type house struct {
	*modelstore.Bucket
	broker *broker.Broker
	dir    string // of the broker
	js     jetstream.JetStream
	cache  *repository.Repository
}

func open(t *testing.T, dir string, timeout time.Duration) *house {
	t.Helper()
	h := &house{dir: dir}
	var err error
	if h.broker, err = broker.Start(broker.Config{StoreDir: dir}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.broker.Close() })
	nc, err := bus.Connect(t.Context(), bus.Config{URL: h.broker.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if h.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	if h.cache, err = repository.Create(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if h.Bucket, err = modelstore.New(modelstore.Config{JetStream: h.js, Bucket: "MODELS", Cache: h.cache, Timeout: timeout}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) push(t *testing.T, m *models.Model) (repository.ID, models.Files) {
	t.Helper()
	f := servetest.Files(t, m)
	id, err := h.Push(t.Context(), "demo", f, repository.Version{})
	if err != nil {
		t.Fatal(err)
	}
	return id, f
}

func TestPushAndFetch(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	ctx := t.Context()
	if _, err := h.Resolve(ctx, "demo", "latest"); err == nil {
		t.Error("no bucket: got no error")
	}
	if _, err := h.Push(ctx, "demo", models.Files{}, repository.Version{}); err == nil {
		t.Error("pushed a damaged model")
	}
	first, f1 := h.push(t, servetest.Model(t, 1))
	second, f2 := h.push(t, servetest.Model(t, 2))
	third, f3 := h.push(t, servetest.ConfigurationModel(3)) // without golden inputs
	if first.String() != "demo/1.0.0" || second.String() != "demo/1.1.0" || third.String() != "demo/1.2.0" {
		t.Errorf("got %v, %v, %v", first, second, third)
	}
	if _, err := h.Push(ctx, "demo", f1, second.Version); !errors.Is(err, repository.ErrExists) {
		t.Errorf("a version that is there: got %v", err)
	}
	if id, err := h.Resolve(ctx, "demo", "1.1.0"); err != nil || id != second {
		t.Errorf("got %v, %v", id, err)
	}
	if id, err := h.Resolve(ctx, "demo", "latest"); err != nil || id != third {
		t.Errorf("got %v, %v", id, err)
	}
	for _, name := range []string{"other", "dem"} {
		if _, err := h.Resolve(ctx, name, "latest"); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("%s: got %v, want ErrNotFound", name, err)
		}
	}
	fresh, err := modelstore.New(modelstore.Config{JetStream: h.js, Bucket: "MODELS"}) // knows nothing yet
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[repository.ID]models.Files{first: f1, second: f2, third: f3} {
		got, err := fresh.Fetch(ctx, id)
		if err != nil || !got.Equal(want) {
			t.Errorf("%v: %v, the same files: %v", id, err, got.Equal(want))
		}
	}
	list, err := h.List(ctx)
	if err != nil || len(list) != 3 || list[0].ID != first || list[0].Kind != models.JobStrategy || !list[0].Golden || list[2].Golden || list[2].Kind != models.Configuration || list[0].SHA256 == "" {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := h.Remove(ctx, first); err != nil {
		t.Error(err)
	}
	if err := h.Remove(ctx, first); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("removed twice: got %v", err)
	}
	if _, err := fresh.Fetch(ctx, first); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("removed: got %v", err)
	}
}

// One version with two contents is nobody's choice to make.
func TestAmbiguousVersion(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	id, _ := h.push(t, servetest.Model(t, 1))
	store, err := h.js.ObjectStore(t.Context(), "MODELS")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"demo/1.0.0+0123456789ab", "something else", "demo/1.0.0", "demo/1.0.0+XYZ"} {
		if _, err := store.PutString(t.Context(), name, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Resolve(t.Context(), id.Name, "latest"); err == nil || !strings.Contains(err.Error(), "twice") || !strings.Contains(err.Error(), "0123456789ab") {
		t.Errorf("got %v, want both named", err)
	}
}

func TestPointer(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	ctx := t.Context()
	if _, _, err := h.Pointer(ctx, models.JobStrategy); !errors.Is(err, modelstore.ErrNoPointer) {
		t.Errorf("got %v, want ErrNoPointer", err)
	}
	first, _ := h.push(t, servetest.Model(t, 1))
	second, _ := h.push(t, servetest.Model(t, 2))
	if _, _, err := h.Pointer(ctx, models.JobStrategy); !errors.Is(err, modelstore.ErrNoPointer) {
		t.Errorf("got %v, want ErrNoPointer", err)
	}
	if err := h.Point(ctx, models.JobStrategy, repository.ID{Name: "none", Version: repository.Version{Major: 1}}, 0); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("a pointer at nothing: got %v", err)
	}
	if err := h.Point(ctx, models.JobStrategy, first, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.Point(ctx, models.JobStrategy, second, 0); !errors.Is(err, modelstore.ErrMoved) {
		t.Errorf("somebody was first: got %v, want ErrMoved", err)
	}
	p, revision, err := h.Pointer(ctx, models.JobStrategy)
	if err != nil || p.Model != first {
		t.Fatalf("got %+v, %v", p, err)
	}
	if err := h.Point(ctx, models.JobStrategy, second, revision); err != nil {
		t.Error(err)
	}
	if err := h.Point(ctx, models.JobStrategy, first, revision); !errors.Is(err, modelstore.ErrMoved) {
		t.Errorf("an old revision: got %v, want ErrMoved", err)
	}
	if err := h.Remove(ctx, second); !errors.Is(err, repository.ErrInUse) {
		t.Errorf("removed what is in charge: got %v", err)
	}
	// A pointer that is nonsense is an error, not a model.
	kv, err := h.js.KeyValue(ctx, modelstore.DefaultPointers)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", `{"model":"demo/1.0.0"}`, `{"model":"../x/1.0.0","sha256":"0123456789ab"}`, `{"model":"demo/1.0.0","sha256":"0123456789AB"}`, `{"model":"demo/1.0.0","sha256":"0123456789ab","x":1}`} {
		if _, err := kv.PutString(ctx, "active", text); err != nil {
			t.Fatal(err)
		}
		if p, _, err := h.Pointer(ctx, models.JobStrategy); err == nil {
			t.Errorf("%s: got %+v", text, p)
		}
	}
}

// A watch tells what is there and every change, of each kind, passes over nonsense,
// and ends with its context.
func TestWatch(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	ctx, cancel := context.WithCancel(t.Context())
	type told struct {
		kind models.Kind
		id   string
	}
	heard, done := make(chan told, 16), make(chan struct{})
	id, _ := h.push(t, servetest.Model(t, 1))
	if err := h.Point(ctx, models.JobStrategy, id, 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(done)
		h.Watch(ctx, func(kind models.Kind, p modelstore.Pointer) { heard <- told{kind, p.Model.String()} })
	}()
	want := func(w told) {
		t.Helper()
		select {
		case got := <-heard:
			if got != w {
				t.Errorf("got %v, want %v", got, w)
			}
		case <-time.After(patience):
			t.Fatal("nothing was told")
		}
	}
	want(told{models.JobStrategy, "demo/1.0.0"})
	kv, err := h.js.KeyValue(ctx, modelstore.DefaultPointers)
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range map[string]string{"active": "nonsense", "other": `{"model":"demo/1.0.0","sha256":"0123456789ab"}`} {
		if _, err := kv.PutString(ctx, key, text); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := h.push(t, servetest.ConfigurationModel(2))
	if err := h.Point(ctx, models.Configuration, second, 0); err != nil {
		t.Fatal(err)
	}
	want(told{models.Configuration, "demo/1.1.0"})
	cancel()
	<-done
}

// A broker that goes and comes back is watched on: what was told is not told again,
// and where it comes back with empty disks, what is put there is told.
func TestWatchOutlivesTheBroker(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	ctx := t.Context()
	id, _ := h.push(t, servetest.Model(t, 1))
	if err := h.Point(ctx, models.JobStrategy, id, 0); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 16)
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Watch(watching, func(_ models.Kind, p modelstore.Pointer) { heard <- p.Model.String() })
	}()
	next := func() string {
		t.Helper()
		select {
		case id := <-heard:
			return id
		case <-time.After(patience):
			t.Fatal("nothing was told")
			return ""
		}
	}
	next()
	u, err := url.Parse(h.broker.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{h.dir, t.TempDir(), t.TempDir()} { // from one empty bucket to another revisions are the same
		if err := h.broker.Close(); err != nil {
			t.Fatal(err)
		}
		if h.broker, err = broker.Start(broker.Config{StoreDir: dir, Port: port}); err != nil {
			t.Fatal(err)
		}
		var second repository.ID
		bounded, cancel := context.WithTimeout(ctx, patience)
		err := bus.Retry(bounded, h.js.Conn(), func(ctx context.Context) (err error) {
			second, err = h.Push(ctx, "demo", servetest.Files(t, servetest.Model(t, 2)), repository.Version{})
			return err
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		revision := uint64(0)
		if dir == h.dir {
			revision = 1
		}
		if err := h.Point(ctx, models.JobStrategy, second, revision); err != nil {
			t.Fatal(err)
		}
		if got := next(); got != second.String() {
			t.Errorf("got %s, want %s", got, second)
		}
	}
	stop()
	<-done
}

// The copy on disk is used instead of the bucket, unless it is damaged or of another
// content.
func TestCache(t *testing.T) {
	h := open(t, t.TempDir(), patience)
	ctx := t.Context()
	id, f := h.push(t, servetest.Model(t, 1))
	h.Keep(id, f)
	if _, err := h.cache.Verify(id); err != nil {
		t.Fatal(err)
	}
	if err := h.js.DeleteObjectStore(ctx, "MODELS"); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Fetch(ctx, id); err != nil || !got.Equal(f) {
		t.Errorf("without the bucket: %v", err)
	}
	weights := filepath.Join(h.cache.Dir(id), "weights.safetensors")
	if err := os.Truncate(weights, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Fetch(ctx, id); err == nil {
		t.Error("a damaged copy was used")
	}
	again, g := h.push(t, servetest.Model(t, 2)) // the same version, another content
	h.Keep(id, f)
	if got, err := h.Fetch(ctx, again); err != nil || !got.Equal(g) {
		t.Errorf("%v of another content: %v", again, err)
	}
	h.Keep(again, g)
	if got, err := h.cache.Files(again); err != nil || !got.Equal(g) {
		t.Errorf("the copy was not replaced: %v", err)
	}
}

// damage flips a bit of an object in the broker's file of it.
func damage(t *testing.T, dir string, content []byte) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(filepath.Join(dir, "jetstream"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "OBJ_MODELS") || filepath.Ext(path) != ".blk" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		at := bytes.Index(raw, content[len(content)/2:len(content)/2+64])
		if at < 0 {
			return nil
		}
		found++
		raw[at+7] ^= 4
		return os.WriteFile(path, raw, 0o600)
	})
	if err != nil || found == 0 {
		t.Fatalf("the object was found in %d files, %v", found, err)
	}
}

// A bit flips in the broker's file of an object. Reading it ends within its time
// with an error, never with other bytes; other objects are read as ever; a copy on
// disk stands in.
func TestFault22ObjectStoreCorrupt(t *testing.T) {
	dir := t.TempDir()
	h := open(t, dir, patience)
	bad, f := h.push(t, servetest.Model(t, 1))
	good, g := h.push(t, servetest.Model(t, 2))
	if err := h.broker.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, dir, f.Weights)
	const timeout = 2 * time.Second
	again := open(t, dir, timeout)
	began := time.Now()
	got, err := again.Fetch(t.Context(), bad)
	took := time.Since(began)
	if err == nil {
		t.Fatalf("got files, the same: %v", got.Equal(f))
	}
	if !errors.Is(err, modelstore.ErrCorrupt) && !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("got %v, want an error about the object", err)
	}
	if took > 4*timeout { // looking for it, then reading it
		t.Errorf("took %v, want at most some times %v", took, timeout)
	}
	t.Logf("after %v: %v", took, err)
	if got, err := again.Fetch(t.Context(), good); err != nil || !got.Equal(g) {
		t.Errorf("another object: %v", err)
	}
	again.Keep(bad, f)
	if got, err := again.Fetch(t.Context(), bad); err != nil || !got.Equal(f) {
		t.Errorf("with a copy on disk: %v", err)
	}
	if diff := cmp.Diff(f, got); diff == "" {
		t.Error("a read that failed gave the files")
	}
}
