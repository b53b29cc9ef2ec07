package serve_test

import (
	"sync"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// decided asks a service what it decides.
func decided(t *testing.T, s service) *wire.Allocation {
	t.Helper()
	data, err := s.Decide(t.Context(), servetest.Body(t, servetest.State(t, 1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.DecodeAllocation(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Deadline, rails and policy change at once; what cannot be changes nothing.
func TestRetune(t *testing.T) {
	cfg := servetest.Guard(t)
	s := start(t, serve.Config{Guard: cfg})
	if m := decided(t, s); m.DeadlineMS != 10_000 || m.Model != "srtf@1" || m.Source != wire.SourcePolicy {
		t.Errorf("at first: got %v ms, %q by %s", m.DeadlineMS, m.Model, m.Source)
	}
	next := cfg
	next.Deadline, next.ModelName = 2*time.Second, "srtf@2"
	if err := s.Retune(next); err != nil {
		t.Fatal(err)
	}
	if m := decided(t, s); m.DeadlineMS != 2000 || m.Model != "srtf@2" || m.Source != wire.SourcePolicy {
		t.Errorf("retuned: got %v ms, %q by %s", m.DeadlineMS, m.Model, m.Source)
	}
	if got := s.Stats(); got.Model != "srtf@2" || got.Models.Swaps != 1 {
		t.Errorf("status: got %q after %d swaps", got.Model, got.Models.Swaps)
	}
	for name, bad := range map[string]func(*guard.Config){
		"reserve": func(c *guard.Config) { c.Reserve = 5 },
		"breaker": func(c *guard.Config) { c.Breaker.Failures = 99 },
	} {
		wrong := cfg
		bad(&wrong)
		if err := s.Retune(wrong); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if m := decided(t, s); m.DeadlineMS != 2000 || m.Model != "srtf@2" {
			t.Errorf("after a wrong %s: got %v ms, %q", name, m.DeadlineMS, m.Model)
		}
	}
	if err := s.SetMode(live.Setting{Mode: live.LP}); err != nil {
		t.Fatal(err)
	}
	if m := decided(t, s); m.Source != wire.SourceLP {
		t.Errorf("mode lp: got %s", m.Source)
	}
	if err := s.SetMode(live.Setting{Mode: "fast"}); err == nil {
		t.Error("an unknown mode: got no error")
	}
}

// A service may be looked at while it starts and while it ends.
func TestLookedAtWhileStarting(t *testing.T) {
	cfg := serve.Config{Guard: servetest.Guard(t)}
	cfg.Broker.StoreDir = t.TempDir()
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				s.Overview()
				s.Networks()
				s.LastStates()
			}
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	close(stop)
	wg.Wait()
}

// Retuning fails no request, and each is answered by one tuning.
func TestRetuneUnderLoad(t *testing.T) {
	cfg := servetest.Guard(t)
	s := start(t, serve.Config{Guard: cfg})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if m := decided(t, s); (m.DeadlineMS == 3000) != (m.Model == "three") || m.Source != wire.SourcePolicy {
					t.Errorf("got %v ms with %q by %s", m.DeadlineMS, m.Model, m.Source)
				}
			}
		})
	}
	for i := range 50 {
		next := cfg
		if i%2 == 0 {
			next.Deadline, next.ModelName = 3*time.Second, "three"
		}
		if err := s.Retune(next); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
	}
	close(stop)
	wg.Wait()
}
