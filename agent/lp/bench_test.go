package lp

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// busyState returns n jobs with s strategies each, over 4 GPU types of about n
// GPUs in all, most of which run.
func busyState(n, s int) *env.State {
	r := rng.New(1, "busy")
	st := &env.State{Now: 100 * time.Hour, RoundLen: 360 * time.Second}
	speed := []float64{1, 2, 3.5, 6}
	for t := range speed {
		st.Cluster.Types = append(st.Cluster.Types, env.GPUType{Name: fmt.Sprint("type-", t)})
		for range (n + 31) / 32 {
			st.Cluster.Nodes = append(st.Cluster.Nodes, env.Node{Type: t, GPUs: 8})
		}
	}
	free := st.Cluster.Capacity()
	for i := range n {
		j := env.JobState{
			ID: int64(i), Batch: 1, GPUs: 1 << r.IntN(3), Weight: 1, Submit: time.Duration(i),
			Done: 1000 * r.Float64(), Remaining: 1e4 * math.Exp(2*r.NormFloat64()), Current: env.Idle,
		}
		efficiency, affinity := 0.7+0.3*r.Float64(), 0.5+r.Float64()
		for k := range s {
			t, gpus := k%len(speed), 1<<(k/len(speed)%4)
			j.Strategies = append(j.Strategies, env.Strategy{
				Type: t, GPUs: gpus, Nodes: 1, Restart: time.Minute,
				Throughput: math.Pow(speed[t], affinity) * math.Pow(float64(gpus), efficiency),
			})
		}
		if k := r.IntN(s); free[j.Strategies[k].Type] >= j.Strategies[k].GPUs {
			free[j.Strategies[k].Type] -= j.Strategies[k].GPUs
			j.Current = k
		}
		st.Jobs = append(st.Jobs, j)
	}
	return st
}

func BenchmarkDecide(b *testing.B) {
	var r agent.Registry
	Register(&r)
	for _, size := range [][2]int{{10, 9}, {150, 9}, {1000, 16}, {10000, 16}} {
		s := busyState(size[0], size[1])
		if err := s.Validate(); err != nil {
			b.Fatal(err)
		}
		for _, e := range r.Entries() {
			b.Run(fmt.Sprintf("%s/%dx%d", e.Name, size[0], size[1]), func(b *testing.B) {
				p, err := e.New()
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := p.Decide(b.Context(), s); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
