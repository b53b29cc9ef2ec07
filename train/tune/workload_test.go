package tune

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// poisson generates jobs of exponential gaps and log-uniform durations: a few
// GPUs are worth queueing for, and short jobs have to wait for long ones unless
// the scheduler is configured for it.
type poisson struct{ perHour float64 }

func (g poisson) Generate(seed uint64, from, horizon time.Duration) ([]env.Job, error) {
	r := rng.New(seed, "test/poisson")
	var jobs []env.Job
	for at := from; ; {
		at += time.Duration(r.ExpFloat64() / g.perHour * float64(time.Hour))
		if at >= from+horizon {
			return jobs, nil
		}
		seconds := 600.0
		if u := r.Float64(); u > 0.7 {
			seconds = 40_000 * (u - 0.6)
		}
		jobs = append(jobs, env.Job{
			ID: int64(len(jobs) + 1), Model: "m", Batch: 1, GPUs: 1 + r.IntN(2),
			Work: seconds, Submit: at, Weight: 1,
		})
	}
}

// episodes returns a workload of n jobs.
func (g poisson) episodes(n int) sim.Workload {
	return func(seed uint64) ([]env.Job, error) {
		jobs, err := g.Generate(seed, 0, time.Duration(3*float64(n)/g.perHour*float64(time.Hour)))
		return jobs[:min(n, len(jobs))], err
	}
}

// unit gives every job one strategy: the GPUs it requested on the only type,
// 1 step/s, no restart cost unless set.
type unit struct{ restart time.Duration }

func (u unit) Strategies(j *env.Job, _ *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{{GPUs: j.GPUs, Nodes: 1, Throughput: 1, Restart: u.restart}}, nil
}

// gpus returns a cluster of one node with n GPUs.
func gpus(n int) env.Cluster {
	return env.Cluster{Types: []env.GPUType{{Name: "V100", MemoryGiB: 16}}, Nodes: []env.Node{{GPUs: n}}}
}

// busySim is a cluster of 4 GPUs at a load of about 1.
func busySim(knowledge env.Knowledge) sim.Config {
	return sim.Config{
		Cluster: gpus(4), Candidates: unit{time.Minute}, Knowledge: knowledge,
		Workload: poisson{2.2}.episodes(60),
	}
}

func newEngine(t testing.TB, cfg EngineConfig) *Engine {
	t.Helper()
	e, err := NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// stateAfter returns the state of an episode after some time under the default
// configuration.
func stateAfter(t testing.TB, cfg sim.Config, seed uint64, after time.Duration) *env.State {
	t.Helper()
	s := newSim(t, cfg, seed)
	p := defaultPolicy(t)
	for s.State().Now < after {
		a, err := p.Decide(t.Context(), s.State())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	return s.State()
}

func newSim(t testing.TB, cfg sim.Config, seed uint64) *sim.Sim {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(seed); err != nil {
		t.Fatal(err)
	}
	return s
}
