// Package servetest provides simulated clusters and simple policies for the
// tests of serve and the packages below it.
package servetest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Sim returns a simulated cluster of three GPU types at the start of an episode
// with this many jobs.
func Sim(t testing.TB, seed uint64, jobs int) *sim.Sim {
	t.Helper()
	catalogue := perf.Default()
	cluster, err := catalogue.ParseCluster("V100=8,P100=8,K80=8", 4)
	if err != nil {
		t.Fatal(err)
	}
	performance, err := perf.New(perf.Config{Catalogue: catalogue})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(sim.Config{Cluster: cluster, Candidates: performance, Workload: Workload(jobs)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(seed); err != nil {
		t.Fatal(err)
	}
	return s
}

// Workload returns n jobs that arrive faster than the cluster works.
func Workload(n int) sim.Workload {
	return func(seed uint64) ([]env.Job, error) {
		r := rng.New(seed, "workload")
		jobs := make([]env.Job, n)
		at := time.Duration(0)
		for i := range jobs {
			at += time.Duration(r.ExpFloat64() * float64(3*time.Minute))
			jobs[i] = env.Job{
				ID: int64(i + 1), Model: []string{"ResNet-18", "ResNet-50", "Transformer"}[r.IntN(3)], Batch: 32, GPUs: 1 << r.IntN(3),
				Work: 2000 * math.Pow(30, r.Float64()), Submit: at, Weight: 1, Tenant: "t",
			}
		}
		return jobs, nil
	}
}

// State returns a state with some jobs, as the cluster c1 would send it.
func State(t testing.TB, epoch, seq uint64) *wire.State {
	t.Helper()
	s := Sim(t, 1, 12)
	for range 4 { // so that some jobs run and some wait
		a, err := heuristic.FIFO{}.Decide(t.Context(), s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	return &wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: epoch, Seq: seq, State: *s.State()}
}

// Body returns the message of s.
func Body(t testing.TB, s *wire.State) []byte {
	t.Helper()
	data, err := wire.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Guard returns a configuration with SRTF in the place of the learned policy,
// a linear program behind it, and FIFO as the last.
func Guard(t testing.TB) guard.Config {
	t.Helper()
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// The deadline is generous: a test machine may be busy.
	return guard.Config{Policy: heuristic.SRTF{}, ModelName: "srtf@1", Fallback: guard.LP{Policy: program}, Greedy: heuristic.FIFO{}, Deadline: 10 * time.Second}
}

// Decider is a policy made of a function.
type Decider func(ctx context.Context, s *env.State) (env.Allocation, error)

// Decide implements guard.Decider.
func (d Decider) Decide(ctx context.Context, s *env.State) (env.Allocation, error) { return d(ctx, s) }

// Configurer is a configurer made of a function.
type Configurer func(ctx context.Context, s *env.State) (env.Configuration, error)

// Configure implements guard.Configurer.
func (c Configurer) Configure(ctx context.Context, s *env.State) (env.Configuration, error) {
	return c(ctx, s)
}
