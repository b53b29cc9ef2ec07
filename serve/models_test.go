package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// house is a service over a repository of models.
type house struct {
	service
	repo *repository.Repository
}

// startHouse starts a service on a repository with this many versions of demo, none
// of them loaded.
func startHouse(t *testing.T, versions int, edit func(*serve.Config)) *house {
	t.Helper()
	repo, err := repository.Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &house{repo: repo}
	for i := range versions {
		h.add(t, servetest.Model(t, uint64(i+1)))
	}
	cfg := serve.Config{Models: serve.Models{Root: repo.Root()}, Guard: servetest.Guard(t)}
	cfg.Guard.NonFinite = neural.ErrNonFinite
	if edit != nil {
		edit(&cfg)
	}
	h.service = start(t, cfg)
	return h
}

func (h *house) add(t *testing.T, m *models.Model) repository.ID {
	t.Helper()
	id, err := h.repo.Add("demo", servetest.Files(t, m), repository.Version{})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// place writes files as a version without any check, as a broken disk would.
func (h *house) place(t *testing.T, version string, f models.Files) {
	t.Helper()
	if err := f.Write(filepath.Join(h.repo.Root(), "demo", version)); err != nil {
		t.Fatal(err)
	}
}

// ask sends an operator's request and returns the reply, or the refusal.
func ask(t testing.TB, nc *nats.Conn, endpoint string, request any) (*admin.Reply, *wire.Error) {
	t.Helper()
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := nc.RequestWithContext(ctx, "yardmaster.v1.admin."+endpoint, body)
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Get("Nats-Service-Error-Code") != "" {
		refusal := new(wire.Error)
		if err := json.Unmarshal(m.Data, refusal); err != nil {
			t.Fatal(err)
		}
		return nil, refusal
	}
	reply := new(admin.Reply)
	if err := json.Unmarshal(m.Data, reply); err != nil {
		t.Fatal(err)
	}
	return reply, nil
}

func (h *house) load(t testing.TB, version string, promote bool) *admin.Reply {
	t.Helper()
	reply, refusal := ask(t, h.nc, admin.Load, admin.LoadRequest{Name: "demo", Version: version, Promote: promote})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return reply
}

// decide asks for a decision for a cluster.
func (h *house) decide(t testing.TB, cluster string, seq uint64) *wire.Allocation {
	t.Helper()
	s := servetest.State(t, 1, seq)
	s.Cluster = cluster
	m, err := h.nc.Request("yardmaster.v1.svc.decide", servetest.Body(t, s), patience)
	if err != nil {
		t.Fatal(err)
	}
	a, err := wire.DecodeAllocation(m.Data)
	if err != nil {
		t.Fatalf("%s: %v", m.Data, err)
	}
	return a
}

func (h *house) wantReady(t *testing.T) {
	t.Helper()
	for _, c := range h.Checks() {
		if c.Err != nil {
			t.Errorf("not ready: %s: %v", c.Name, c.Err)
		}
	}
}

// wantRefused checks that a load is refused with all of parts, and that nothing
// changed: the model in charge, readiness, and the next load.
func (h *house) wantRefused(t *testing.T, version, result string, parts ...string) {
	t.Helper()
	before := h.Stats().Models
	_, refusal := ask(t, h.nc, admin.Load, admin.LoadRequest{Name: "demo", Version: version, Promote: true})
	if refusal == nil {
		t.Fatalf("version %s was loaded", version)
	}
	for _, part := range parts {
		if !strings.Contains(refusal.Message, part) {
			t.Errorf("version %s: the refusal does not say %q: %v", version, part, refusal)
		}
	}
	after := h.Stats().Models
	if after.Loads[result] != before.Loads[result]+1 || after.LastError == "" {
		t.Errorf("version %s: loads were %v and are %v, want one more %s", version, before.Loads, after.Loads, result)
	}
	if diff := cmp.Diff(before.Loaded, after.Loaded); diff != "" || after.Swaps != before.Swaps {
		t.Errorf("version %s: the models in use changed:\n%s", version, diff)
	}
	h.wantReady(t)
}

// A model file that is cut off at any 4 KiB or has any bit flipped is refused
// before it is parsed; the running model decides on, the service stays ready, and
// observers are told.
func TestFault12ModelDamaged(t *testing.T) {
	h := startHouse(t, 1, nil)
	name := h.load(t, "latest", true).JobStrategy.Active
	events := subscribe(t, h.nc, "yardmaster.v1.event.model.*")
	good := servetest.Files(t, servetest.Model(t, 7))
	damage := func(what string, result string, f models.Files) {
		h.place(t, "9.9.9", f)
		h.wantRefused(t, "9.9.9", result, "demo/9.9.9")
		e := new(wire.Event)
		if err := json.Unmarshal(next(t, events).Data, e); err != nil || !strings.Contains(e.Message, "not loaded") {
			t.Errorf("%s: got event %+v, %v", what, e, err)
		}
	}
	for _, file := range []struct {
		name string
		of   func(*models.Files) *[]byte
	}{
		{"manifest", func(f *models.Files) *[]byte { return &f.Manifest }}, {"weights", func(f *models.Files) *[]byte { return &f.Weights }}, {"golden", func(f *models.Files) *[]byte { return &f.Golden }},
	} {
		whole := *file.of(&good)
		for n := 0; n < len(whole); n += 4 << 10 {
			f := good
			*file.of(&f) = whole[:n]
			damage(fmt.Sprintf("%s cut at %d of %d", file.name, n, len(whole)), live.ResultDamaged, f)
		}
		if file.name == "manifest" {
			continue // a digit of a metric may change and nothing is wrong: models.TestDecode… has the rest
		}
		for at := 0; at < len(whole); at += len(whole)/20 + 1 {
			f := good
			*file.of(&f) = bytes.Clone(whole)
			(*file.of(&f))[at] ^= 1 << (at % 8)
			damage(fmt.Sprintf("%s with a flipped bit in byte %d", file.name, at), live.ResultDamaged, f)
		}
	}
	if a := h.decide(t, "c1", 1); a.Model != name || a.Source != wire.SourcePolicy {
		t.Errorf("got %s by %s, want %s in charge", a.Source, a.Model, name)
	}
	if err := os.RemoveAll(filepath.Join(h.repo.Root(), "demo", "9.9.9")); err != nil {
		t.Fatal(err)
	}
	h.add(t, servetest.Model(t, 8))
	if reply := h.load(t, "latest", true); !strings.HasPrefix(reply.JobStrategy.Active, "demo@1.1.0+") {
		t.Errorf("the next good model: got %+v", reply.JobStrategy)
	}
}

// A model of another format, network, encoder or kind is refused with both sides
// named; the running model decides on.
func TestFault13ModelIncompatible(t *testing.T) {
	h := startHouse(t, 1, nil)
	h.load(t, "latest", true)
	edited := func(edit func(*models.Model)) models.Files {
		m := servetest.Model(t, 7)
		edit(m)
		return servetest.Files(t, m)
	}
	replaced := func(old, text string) models.Files {
		f := servetest.Files(t, servetest.Model(t, 7))
		f.Manifest = bytes.Replace(f.Manifest, []byte(old), []byte(text), 1)
		return f
	}
	current := servetest.Model(t, 7).Manifest.Encoder.Version
	for name, test := range map[string]struct {
		f    models.Files
		want []string
	}{
		"format":       {replaced(`"format": 1`, `"format": 2`), []string{"format version is 2", "want 1"}},
		"architecture": {replaced(models.Architecture, "transformer/1"), []string{"transformer/1", models.Architecture}},
		"encoder":      {edited(func(m *models.Model) { m.Manifest.Encoder.Version = "job-strategy/0" }), []string{"job-strategy/0", current}},
		"feature": {edited(func(m *models.Model) { m.Manifest.Encoder.Candidate[3].Name = "colour" }), []string{
			"colour", servetest.Model(t, 7).Manifest.Encoder.Candidate[3].Name,
		}},
		"bounds": {edited(func(m *models.Model) { m.Manifest.Encoder.Global[0].High = 99 }), []string{"99"}},
	} {
		t.Run(name, func(t *testing.T) {
			h.place(t, "9.9.9", test.f)
			h.wantRefused(t, "9.9.9", live.ResultIncompatible, test.want...)
		})
	}
}

// A model that is whole but does not score as it did where it was trained, or
// overflows, is refused when it is warmed up.
func TestFault14ModelBad(t *testing.T) {
	h := startHouse(t, 1, nil)
	h.load(t, "latest", true)
	t.Run("golden", func(t *testing.T) {
		good, other := servetest.Model(t, 7), servetest.Model(t, 8)
		f := servetest.Files(t, good)
		stale := *other
		stale.Golden = nil
		g := servetest.Files(t, &stale)
		// Its golden file is whole, and that of other parameters.
		g.Golden = f.Golden
		g.Manifest = bytes.Replace(g.Manifest, []byte(`"weights_sha256"`), fmt.Appendf(nil, `"golden_sha256": %q, "weights_sha256"`, good.Manifest.GoldenSHA256), 1)
		h.place(t, "9.9.9", g)
		h.wantRefused(t, "9.9.9", live.ResultGolden, "golden", "row")
	})
	t.Run("overflow", func(t *testing.T) {
		m := servetest.Model(t, 7)
		m.Golden = nil
		for i := range m.Params.Tensors[nn.ScoreHiddenWeight].Data {
			m.Params.Tensors[nn.ScoreHiddenWeight].Data[i] = 1e38
		}
		h.place(t, "9.9.9", servetest.Files(t, m))
		h.wantRefused(t, "9.9.9", live.ResultNonFinite, "not finite")
	})
	t.Run("not a number", func(t *testing.T) {
		f := servetest.Files(t, servetest.Model(t, 7))
		copy(f.Weights[len(f.Weights)-4:], []byte{0, 0, 0xc0, 0x7f}) // NaN, little-endian
		h.place(t, "9.9.9", rehash(t, f))
		h.wantRefused(t, "9.9.9", live.ResultDamaged, "9.9.9")
	})
}

// rehash gives the manifest the hash of the weights.
func rehash(t *testing.T, f models.Files) models.Files {
	t.Helper()
	var manifest map[string]any
	if err := json.Unmarshal(f.Manifest, &manifest); err != nil {
		t.Fatal(err)
	}
	manifest["weights_sha256"] = models.Hash(f.Weights)
	raw, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	f.Manifest = raw
	return f
}

// linear returns a model that scores by these features alone.
func linear(t *testing.T, weights map[string]float32) *models.Model {
	t.Helper()
	m := servetest.Model(t, 1)
	m.Golden = nil
	clear(m.Params.Flat)
	found := 0
	for i, f := range m.Manifest.Encoder.Candidate {
		if w, ok := weights[f.Name]; ok {
			m.Params.Tensors[nn.ScoreLinearWeight].Data[i] = w
			found++
		}
	}
	if found != len(weights) {
		t.Fatalf("the encoder has %d of the features %v", found, weights)
	}
	return m
}

// A model that is whole and makes bad decisions is found out by what the linear
// program makes of the same states: the guard decides without it, and after a while
// the model before is in charge again, by itself and for good.
func TestFault14BadModelIsRolledBack(t *testing.T) {
	const after = 5
	h := startHouse(t, 0, func(c *serve.Config) {
		c.Guard.Regret.Budget, c.Guard.Regret.Window, c.Guard.Regret.Every = 0.3, 3, 1
		c.Guard.Unfamiliar.Off = true
		c.Models.RollbackAfter = after
	})
	h.add(t, linear(t, map[string]float32{"log_density": 1, "moves": -0.3, "is_stop": -8}))
	h.add(t, linear(t, map[string]float32{"log_density": -1, "is_stop": 50})) // runs one job, then stops
	good := h.load(t, "1.0.0", true).JobStrategy.Active
	bad := h.load(t, "1.1.0", true).JobStrategy.Active
	events := subscribe(t, h.nc, "yardmaster.v1.event.model.*")
	decisions := h.follow(t, "c1")
	s := servetest.State(t, 1, 0)
	seen := make(map[string]int)
	decide := func() *wire.Allocation {
		s.Seq++
		h.publish(t, "c1", servetest.Body(t, s))
		a := nextAllocation(t, decisions)
		seen[fmt.Sprint(a.Model, " ", a.Source, " ", a.Reason)]++
		return a
	}
	for range 200 {
		if a := decide(); a.Model == good {
			break
		}
		time.Sleep(5 * time.Millisecond) // comparisons are made after the decision
	}
	if seen[bad+" lp regret"] < after || seen[bad+" policy "] == 0 {
		t.Fatalf("got decisions %v, want some by the bad model, then at least %d without it for its regret, then the good one", seen, after)
	}
	e := new(wire.Event)
	if err := json.Unmarshal(next(t, events).Data, e); err != nil || e.Model != good || !strings.Contains(e.Message, bad) || !strings.Contains(e.Message, "regret") {
		t.Errorf("got event %+v, %v", e, err)
	}
	for range 20 {
		if a := decide(); a.Model != good {
			t.Fatalf("got %s by %s, want the good model to stay in charge", a.Source, a.Model)
		}
	}
	stats := h.Stats().Models
	if stats.Rollbacks != 1 || len(stats.Loaded) != 2 || stats.Loaded[0].Version != "1.0.0" || stats.Loaded[1].Version != "1.1.0" || stats.Loaded[1].Role != "previous" {
		t.Errorf("got %+v", stats)
	}
	h.wantReady(t)
}

// Requests, which anyone may make about any state, take no model out of charge,
// however badly it does on them; published states do.
func TestRequestsTakeNoModelOutOfCharge(t *testing.T) {
	const after = 3
	h := startHouse(t, 2, func(c *serve.Config) {
		c.Guard.Deadline = time.Microsecond // every policy is late
		c.Guard.Breaker.Failures, c.Guard.Breaker.Window = 1, 2
		c.Models.RollbackAfter = after
	})
	good := h.load(t, "1.0.0", true).JobStrategy.Active
	bad := h.load(t, "1.1.0", true).JobStrategy.Active
	s := servetest.State(t, 1, 0)
	open := 0 // requests that the breaker kept from the model
	for range 5 * after {
		s.Seq++
		m, code := h.request(t, servetest.Body(t, s))
		if code != "" {
			t.Fatalf("got %s: %s", code, m.Data)
		}
		a, err := wire.DecodeAllocation(m.Data)
		if err != nil || a.Model != bad {
			t.Fatalf("request %d: got %+v, %v, want %s in charge", s.Seq, a, err, bad)
		}
		if a.Reason == wire.ReasonBreaker {
			open++
		}
	}
	if n := h.Stats().Models.Rollbacks; n != 0 || open < after {
		t.Fatalf("%d requests made %d rollbacks, want none and at least %d requests with the breaker open", open, n, after)
	}
	decisions := h.follow(t, "c1")
	eventually(t, "published states take it out", func() bool {
		s.Seq++
		h.publish(t, "c1", servetest.Body(t, s))
		return nextAllocation(t, decisions).Model == good
	})
}

// Without any model the linear program decides: degraded, and ready.
func TestFault15NoModelAtStart(t *testing.T) {
	for name, edit := range map[string]func(*serve.Config){
		"empty folder":    nil,
		"no folder":       func(c *serve.Config) { c.Models.Root = filepath.Join(c.Models.Root, "new", "folder") },
		"no such model":   func(c *serve.Config) { c.Models.Name = "demo" },
		"no such version": func(c *serve.Config) { c.Models.Name, c.Models.Version = "demo", "1.2.3" },
		"without models": func(c *serve.Config) {
			c.Models, c.Guard.Policy, c.Guard.ModelName = serve.Models{}, nil, ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := startHouse(t, 0, edit)
			h.wantReady(t)
			if s := h.Stats(); !s.Models.Degraded || s.Model != "" {
				t.Errorf("got degraded %v with model %q", s.Models.Degraded, s.Model)
			}
			if a := h.decide(t, "c1", 1); a.Source != wire.SourceLP || a.Reason != wire.ReasonNoModel || a.Model != "" || len(a.Picks) == 0 {
				t.Errorf("got %s, %q by %q", a.Source, a.Reason, a.Model)
			}
		})
	}
}

// answers returns what each version of demo decides on a state, by name.
func answers(t *testing.T, h *house, s *env.State) map[string]env.Allocation {
	t.Helper()
	list, err := h.repo.List()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]env.Allocation)
	for _, e := range list {
		m, err := h.repo.Load(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		p, err := neural.NewPolicy(m)
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("%s@%s+%.12s", e.ID.Name, e.ID.Version, e.SHA256)] = a
	}
	return all
}

// Models are swapped again and again while requests and published states come in:
// none fails, and each answer is exactly what the one model that it names decides.
func TestFault29HotSwapUnderLoad(t *testing.T) {
	h := startHouse(t, 3, func(c *serve.Config) {
		c.Guard.Regret.Off, c.Guard.Breaker.Off, c.Guard.Unfamiliar.Off, c.Guard.Starvation.Off = true, true, true, true
	})
	h.load(t, "1.0.0", true)
	s := servetest.State(t, 1, 1)
	want := answers(t, h, &s.State)
	if len(want) != 3 {
		t.Fatalf("got %d models", len(want))
	}
	var stop atomic.Bool
	var clients sync.WaitGroup
	var mu sync.Mutex
	by := make(map[string]int)
	check := func(a *wire.Allocation) {
		expected, known := want[a.Model]
		if !known || a.Source != wire.SourcePolicy {
			t.Errorf("got an answer by %s, %q of model %q", a.Source, a.Reason, a.Model)
			return
		}
		if diff := cmp.Diff(expected, a.Allocation(&s.State)); diff != "" {
			t.Errorf("%s is said to have decided what it did not:\n%s", a.Model, diff)
		}
		mu.Lock()
		by[a.Model]++
		mu.Unlock()
	}
	for c := range 4 {
		clients.Go(func() {
			nc := connectQuietly(h.URL())
			if nc == nil {
				t.Error("a client cannot connect")
				return
			}
			defer nc.Close()
			mine := *s
			mine.Cluster = fmt.Sprintf("c%d", c+1)
			for mine.Seq = 1; !stop.Load(); mine.Seq++ {
				m, err := nc.Request("yardmaster.v1.svc.decide", servetest.Body(t, &mine), patience)
				if err != nil {
					t.Errorf("request failed: %v", err)
					return
				}
				a, err := wire.DecodeAllocation(m.Data)
				if err != nil {
					t.Errorf("got %s: %v", m.Data, err)
					return
				}
				check(a)
			}
		})
	}
	clients.Go(func() {
		nc := connectQuietly(h.URL())
		if nc == nil {
			t.Error("a cluster cannot connect")
			return
		}
		defer nc.Close()
		msgs := make(chan *nats.Msg, 64)
		if _, err := nc.ChanSubscribe("yardmaster.v1.decision.c9.allocation", msgs); err != nil {
			t.Error(err)
			return
		}
		mine := *s
		mine.Cluster = "c9"
		for mine.Seq = 1; !stop.Load(); mine.Seq++ {
			if err := nc.Publish("yardmaster.v1.state.c9", servetest.Body(t, &mine)); err != nil {
				t.Error(err)
				return
			}
			select {
			case m := <-msgs:
				a, err := wire.DecodeAllocation(m.Data)
				if err != nil || a.StateSeq != mine.Seq || m.Header.Get(wire.HeaderModel) != a.Model {
					t.Errorf("got %+v with header %q, %v for state %d", a, m.Header.Get(wire.HeaderModel), err, mine.Seq)
					return
				}
				check(a)
			case <-time.After(patience):
				t.Errorf("no decision for state %d", mine.Seq)
				return
			}
		}
	})
	for i := range 40 {
		switch i % 4 {
		case 0:
			h.load(t, "1.1.0", true)
		case 1:
			if _, refusal := ask(t, h.nc, admin.Rollback, nil); refusal != nil {
				t.Error(refusal)
			}
		case 2:
			h.load(t, "1.2.0", false)
		default:
			if _, refusal := ask(t, h.nc, admin.Promote, nil); refusal != nil {
				t.Error(refusal)
			}
		}
	}
	stop.Store(true)
	clients.Wait()
	if len(by) != 3 {
		t.Errorf("got answers by %v, want by all three models", by)
	}
	if stats := h.Stats(); stats.Models.Swaps < 30 || stats.PublishErrors != 0 {
		t.Errorf("got %d swaps and %d publish errors", stats.Models.Swaps, stats.PublishErrors)
	}
	t.Logf("answers by model: %v", by)
}

// connectQuietly connects for a goroutine, which must not end the test.
func connectQuietly(url string) *nats.Conn {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil
	}
	return nc
}

// The modes say who decides, at once and after a restart.
func TestModesOfClusters(t *testing.T) {
	h := startHouse(t, 2, nil)
	h.load(t, "1.0.0", true)
	h.load(t, "1.1.0", false)
	v1, v2 := h.Stats().Models.Loaded[0], h.Stats().Models.Loaded[1]
	if v1.Version != "1.0.0" || v2.Role != "candidate" || v2.Version != "1.1.0" {
		t.Fatalf("got %+v", h.Stats().Models.Loaded)
	}
	seq := uint64(0)
	want := func(what, cluster string, source wire.Source, reason wire.Reason, version string) {
		t.Helper()
		seq++
		a := h.decide(t, cluster, seq)
		if a.Source != source || a.Reason != reason || version == "" != (a.Model == "") || !strings.Contains(a.Model, version) {
			t.Errorf("%s: got %s, %q by %q, want %s, %q by %q", what, a.Source, a.Reason, a.Model, source, reason, version)
		}
	}
	set := func(r admin.ModeRequest) {
		t.Helper()
		if _, refusal := ask(t, h.nc, admin.Mode, r); refusal != nil {
			t.Fatal(refusal)
		}
	}
	want("at first", "c1", wire.SourcePolicy, "", "1.0.0")
	set(admin.ModeRequest{Cluster: "c1", Mode: live.LP})
	want("lp", "c1", wire.SourceLP, wire.ReasonMode, "")
	want("another", "c2", wire.SourcePolicy, "", "1.0.0")
	set(admin.ModeRequest{Mode: live.Canary, Share: 1})
	want("canary of all", "c2", wire.SourcePolicy, "", "1.1.0")
	set(admin.ModeRequest{Mode: live.Canary, Share: 0})
	want("canary of none", "c2", wire.SourcePolicy, "", "1.0.0")
	set(admin.ModeRequest{Cluster: "c3", Mode: live.Off})
	s := servetest.State(t, 1, 1)
	s.Cluster = "c3"
	if m, code := h.request(t, servetest.Body(t, s)); code != "503" || !strings.Contains(string(m.Data), "switched off") {
		t.Errorf("off: got %s, %s", code, m.Data)
	}
	set(admin.ModeRequest{Cluster: "c1", Unset: true})
	want("unset", "c1", wire.SourcePolicy, "", "1.0.0")
	if stats := h.Stats().Models; stats.Mode != "canary (0 of the clusters)" || stats.Modes["off"] != 1 || len(stats.Modes) != 1 {
		t.Errorf("got modes %q and %v", stats.Mode, stats.Modes)
	}
	for name, r := range map[string]admin.ModeRequest{
		"mode": {Mode: "lpp"}, "cluster": {Cluster: "a.b", Mode: live.LP}, "share": {Mode: live.LP, Share: 0.5}, "unset": {Unset: true}, "both": {Cluster: "c1", Unset: true, Mode: live.LP},
	} {
		if _, refusal := ask(t, h.nc, admin.Mode, r); refusal == nil || refusal.Code != wire.CodeInvalid {
			t.Errorf("bad %s: got %v, want invalid", name, refusal)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again := &house{start(t, serve.Config{Models: serve.Models{Root: h.repo.Root()}, Guard: servetest.Guard(t)}), h.repo}
	if a, b := again.Stats().Models, h.Stats().Models; a.Mode != b.Mode || !cmp.Equal(a.Modes, b.Modes) || !cmp.Equal(a.Loaded, b.Loaded) {
		t.Errorf("after a restart: got %+v, want %+v", a, b)
	}
}

func TestAdminRefusals(t *testing.T) {
	h := startHouse(t, 1, nil)
	for _, test := range []struct {
		endpoint string
		body     any
		code     wire.Code
		says     string
	}{
		{admin.Load, admin.LoadRequest{Name: "other"}, wire.CodeInvalid, "no such model"},
		{admin.Load, admin.LoadRequest{Name: "demo", Version: "newest"}, wire.CodeInvalid, "latest"},
		{admin.Load, admin.LoadRequest{Name: "../demo"}, wire.CodeInvalid, "name"},
		{admin.Load, map[string]any{"nmae": "demo"}, wire.CodeInvalid, "nmae"},
		{admin.Promote, nil, wire.CodeInvalid, "no candidate"},
		{admin.Rollback, admin.KindRequest{Kind: models.Configuration}, wire.CodeInvalid, "no earlier model"},
		{admin.Discard, admin.KindRequest{Kind: "other"}, wire.CodeInvalid, "kind"},
		{admin.Models, strings.Repeat("x", 5000), wire.CodeTooLarge, "bytes"},
	} {
		_, refusal := ask(t, h.nc, test.endpoint, test.body)
		if refusal == nil || refusal.Code != test.code || !strings.Contains(refusal.Error(), test.says) {
			t.Errorf("%s %v: got %v, want %v with %q", test.endpoint, test.body, refusal, test.code, test.says)
		}
	}
	// A service with fixed models says so.
	fixed := start(t, serve.Config{})
	if _, refusal := ask(t, fixed.nc, admin.Load, admin.LoadRequest{Name: "demo"}); refusal == nil || !strings.Contains(refusal.Message, "fixed") {
		t.Errorf("got %v", refusal)
	}
	if reply, refusal := ask(t, fixed.nc, admin.Models, nil); refusal != nil || reply.JobStrategy.Active != "srtf@1" {
		t.Errorf("got %+v, %v", reply, refusal)
	}
	if _, refusal := ask(t, fixed.nc, admin.Mode, admin.ModeRequest{Mode: live.LP}); refusal != nil {
		t.Errorf("modes of a service with fixed models: %v", refusal)
	}
}

// The client of operators asks every service on a broker.
func TestAdminClientAsksAll(t *testing.T) {
	b := external(t, broker.Config{})
	var services []*serve.Server
	for range 2 {
		repo, err := repository.Create(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Add("demo", servetest.Files(t, servetest.Model(t, 1)), repository.Version{}); err != nil {
			t.Fatal(err)
		}
		services = append(services, startQuietly(t, serve.Config{URL: b.URL(), Guard: servetest.Guard(t), Models: serve.Models{Root: repo.Root()}}))
	}
	c, err := admin.NewClient(connect(t, b.URL()), "", serve.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := c.Do(ctx, admin.Load, admin.LoadRequest{Name: "demo", Promote: true})
	if err != nil || len(got) != 2 || got[0].Reply == nil || got[1].Reply == nil || got[0].Reply.Server == got[1].Reply.Server {
		t.Fatalf("got %+v, %v, want a reply of each service", got, err)
	}
	for _, s := range services {
		if s.Stats().Model == "" {
			t.Error("a service did not load the model")
		}
	}
	if got, err := c.Do(ctx, admin.Load, admin.LoadRequest{Name: "other"}); err != nil || len(got) != 2 || got[0].Refusal == nil {
		t.Errorf("got %+v, %v, want two refusals", got, err)
	}
	nobody, err := admin.NewClient(connect(t, b.URL()), "elsewhere", serve.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.Do(ctx, admin.Models, nil); !errors.Is(err, admin.ErrNobody) {
		t.Errorf("got %v, want that nobody answered", err)
	}
}

// only returns the one version there is.
func (h *house) only(t *testing.T) repository.ID {
	t.Helper()
	list, err := h.repo.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v, want one version", list, err)
	}
	return list[0].ID
}

// The configurer of the service's own configuration decides until a repository's is
// loaded, and again after nothing.
func TestConfigurerUntilOneIsLoaded(t *testing.T) {
	h := startHouse(t, 1, func(c *serve.Config) {
		c.Guard.Configurer = servetest.Configurer(func(context.Context, *env.State) (env.Configuration, error) {
			return env.Configuration{Scheduler: "tiresias"}, nil
		})
		c.Guard.ConfigurerName = "own@1"
	})
	h.load(t, "latest", true)
	decisions := subscribe(t, h.nc, "yardmaster.v1.decision.*.configuration")
	want := func(cluster, model string) {
		t.Helper()
		s := servetest.State(t, 1, 1)
		s.Cluster = cluster
		h.publish(t, cluster, servetest.Body(t, s))
		if c, err := wire.DecodeConfiguration(next(t, decisions).Data); err != nil || !strings.HasPrefix(c.Model, model) {
			t.Errorf("got %+v, %v, want a configuration by %s", c, err, model)
		}
	}
	want("c1", "own@1")
	if _, err := h.repo.Add("tiresias", servetest.Files(t, servetest.ConfigurationModel(1)), repository.Version{}); err != nil {
		t.Fatal(err)
	}
	reply, refusal := ask(t, h.nc, admin.Models, nil)
	if refusal != nil || reply.Configuration.Active != "own@1" || !strings.HasPrefix(reply.JobStrategy.Active, "demo@1.0.0+") {
		t.Errorf("got %+v, %v", reply, refusal)
	}
	if _, refusal := ask(t, h.nc, admin.Load, admin.LoadRequest{Name: "tiresias", Promote: true}); refusal != nil {
		t.Fatal(refusal)
	}
	want("c2", "tiresias@1.0.0+")
}
