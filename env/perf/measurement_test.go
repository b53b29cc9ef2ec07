package perf

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// What a measurement leaves open the model fills in: everything, the
// micro-batch, or nothing.
func TestComplete(t *testing.T) {
	accumulated := env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 4}
	tests := []struct {
		name   string
		memory float64 // MB for states and activations; 10 MB per sample, 8 MB of states
		plan   env.Plan
		want   env.Plan
		ok     bool
	}{
		{"nothing known", 1e6, env.Plan{}, env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 8}, true},
		{"micro-batch not known", 1e6, env.Plan{Data: 1, Tensor: 1, Pipeline: 1}, env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 8}, true},
		{"less memory", 60, env.Plan{Data: 1, Tensor: 1, Pipeline: 1}, accumulated, true},
		{"too little", 12, env.Plan{Data: 1, Tensor: 1, Pipeline: 1}, env.Plan{}, false},
		{"known, and does not fit", 12, accumulated, accumulated, true},
		{"none fits", 4, env.Plan{}, env.Plan{}, false},
	}
	for _, tt := range tests {
		q := roundQuery(1, 1, 8)
		q.m.ActivationMiB, q.m.Hidden = 10e6/mib, 0 // no checkpointing, no offloading
		q.memory = reserve + tt.memory*1e6/usable
		got, ok := q.complete(tt.plan)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestDistance(t *testing.T) {
	base := env.Plan{Data: 8, Tensor: 1, Pipeline: 1, MicroBatch: 4}
	q := &query{gpus: 8, nodes: 2, global: 32}
	tests := []struct {
		name   string
		change func(*row)
		want   float64
	}{
		{"the same", func(*row) {}, 0},
		{"half the GPUs, as many samples each, half the nodes", func(r *row) { r.gpus, r.nodes, r.global = 4, 1, 16 }, 2},
		{"the same samples on half the GPUs", func(r *row) { r.gpus, r.fewest = 4, 2 }, 1 + 0.5 + 1},
		{"twice the batch", func(r *row) { r.global = 64 }, 1},
		{"an uneven placement", func(r *row) { r.fewest = 1 }, 1},
		{"tensor degree", func(r *row) { r.plan.Tensor = 4 }, 2},
		{"pipeline and ZeRO", func(r *row) { r.plan.Pipeline, r.plan.ZeRO = 2, 1 }, 1.5},
		{"checkpointing", func(r *row) { r.plan.Checkpoint = true }, 0.5},
		{"offloading", func(r *row) { r.plan.Offload = true }, 2},
		{"plan not known", func(r *row) { r.known, r.plan = false, env.Plan{} }, 0},
	}
	for _, tt := range tests {
		r := row{gpus: 8, nodes: 2, fewest: 4, global: 32, plan: base, known: true}
		tt.change(&r)
		if got := distance(&r, q, &base); !near(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
