package servetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Large returns a state of this many waiting jobs with this many strategies each,
// on 16,000 GPUs of four types; the same every time.
func Large(jobs, strategies int) *env.State {
	r := rand.New(rand.NewPCG(1, 2))
	s := &env.State{RoundLen: 6 * time.Minute, Now: time.Duration(jobs) * time.Minute, Knowledge: env.Estimate}
	for t := range 4 {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{Name: fmt.Sprint("GPU", t), MemoryGiB: 80})
	}
	for n := range 2000 {
		s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: n % 4, GPUs: 8})
	}
	for i := range jobs {
		j := env.JobState{
			ID: int64(i + 1), Model: []string{"ResNet-50", "Transformer", "GPT-2"}[r.IntN(3)], Tenant: fmt.Sprint("team", r.IntN(20)),
			Batch: 64, GPUs: 4, Weight: 1, Submit: time.Duration(i) * time.Second, Current: env.Idle,
			Done: r.Float64() * 1e5, Remaining: r.Float64()*1e6 + 1, Waiting: time.Duration(r.Int64N(1e13)),
		}
		for k := range strategies {
			gpus := 1 << (k / 4 % 4)
			j.Strategies = append(j.Strategies, env.Strategy{
				Type: k % 4, GPUs: gpus, Nodes: 1, Plan: env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: 64},
				Throughput: r.Float64()*100 + 1, Restart: 30 * time.Second,
			})
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}
