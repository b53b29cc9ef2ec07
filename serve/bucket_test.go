package serve_test

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/modelstore"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func bucketAt(t *testing.T, url string) *modelstore.Bucket {
	t.Helper()
	js, err := jetstream.New(connect(t, url))
	if err != nil {
		t.Fatal(err)
	}
	b, err := modelstore.New(modelstore.Config{JetStream: js, Bucket: "MODELS", Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func push(t *testing.T, b *modelstore.Bucket, seed uint64) (repository.ID, models.Files) {
	t.Helper()
	f := servetest.Files(t, servetest.Model(t, seed))
	id, err := b.Push(t.Context(), "demo", f, repository.Version{})
	if err != nil {
		t.Fatal(err)
	}
	return id, f
}

func fromBucket(t *testing.T, url, cache string) serve.Config {
	t.Helper()
	return serve.Config{URL: url, Guard: servetest.Guard(t), Models: serve.Models{Bucket: "MODELS", Cache: cache, FetchTimeout: 2 * time.Second}}
}

// inCharge waits until a service decides by a version.
func inCharge(t *testing.T, s *serve.Server, version string) {
	t.Helper()
	eventually(t, version+" is in charge", func() bool { return strings.HasPrefix(s.Stats().Model, "demo@"+version+"+") })
}

// Services follow the pointer in the bucket, whoever moves it, and move it with what
// operators tell one of them.
func TestServicesFollowThePointer(t *testing.T) {
	b := external(t, broker.Config{})
	bucket := bucketAt(t, b.URL())
	first, _ := push(t, bucket, 1)
	push(t, bucket, 2)
	a := startQuietly(t, fromBucket(t, b.URL(), t.TempDir()))
	if s := a.Stats(); !s.Models.Degraded {
		t.Errorf("nothing is in charge yet: got %+v", s.Models)
	}
	if err := bucket.Point(t.Context(), models.JobStrategy, first, 0); err != nil {
		t.Fatal(err)
	}
	inCharge(t, a, "1.0.0")
	late := startQuietly(t, fromBucket(t, b.URL(), t.TempDir()))
	inCharge(t, late, "1.0.0")
	nc := connect(t, b.URL())
	if _, refusal := ask(t, nc, admin.Load, admin.LoadRequest{Name: "demo", Version: "1.1.0", Promote: true}); refusal != nil {
		t.Fatal(refusal)
	}
	inCharge(t, a, "1.1.0")
	inCharge(t, late, "1.1.0")
	if p, _, err := bucket.Pointer(t.Context(), models.JobStrategy); err != nil || p.Model.String() != "demo/1.1.0" {
		t.Errorf("got pointer %+v, %v", p, err)
	}
	if _, refusal := ask(t, nc, admin.Rollback, nil); refusal != nil {
		t.Fatal(refusal)
	}
	inCharge(t, a, "1.0.0")
	inCharge(t, late, "1.0.0")
}

// A pointer at a model that cannot be read yet is followed when it can.
func TestPointerIsFollowedLater(t *testing.T) {
	b := external(t, broker.Config{})
	bucket := bucketAt(t, b.URL())
	id, f := push(t, bucket, 1)
	if err := bucket.Point(t.Context(), models.JobStrategy, id, 0); err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(connect(t, b.URL()))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteObjectStore(t.Context(), "MODELS"); err != nil {
		t.Fatal(err)
	}
	cfg := fromBucket(t, b.URL(), t.TempDir())
	cfg.Models.FetchTimeout = 100 * time.Millisecond
	s := startQuietly(t, cfg)
	eventually(t, "the model cannot be loaded", func() bool { m := s.Stats().Models; return m.LastError != "" && m.Degraded })
	if _, err := bucket.Push(t.Context(), "demo", f, id.Version); err != nil {
		t.Fatal(err)
	}
	inCharge(t, s, "1.0.0")
}

// A service whose models are in a bucket outlives damage to it: the model in charge
// stays, the next load works, and after a restart the copy on disk decides.
func TestFault22ServiceOutlivesCorruptBucket(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	b := external(t, broker.Config{StoreDir: dir})
	bucket := bucketAt(t, b.URL())
	_, f1 := push(t, bucket, 1)
	_, f2 := push(t, bucket, 2)
	s := startQuietly(t, fromBucket(t, b.URL(), cache))
	if _, refusal := ask(t, connect(t, b.URL()), admin.Load, admin.LoadRequest{Name: "demo", Version: "1.0.0", Promote: true}); refusal != nil {
		t.Fatal(refusal)
	}
	port, err := strconv.Atoi(mustURL(t, b.URL()).Port())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []models.Files{f1, f2} {
		flip(t, filepath.Join(dir, "jetstream"), f.Weights)
	}
	b = external(t, broker.Config{StoreDir: dir, Port: port})
	nc := connect(t, b.URL())
	eventually(t, "back and subscribed again", func() bool {
		_, err := nc.Request("yardmaster.v1.svc.status", nil, time.Second)
		return err == nil
	})
	_, refusal := ask(t, nc, admin.Load, admin.LoadRequest{Name: "demo", Version: "1.1.0", Promote: true})
	if refusal == nil {
		t.Fatal("a corrupt object was loaded")
	}
	inCharge(t, s, "1.0.0")
	if counts := s.Stats().Models.Loads; counts[live.ResultOK] != 1 || counts[live.ResultDamaged]+counts[live.ResultTimeout] != 1 {
		t.Errorf("got loads %v", counts)
	}
	push(t, bucketAt(t, b.URL()), 3)
	if _, refusal := ask(t, nc, admin.Load, admin.LoadRequest{Name: "demo", Version: "latest"}); refusal != nil {
		t.Errorf("the next good model: %v", refusal)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := startQuietly(t, fromBucket(t, b.URL(), cache)) // its object is corrupt: the copy decides
	inCharge(t, again, "1.0.0")
	if loaded := again.Stats().Models.Loaded; len(loaded) != 2 || loaded[1].Role != "candidate" || loaded[1].Version != "1.2.0" {
		t.Errorf("got %+v", loaded)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// flip flips a bit of content wherever a broker's files below dir hold it.
func flip(t *testing.T, dir string, content []byte) {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".blk" {
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
		found = true
		raw[at] ^= 1
		return os.WriteFile(path, raw, 0o600)
	})
	if err != nil || !found {
		t.Fatalf("the object was found: %v, %v", found, err)
	}
}
