package guard

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/serve/wire"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// BenchmarkOverhead is what the guard adds to the policy's own time on a loaded
// cluster of 64 GPUs, without its rails and with them:
//
//	go test ./serve/guard -run '^$' -bench Overhead
func BenchmarkOverhead(b *testing.B) {
	x := newShifts(b, 4000, 200, 6*time.Minute)
	cfg := x.at(b, scenario.Train, "V100=32,P100=16,K80=16", 2, 1)
	m := priorModel(b)
	if err := train.Characterise(b.Context(), m, func() (env.Env, error) { return sim.NewJobStrategy(cfg) }, []uint64{1, 2, 3, 4}, 1); err != nil {
		b.Fatal(err)
	}
	policy, err := neural.NewPolicy(m)
	if err != nil {
		b.Fatal(err)
	}
	s := message("c", 1, busy(b, cfg, 30))
	rows := 1
	for i := range s.State.Jobs {
		rows += len(s.State.Jobs[i].Strategies)
	}
	measure := func(name string, decide func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			took := make([]time.Duration, 0, 1<<20)
			for b.Loop() {
				start := time.Now()
				if err := decide(); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			// The fastest tenth: what a machine does besides does not count.
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/10])/1e3, "p10-µs")
			b.ReportMetric(float64(len(s.State.Jobs)), "jobs")
			b.ReportMetric(float64(rows), "rows")
		})
	}
	measure("policy", func() error {
		_, err := policy.Decide(b.Context(), &s.State)
		return err
	})
	measure("policy scored", func() error {
		_, _, err := policy.DecideScored(b.Context(), &s.State)
		return err
	})
	off := Config{Policy: unscored{policy}, Unfamiliar: Unfamiliar{Off: true}, Starvation: Starvation{Off: true}, Regret: Regret{Off: true}, Breaker: Breaker{Off: true}}
	for _, of := range []struct {
		name string
		cfg  Config
	}{{"guard", off}, {"guard with rails", Config{Policy: policy, Regret: Regret{Off: true}}}} {
		of.cfg.Fallback, of.cfg.Greedy, of.cfg.Deadline = program(b), heuristic.FIFO{}, time.Minute
		g := mustNew(b, of.cfg)
		measure(of.name, func() error {
			if d := g.Decide(b.Context(), s); d.Message.Source != wire.SourcePolicy {
				return fmt.Errorf("got %s, %q", d.Message.Source, d.Message.Reason)
			}
			return nil
		})
	}
}

// unscored hides that the policy can tell how novel a state is.
type unscored struct{ policy *neural.Policy }

func (p unscored) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	return p.policy.Decide(ctx, s)
}

// busy plays an episode until so many jobs are there.
func busy(t testing.TB, cfg sim.Config, jobs int) *env.State {
	t.Helper()
	density, err := heuristic.NewDensity(heuristic.DensityConfig{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	for !s.Done() && len(s.State().Jobs) < jobs {
		a, err := density.Decide(t.Context(), s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	return s.State()
}
