//go:build unix

package sim

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// benchConfig loads a cluster of gpus GPUs to about 1.5 times its capacity.
func benchConfig(gpus int) Config {
	jobs := max(500, 4*gpus)
	return Config{
		Cluster:    cluster(8, gpus/4, gpus/4, gpus/2),
		Workload:   poisson(jobs, 6*time.Hour/time.Duration(gpus)),
		Candidates: &elastic{perNode: 8, restart: 45 * time.Second},
	}
}

var benchSizes = []int{64, 2048}

// cpuSeconds returns the CPU time of the process so far: what a machine does
// besides does not count.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkAdvance reports simulated job-rounds per second of CPU time; that of
// the policy is excluded.
func BenchmarkAdvance(b *testing.B) {
	for _, gpus := range benchSizes {
		for _, policy := range []string{"sticky", "random"} {
			b.Run(fmt.Sprintf("gpus=%d/%s", gpus, policy), func(b *testing.B) {
				s := mustNew(b, benchConfig(gpus))
				allocations := record(b, s, policy)
				mustReset(b, s, 1)
				start := s.Snapshot()
				b.ReportAllocs()
				b.ResetTimer()
				jobRounds, i, used := 0, 0, cpuSeconds(b)
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
				b.ReportMetric(float64(jobRounds)/(cpuSeconds(b)-used), "job-rounds/CPU-s")
			})
		}
	}
}

// record plays one episode and returns its allocations.
func record(b *testing.B, s *Sim, policy string) []env.Allocation {
	decide := fifo()
	if policy == "random" {
		decide = randomly(rng.New(1, "policy"))
	}
	var out []env.Allocation
	mustReset(b, s, 1)
	play(b, s, func(s *env.State, a env.Allocation) {
		decide(s, a)
		out = append(out, append(env.Allocation(nil), a...))
	})
	return out
}

// BenchmarkJobStrategy reports steps of the environment per second of CPU time
// under uniform random actions, choice of the action included.
func BenchmarkJobStrategy(b *testing.B) {
	for _, gpus := range benchSizes {
		b.Run(fmt.Sprintf("gpus=%d", gpus), func(b *testing.B) {
			e, err := NewJobStrategy(benchConfig(gpus))
			if err != nil {
				b.Fatal(err)
			}
			space := e.Spec().Space
			r := rng.New(1, "actions")
			step := env.TimeStep{Terminated: true}
			rounds, used := 0, cpuSeconds(b)
			b.ReportAllocs()
			for b.Loop() {
				if step.Done() {
					step, err = e.Reset(1)
				} else {
					step, err = e.Step(space.Sample(&step.Observation, r))
				}
				if err != nil {
					b.Fatal(err)
				}
				if step.Elapsed > 0 {
					rounds++
				}
			}
			used = cpuSeconds(b) - used
			b.ReportMetric(float64(b.N)/used, "steps/CPU-s")
			b.ReportMetric(float64(rounds)/used, "rounds/CPU-s")
		})
	}
}
