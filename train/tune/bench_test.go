package tune

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// BenchmarkSearch is one search on 48 GPUs of three types under a long queue.
func BenchmarkSearch(b *testing.B) {
	cluster, err := perf.Default().ParseCluster("V100=16,P100=16,K80=16", 4)
	if err != nil {
		b.Fatal(err)
	}
	performance, err := perf.New(perf.Config{})
	if err != nil {
		b.Fatal(err)
	}
	cfg := busySim(env.Estimate)
	cfg.Cluster, cfg.Candidates = cluster, performance
	base := cfg.Workload
	cfg.Workload = func(seed uint64) ([]env.Job, error) {
		jobs, err := base(seed)
		for i := range jobs {
			jobs[i].Model, jobs[i].Batch = "ResNet-50", 32
			jobs[i].Work *= 50
		}
		return jobs, err
	}
	state := stateAfter(b, cfg, 1, 24*time.Hour)
	b.Logf("%d jobs", len(state.Jobs))
	e := newEngine(b, EngineConfig{Sim: cfg})
	p := &Problem{State: state, Arrivals: none{}, Seed: 1}
	for b.Loop() {
		if _, err := e.Search(b.Context(), p); err != nil {
			b.Fatal(err)
		}
	}
}
