package live_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a set over a repository, and what it published last.
type house struct {
	*live.Set
	repo    *repository.Repository
	view    live.View
	refuse  error // of Publish
	publish int
}

func newHouse(t *testing.T, repo *repository.Repository) *house {
	t.Helper()
	if repo == nil {
		var err error
		if repo, err = repository.Create(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	h := &house{repo: repo}
	set, err := live.NewSet(live.Config{Source: live.Folder{Repository: repo}, Keeper: repo, Publish: func(v live.View) error {
		if h.refuse != nil {
			return h.refuse
		}
		h.view = v
		h.publish++
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.Set = set
	return h
}

func (h *house) add(t *testing.T, name string, m *models.Model) repository.ID {
	t.Helper()
	id, err := h.repo.Add(name, servetest.Files(t, m), repository.Version{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// roles tells who is active, previous and candidate.
func roles(s live.Slot) string {
	name := func(m *live.Model) string {
		if m == nil {
			return "-"
		}
		return m.ID.String()
	}
	return name(s.Active) + " " + name(s.Previous) + " " + name(s.Candidate)
}

func (h *house) want(t *testing.T, what, want string) {
	t.Helper()
	if got := roles(h.view.JobStrategy); got != want {
		t.Errorf("%s: got active, previous, candidate %q, want %q", what, got, want)
	}
	if diff := cmp.Diff(roles(h.View().JobStrategy), roles(h.view.JobStrategy)); diff != "" {
		t.Errorf("%s: the view is not what was published:\n%s", what, diff)
	}
	kept, err := h.repo.Active()
	if err != nil {
		t.Fatal(err)
	}
	text := func(id repository.ID) string {
		if id.IsZero() {
			return "-"
		}
		return id.String()
	}
	s := kept.JobStrategy
	if got := text(s.Active) + " " + text(s.Previous) + " " + text(s.Candidate); got != want {
		t.Errorf("%s: kept is %q, want %q", what, got, want)
	}
}

// The life of models in a service: loaded beside, promoted, taken back, and found
// again by the next process.
func TestLoadPromoteRollback(t *testing.T) {
	h := newHouse(t, nil)
	ctx := t.Context()
	for seed := range uint64(3) {
		h.add(t, "demo", servetest.Model(t, seed+1))
	}
	load := func(version string, promote bool) {
		t.Helper()
		m, err := h.Load(ctx, "demo", version, promote)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("demo@%s+%.12s", m.ID.Version, m.Manifest.SHA256); m.Name != want {
			t.Errorf("got name %s, want %s", m.Name, want)
		}
	}
	load("1.0.0", true)
	h.want(t, "first", "demo/1.0.0 - -")
	load("latest", false)
	h.want(t, "beside", "demo/1.0.0 - demo/1.2.0")
	if _, err := h.Promote(models.JobStrategy); err != nil {
		t.Error(err)
	}
	h.want(t, "promoted", "demo/1.2.0 demo/1.0.0 -")
	if _, err := h.Promote(models.JobStrategy); !errors.Is(err, live.ErrNoModel) {
		t.Errorf("promote nothing: got %v, want ErrNoModel", err)
	}
	if m, err := h.Rollback(models.JobStrategy); err != nil || m.ID.String() != "demo/1.0.0" {
		t.Errorf("got %v, %v", m, err)
	}
	h.want(t, "taken back", "demo/1.0.0 demo/1.2.0 -")
	load("1.1.0", false)
	load("1.0.0", true)
	h.want(t, "read again", "demo/1.0.0 demo/1.2.0 demo/1.1.0")

	next := newHouse(t, h.repo)
	if err := next.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	next.want(t, "next process", "demo/1.0.0 demo/1.2.0 demo/1.1.0")
	if err := next.Discard(models.JobStrategy); err != nil {
		t.Error(err)
	}
	next.want(t, "discarded", "demo/1.0.0 demo/1.2.0 -")
	if err := next.Discard(models.JobStrategy); !errors.Is(err, live.ErrNoModel) {
		t.Errorf("discard nothing: got %v", err)
	}
	if _, err := next.Rollback(models.Configuration); !errors.Is(err, live.ErrNoModel) {
		t.Errorf("roll back nothing: got %v", err)
	}
	// A configurer has a slot of its own.
	next.add(t, "tiresias", servetest.ConfigurationModel(1))
	if _, err := next.Load(ctx, "tiresias", "latest", true); err != nil || next.view.Configuration.Active == nil || next.view.Configuration.Active.Configurer == nil {
		t.Errorf("got %v, %+v", err, next.view.Configuration)
	}
	next.want(t, "beside a configurer", "demo/1.0.0 demo/1.2.0 -")
}

// bad is a model that is not fit to decide, on disk as something wrote it.
type bad struct {
	name, result string
	want         []string
	write        func(t *testing.T, h *house)
}

// raw puts files into the repository without its checks.
func raw(t *testing.T, h *house, f models.Files) {
	t.Helper()
	dir := h.repo.Dir(repository.ID{Name: "bad", Version: repository.Version{Major: 1}})
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// Whatever is wrong with a model, a load says so, changes nothing, and does not
// stand in the way of the next one.
func TestBadModels(t *testing.T) {
	overflow := func(t *testing.T) *models.Model {
		m := servetest.Model(t, 9)
		m.Golden = nil
		for i := range m.Params.Tensors[nn.ScoreHiddenWeight].Data {
			m.Params.Tensors[nn.ScoreHiddenWeight].Data[i] = 1e38
		}
		return m
	}
	for _, test := range []bad{
		{"missing", live.ResultNotFound, []string{"bad"}, func(*testing.T, *house) {}},
		{"no manifest", live.ResultDamaged, []string{"manifest.json"}, func(t *testing.T, h *house) {
			raw(t, h, servetest.Files(t, servetest.Model(t, 9)))
			if err := os.Remove(filepath.Join(h.repo.Root(), "bad", "1.0.0", "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}},
		{"flipped bit", live.ResultDamaged, []string{"bad/1.0.0", "SHA-256"}, func(t *testing.T, h *house) {
			f := servetest.Files(t, servetest.Model(t, 9))
			f.Weights[len(f.Weights)/2] ^= 16
			raw(t, h, f)
		}},
		{"other encoder", live.ResultIncompatible, []string{"job-strategy/0", "job-strategy/"}, func(t *testing.T, h *house) {
			m := servetest.Model(t, 9)
			m.Manifest.Encoder.Version = "job-strategy/0"
			raw(t, h, servetest.Files(t, m))
		}},
		{"overflow", live.ResultNonFinite, []string{"not finite"}, func(t *testing.T, h *house) { raw(t, h, servetest.Files(t, overflow(t))) }},
		{"golden", live.ResultGolden, []string{"golden", "row"}, func(t *testing.T, h *house) { raw(t, h, badGolden(t)) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, nil)
			h.add(t, "demo", servetest.Model(t, 1))
			if _, err := h.Load(t.Context(), "demo", "latest", true); err != nil {
				t.Fatal(err)
			}
			test.write(t, h)
			published := h.publish
			m, err := h.Load(t.Context(), "bad", "latest", true)
			if err == nil {
				t.Fatalf("got %v, want an error", m.Name)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error does not say %q: %v", part, err)
				}
			}
			counts, last := h.Loads()
			if counts[test.result] != 1 || counts[live.ResultOK] != 1 || last != err.Error() {
				t.Errorf("got counts %v and last %q, want one %s", counts, last, test.result)
			}
			h.want(t, "after it", "demo/1.0.0 - -")
			if h.publish != published {
				t.Error("something was published")
			}
			h.add(t, "demo", servetest.Model(t, 2))
			if _, err := h.Load(t.Context(), "demo", "latest", true); err != nil {
				t.Errorf("the next load: %v", err)
			}
			if _, last := h.Loads(); last != "" {
				t.Errorf("after a good load the last error is %q", last)
			}
		})
	}
}

// badGolden is a model that does not score as it is said to, with hashes that fit.
func badGolden(t *testing.T) models.Files {
	t.Helper()
	good, other := servetest.Model(t, 9), servetest.Model(t, 10)
	g := *good.Golden
	other.Golden = nil
	f := servetest.Files(t, other)
	with := servetest.Files(t, &models.Model{Manifest: good.Manifest, Params: good.Params, Golden: &g})
	f.Golden = with.Golden
	f.Manifest = []byte(strings.Replace(string(f.Manifest), `"weights_sha256"`, fmt.Sprintf(`"golden_sha256": %q, "weights_sha256"`, hashOf(t, with)), 1))
	return f
}

func hashOf(t *testing.T, f models.Files) string {
	t.Helper()
	m, err := models.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m.Manifest.GoldenSHA256
}

// slow is a source whose fetch does not come back before its context ends.
type slow struct{ live.Source }

func (slow) Fetch(ctx context.Context, _ repository.ID) (models.Files, error) {
	<-ctx.Done()
	return models.Files{}, ctx.Err()
}

func TestLoadEndsInTime(t *testing.T) {
	h := newHouse(t, nil)
	h.add(t, "demo", servetest.Model(t, 1))
	set, err := live.NewSet(live.Config{Source: slow{live.Folder{Repository: h.repo}}, Publish: func(live.View) error { return nil }, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second does not wait for the first
		if _, err := set.Load(t.Context(), "demo", "latest", true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want deadline exceeded", err)
		}
	}
	if counts, _ := set.Loads(); counts[live.ResultTimeout] != 2 {
		t.Errorf("got %v, want two timeouts", counts)
	}
}

// What cannot be put in charge or kept is told apart.
func TestFailedChanges(t *testing.T) {
	h := newHouse(t, nil)
	h.add(t, "demo", servetest.Model(t, 1))
	h.refuse = errors.New("no")
	if _, err := h.Load(t.Context(), "demo", "latest", true); !errors.Is(err, h.refuse) {
		t.Errorf("got %v", err)
	}
	if v := h.View(); v.JobStrategy.Active != nil {
		t.Error("a view that was refused holds")
	}
	h.refuse = nil
	set, err := live.NewSet(live.Config{Source: live.Folder{Repository: h.repo}, Publish: func(live.View) error { return nil }, Keeper: forgetful{}})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := set.Load(t.Context(), "demo", "latest", true); !errors.Is(err, live.ErrNotKept) || m == nil || set.View().JobStrategy.Active != m {
		t.Errorf("got %v, %v, want the model in charge and ErrNotKept", m, err)
	}
	if err := set.Restore(t.Context()); err == nil || set.View().JobStrategy.Active == nil {
		t.Errorf("restore without knowing what: got %v", err)
	}
}

type forgetful struct{}

func (forgetful) Active() (repository.Active, error) { return repository.Active{}, errors.New("gone") }
func (forgetful) SetActive(repository.Active) error  { return errors.New("disk full") }

// At a start the previous model takes the place of one that went bad.
func TestRestoreFallsBack(t *testing.T) {
	h := newHouse(t, nil)
	for seed := range uint64(2) {
		h.add(t, "demo", servetest.Model(t, seed+1))
		if _, err := h.Load(t.Context(), "demo", "latest", true); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(h.repo.Root(), "demo", "1.1.0", "weights.safetensors")
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	next := newHouse(t, h.repo)
	if err := next.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), "demo/1.1.0") {
		t.Errorf("got %v, want the damaged version named", err)
	}
	if got := roles(next.view.JobStrategy); got != "demo/1.0.0 - -" {
		t.Errorf("got %s, want the previous one in charge", got)
	}
	empty := newHouse(t, nil)
	if err := empty.Restore(t.Context()); err != nil || empty.view.JobStrategy.Active != nil {
		t.Errorf("nothing kept: got %v", err)
	}
}

func TestModes(t *testing.T) {
	dir := t.TempDir()
	m, err := live.NewModes(dir, live.Setting{Mode: live.Policy})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Set("c1", live.Setting{Mode: live.Shadow}), m.Set("c2", live.Setting{Mode: live.Off}), m.SetDefault(live.Setting{Mode: live.Canary, Share: 0.25}), m.Unset("c2")); err != nil {
		t.Fatal(err)
	}
	again, err := live.NewModes(dir, live.Setting{Mode: live.LP})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Get(), again.Get()); diff != "" {
		t.Errorf("another process (-want +got):\n%s", diff)
	}
	if got := again.Get().Of("c1"); got.Mode != live.Shadow {
		t.Errorf("c1: got %v", got)
	}
	if got := again.Get().Of("c2"); got.Mode != live.Canary {
		t.Errorf("c2: got %v", got)
	}
	before := m.Get()
	for _, err := range []error{
		m.SetDefault(live.Setting{Mode: "lpp"}), m.Set("c.3", live.Setting{Mode: live.LP}), m.Set("c3", live.Setting{Mode: live.LP, Share: 0.5}),
		m.SetDefault(live.Setting{Mode: live.Canary, Share: 1.5}), m.SetDefault(live.Setting{Mode: live.Canary, Share: math.NaN()}),
	} {
		if err == nil {
			t.Error("got no error")
		}
	}
	if m.Get() != before {
		t.Error("a refused change holds")
	}
	// A damaged file is told, and does not keep the service from starting.
	if err := os.WriteFile(filepath.Join(dir, "modes.json"), []byte(`{"format":1,"default":{"mode":"x"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, err := live.NewModes(dir, live.Setting{Mode: live.LP})
	if err == nil || damaged == nil || damaged.Get().Of("c1").Mode != live.LP {
		t.Errorf("got %v, %v, want an error and the first setting", damaged, err)
	}
	gone, err := live.NewModes(filepath.Join(dir, "gone"), live.Setting{Mode: live.LP})
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.SetDefault(live.Setting{Mode: live.Policy}); !errors.Is(err, live.ErrNotKept) || gone.Get().Default.Mode != live.Policy {
		t.Errorf("no folder: got %v, want the change and ErrNotKept", err)
	}
	memory, err := live.NewModes("", live.Setting{Mode: live.LP})
	if err != nil || memory.SetDefault(live.Setting{Mode: live.Policy}) != nil {
		t.Error("modes in memory only fail")
	}
}

// A canary's share is what it says, and a larger one holds the smaller.
func TestCanaryShare(t *testing.T) {
	for _, share := range []float64{0, 0.1, 0.5, 1} {
		in := 0
		for i := range 10_000 {
			if (live.Setting{Mode: live.Canary, Share: share}).Has(fmt.Sprintf("cluster-%d", i)) {
				in++
			}
		}
		if got := float64(in) / 10_000; math.Abs(got-share) > 0.02 {
			t.Errorf("share %v: got %v of the clusters", share, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[A-Za-z0-9_-]{1,32}`).Draw(t, "id")
		a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		small, large := live.Setting{Mode: live.Canary, Share: min(a, b)}, live.Setting{Mode: live.Canary, Share: max(a, b)}
		if small.Has(id) && !large.Has(id) {
			t.Fatalf("%s is in %v but not in %v", id, small.Share, large.Share)
		}
	})
}

func TestProbeFindsOverflow(t *testing.T) {
	m := servetest.Model(t, 1)
	if err := neural.Probe(m); err != nil {
		t.Error(err)
	}
	m.Params.Tensors[nn.ScoreLinearWeight].Data[0] = math.MaxFloat32
	m.Params.Tensors[nn.ScoreLinearWeight].Data[1] = math.MaxFloat32
	if err := neural.Probe(m); !errors.Is(err, neural.ErrNonFinite) {
		t.Errorf("got %v, want ErrNonFinite", err)
	}
}
