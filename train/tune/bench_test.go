package tune

import (
	"context"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

// midState returns the state of a simulated cluster after some time.
func midState(t testing.TB, cfg sim.Config, seed uint64, after time.Duration) *env.State {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(seed); err != nil {
		t.Fatal(err)
	}
	p, _ := heuristic.FromConfiguration(heuristic.TiresiasDefault())
	for s.State().Now < after && !s.Done() {
		a, err := p.Decide(context.Background(), s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	return s.State()
}

func BenchmarkSearch(b *testing.B) {
	cfg := testSim(b, "V100=16,P100=16,K80=16")
	g := poisson{perHour: 1.4}
	cfg.Workload = g.episodes(400)
	state := midState(b, cfg, 1, 150*time.Hour)
	e, err := NewEngine(EngineConfig{Sim: cfg})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d jobs", len(state.Jobs))
	for b.Loop() {
		if _, err := e.Search(context.Background(), &Problem{State: state, Arrivals: g, Seed: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
