package heuristic

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// benchState has 500 jobs with 9 strategies each (three types, three sizes) on
// 108 GPUs: a long queue.
func benchState() *env.State {
	r := rng.New(1, "bench")
	s := &env.State{Now: 100 * time.Hour, RoundLen: 6 * time.Minute}
	for t, name := range []string{"a", "b", "c"} {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{Name: name})
		for range 9 {
			s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: t, GPUs: 4})
		}
	}
	for i := range 500 {
		gpus := 2 << r.IntN(3)
		j := env.JobState{
			ID: int64(i), Submit: time.Duration(i) * time.Minute, Batch: 1, GPUs: gpus, Weight: 1,
			Remaining: 1000 * math.Exp(3*r.Float64()), Current: env.Idle, Service: 1e6 * r.Float64(),
		}
		for t := range 3 {
			for _, g := range []int{gpus / 2, gpus, 2 * gpus} {
				j.Strategies = append(j.Strategies, env.Strategy{
					Type: t, GPUs: g, Nodes: 1, Throughput: math.Pow(float64(g), 0.8) / float64(1+t), Restart: time.Minute,
				})
			}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func BenchmarkDecide(b *testing.B) {
	s := benchState()
	if err := s.Validate(); err != nil {
		b.Fatal(err)
	}
	for _, e := range registry().Entries() {
		p, err := e.New()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(e.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Decide(context.Background(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
