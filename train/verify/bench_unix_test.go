//go:build unix

package verify

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	policies "github.com/yardmaster/yardmaster/agent/gavel"
	files "github.com/yardmaster/yardmaster/datasets/importers/gavel"
	"github.com/yardmaster/yardmaster/env/gavel"
)

// BenchmarkGavel plays the stream of seed 0 on 36 GPUs of each type until jobs
// 4000 to 4999 have left, as the published runs do, at the mean inter-arrival
// time of the published run of FIFO_Perf (900 s) and of AlloX (1800 s). It
// reports jobs that ran, summed over rounds, per second of CPU time of the
// process, and allocations per step after the first steps, in which memory grows
// to what the longest queue needs.
func BenchmarkGavel(b *testing.B) {
	for _, test := range []struct {
		name         string
		interarrival float64
		policy       func() gavel.Policy
	}{
		{"FIFO_Perf", 900, func() gavel.Policy { return new(policies.FIFO) }},
		{"LAS", 900, func() gavel.Policy { return policies.LAS{} }},
		{"AlloX", 900, func() gavel.Policy { return new(policies.AlloX) }},
		{"AlloX_1800s", 1800, func() gavel.Policy { return new(policies.AlloX) }},
	} {
		b.Run(test.name, func(b *testing.B) {
			cfg, err := newLoader(gavelData(b)).config(&files.Reference{
				Trace: "continuous/single_seed0.csv", Interarrival: test.interarrival, GPUs: []int{36, 36, 36},
				Throughputs: "simulation_throughputs.json", First: 4000, End: 5000,
			})
			if err != nil {
				b.Fatal(err)
			}
			var used time.Duration
			var jobRounds, counted, allocations int64
			for b.Loop() {
				b.StopTimer()
				cfg.Policy = test.policy()
				s, err := gavel.New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				cpu, before, steps := cpuTime(b), int64(0), int64(0)
				for more := true; more; steps++ {
					if steps == growing {
						before = mallocs()
					}
					if more, err = s.Step(); err != nil {
						b.Fatal(err)
					}
				}
				used += cpuTime(b) - cpu
				allocations += mallocs() - before
				counted += steps - growing
				jobRounds += s.Result().JobRounds
			}
			b.ReportMetric(float64(jobRounds)/used.Seconds(), "job-rounds/CPU-s")
			// A handful per run are the runtime's own or a last growth: two digits.
			b.ReportMetric(math.Round(100*float64(allocations)/float64(counted))/100, "allocs/step")
		})
	}
}

// growing is the number of steps after which allocations count, about a fifth of
// a run.
const growing = 10_000

// mallocs returns the number of allocations of the process so far.
func mallocs() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Mallocs)
}

// cpuTime returns the CPU time of the process so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
