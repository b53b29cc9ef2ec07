package neural

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/cputime"
)

// benchState has this many jobs with as many strategies each, on four types of
// GPU with gpus in all.
func benchState(jobs, strategies, gpus int) *env.State {
	r := stream(1)
	s := &env.State{Now: 200 * time.Hour, RoundLen: 6 * time.Minute}
	for t := range 4 {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{Name: fmt.Sprint("type-", t)})
		for range gpus / 16 {
			s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: t, GPUs: 4})
		}
	}
	for i := range jobs {
		j := env.JobState{
			ID: int64(i), Submit: time.Duration(i) * time.Minute, Batch: 1, GPUs: 2, Weight: 1,
			Remaining: 1000 * math.Exp(3*r.Float64()), Current: env.Idle, Service: 1e6 * r.Float64(),
		}
		for k := range strategies {
			g := 1 << (k / 4 % 3)
			j.Strategies = append(j.Strategies, env.Strategy{
				Type: k % 4, GPUs: g, Nodes: 1, Throughput: math.Pow(float64(g), 0.8) / float64(1+k%4), Restart: time.Minute,
			})
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// BenchmarkDecide is a decision from a state to an allocation: a cluster of 64
// GPUs, 16,000 candidates, 160,000 candidates. The fastest one is by CPU time: what
// else the machine does counts for little.
func BenchmarkDecide(b *testing.B) {
	p := mustPolicy(b, priorModel(stream(2)))
	for _, size := range []struct{ jobs, strategies, gpus int }{{30, 6, 64}, {1000, 16, 1024}, {10_000, 16, 8192}} {
		s := benchState(size.jobs, size.strategies, size.gpus)
		if err := s.Validate(); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("jobs=%d/strategies=%d", size.jobs, size.strategies), func(b *testing.B) {
			a, err := p.DecideInto(context.Background(), nil, s) // memory grows before the clock starts
			if err != nil {
				b.Fatal(err)
			}
			fastest := time.Hour
			b.ReportAllocs()
			for b.Loop() {
				const repeats = 8 // the clock ticks in microseconds
				start := cputime.Spent()
				for range repeats {
					if a, err = p.DecideInto(context.Background(), a, s); err != nil {
						b.Fatal(err)
					}
				}
				fastest = min(fastest, (cputime.Spent()-start)/repeats)
			}
			b.ReportMetric(float64(fastest.Nanoseconds())/1e3, "µs/decision")
			b.ReportMetric(0, "ns/op")
		})
	}
}
