package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// BenchmarkSwitches is BenchmarkAdvance with every switch on.
func BenchmarkSwitches(b *testing.B) {
	for _, gpus := range benchSizes {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			cfg, all := benchConfig(gpus), allOn()
			all.Cluster, all.Workload = cfg.Cluster, eventful(cfg.Workload)
			all.Candidates = &sharingElastic{elastic{perNode: 8, restart: 45 * time.Second}}
			s := mustNew(b, all)
			allocations := record(b, s, "random")
			mustReset(b, s, 1)
			start := s.Snapshot()
			b.ReportAllocs()
			b.ResetTimer()
			jobRounds, i := 0, 0
			for b.Loop() {
				if s.Done() {
					if err := s.Restore(start); err != nil {
						b.Fatal(err)
					}
					i = 0
				}
				if _, err := s.Advance(allocations[i]); err != nil {
					b.Fatal(err)
				}
				jobRounds += len(allocations[i])
				i++
			}
			b.ReportMetric(float64(jobRounds)/b.Elapsed().Seconds(), "job-rounds/s")
		})
	}
}

// TestSwitchesDoNotAllocate plays an episode again with all switches on but noise,
// which keeps what it finds out of each job.
func TestSwitchesDoNotAllocate(t *testing.T) {
	cfg := allOn()
	cfg.ThroughputSigma, cfg.Profiling = 0, 0
	s := mustNew(t, cfg)
	var allocations []env.Allocation
	decide := randomly(rng.New(1, "policy"))
	mustReset(t, s, 1)
	start := s.Snapshot()
	play(t, s, func(st *env.State, a env.Allocation) {
		decide(st, a)
		allocations = append(allocations, slices.Clone(a))
	})
	rounds := 0
	run := func() {
		if err := s.Restore(start); err != nil {
			t.Fatal(err)
		}
		for _, a := range allocations {
			if _, err := s.Advance(a); err != nil {
				t.Fatal(err)
			}
			rounds++
		}
	}
	run() // memory grows to what the episode needs
	if got := testing.AllocsPerRun(3, run); got != 0 {
		t.Errorf("%v allocations in an episode of %d rounds, want 0", got, len(allocations))
	}
}
