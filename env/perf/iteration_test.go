package perf

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// roundGPU and roundModel have figures that make times easy to work out by hand.
func roundGPU() *GPU {
	g := &GPU{
		Name: "Round", MemoryGiB: 100, Peak: Peak{FP32: 1}, MemoryGBs: 1, KernelUS: 10,
		LinkGBs: 1, LinkEfficiency: 1, NetworkGbits: 1,
	}
	g.fillDefaults()
	return g
}

func roundModel() *Model {
	m := &Model{
		Name: "Round", ForwardGFLOPs: 1, ParametersM: 1, Kernels: 1000, Layers: 4, Hidden: 1000, Sequence: 10,
		MaxTensor: 8, MaxPipeline: 4, Efficiency: 0.5, Overlap: 1,
	}
	m.fillDefaults()
	return m
}

func roundQuery(gpus, nodes, global int) *query {
	return &query{m: roundModel(), g: roundGPU(), memory: 100 * gib, gpus: gpus, nodes: nodes, global: global}
}

func TestIterationOfOneGPU(t *testing.T) {
	// 3 GFLOP per sample at 0.5 TFLOP/s are 6 ms; 1000 kernels 10 ms; the
	// optimizer moves 12 MB at 1 GB/s: 12 ms.
	tests := []struct {
		name   string
		change func(*query)
		plan   env.Plan
		want   float64 // ms
	}{
		{"one micro-batch", func(*query) {}, env.Plan{MicroBatch: 8}, 10 + 8*6 + 12},
		{"accumulated", func(*query) {}, env.Plan{MicroBatch: 2}, 4*(10+2*6) + 12},
		{"checkpointed", func(*query) {}, env.Plan{MicroBatch: 8, Checkpoint: true}, (10+8*6)*4.0/3 + 12},
		{"bound by memory", func(q *query) { q.m.TrafficMiB = 10 }, env.Plan{MicroBatch: 8}, 10 + 8*10*mib/1e6 + 12},
		{"not bound by memory", func(q *query) { q.m.TrafficMiB = 5 }, env.Plan{MicroBatch: 8}, 10 + 8*6 + 12},
		{"host", func(q *query) { q.m.HostMS = 7 }, env.Plan{MicroBatch: 8}, 10 + 8*6 + 12 + 7},
		{"bound by input", func(q *query) { q.m.InputRate = 80 }, env.Plan{MicroBatch: 8}, 100},
		{"not bound by input", func(q *query) { q.m.InputRate = 8000 }, env.Plan{MicroBatch: 8}, 10 + 8*6 + 12},
		{"adam", func(q *query) { q.m.OptimizerBytes = 8 }, env.Plan{MicroBatch: 8}, 10 + 8*6 + 28},
		// 16 bits without units for them: as fast, but 4 + 2·2 + 2·4 bytes.
		{"half precision", func(q *query) { q.m.Precision = FP16 }, env.Plan{MicroBatch: 8}, 10 + 8*6 + 16},
		{"tensor cores", func(q *query) { q.m.Precision = FP16; q.g.Peak.FP16 = 8 }, env.Plan{MicroBatch: 8}, 10 + 6 + 16},
	}
	for _, tt := range tests {
		q := roundQuery(1, 1, 8)
		tt.change(q)
		tt.plan.Data, tt.plan.Tensor, tt.plan.Pipeline = 1, 1, 1
		if got := q.iteration(&tt.plan) * 1e3; !near(got, tt.want) {
			t.Errorf("%s: got %v ms, want %v", tt.name, got, tt.want)
		}
	}
}

// ringSteps plays an all-reduce of size bytes step by step: in each of 2(n-1)
// steps every member sends one n-th to its neighbour.
func ringSteps(n int, size, bandwidth, latency float64) float64 {
	t := 0.0
	for range 2 * (n - 1) {
		t += latency + size/float64(n)/bandwidth
	}
	return t
}

func TestIterationOfSeveralGPUs(t *testing.T) {
	link, network := 1e9, 0.8e9/8
	activations := 40e3 // bytes of one sample between two layers
	tests := []struct {
		name         string
		gpus, nodes  int
		plan         env.Plan
		want         float64 // ms
		adaptersWant int
	}{
		{
			"data parallel in a node", 4, 1,
			env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 2},
			10 + 2*6 + 12 + 1e3*ringSteps(4, 4e6, link, linkLatency), 1,
		},
		{
			"data parallel over nodes", 4, 2,
			env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 2},
			10 + 2*6 + 12 + 1e3*ringSteps(4, 4e6, network, networkLatency), 1,
		},
		{
			"half of the adapters", 4, 2,
			env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 2},
			10 + 2*6 + 12 + 1e3*ringSteps(4, 4e6, network/2, networkLatency), 4,
		},
		{
			"tensor parallel", 4, 1,
			env.Plan{Data: 1, Tensor: 4, Pipeline: 1, MicroBatch: 8},
			10 + 8*6.0/4 + 12.0/4 + 4*4*1e3*ringSteps(4, 8*activations, link, linkLatency), 1,
		},
		// Four stages of one layer: 8 micro-batches and 3 slots of bubble.
		{
			"pipeline", 4, 1,
			env.Plan{Data: 1, Tensor: 1, Pipeline: 4, MicroBatch: 1},
			(8+3)*(10.0/4+6.0/4+2e3*(activations/link+linkLatency)) + 12.0/4, 1,
		},
		// Both rings of a node leave it at once.
		{
			"tensor in nodes, data across", 4, 2,
			env.Plan{Data: 2, Tensor: 2, Pipeline: 1, MicroBatch: 4},
			10 + 4*6.0/2 + 12.0/2 + 4*4*1e3*ringSteps(2, 4*activations, link, linkLatency) + 1e3*ringSteps(2, 2e6, network/2, networkLatency), 1,
		},
		{
			"data in nodes, pipeline across", 4, 2,
			env.Plan{Data: 2, Tensor: 1, Pipeline: 2, MicroBatch: 4},
			2*(10.0/2+4*6.0/2+2e3*(4*activations/(network/2)+networkLatency)) + 12.0/2 + 1e3*ringSteps(2, 2e6, link, linkLatency), 1,
		},
		// Three ranks do not divide the two GPUs of a node.
		{
			"tensor across nodes", 6, 3,
			env.Plan{Data: 2, Tensor: 3, Pipeline: 1, MicroBatch: 4},
			10 + 4*6.0/3 + 12.0/3 + 4*4*1e3*ringSteps(3, 4*activations, network, networkLatency) + 1e3*ringSteps(2, 4e6/3, network/2, networkLatency), 1,
		},
		// 4 MB to the host at 12 GB/s after each of two micro-batches, 24 bytes per
		// parameter there at 25 GB/s, 4 MB back.
		{
			"offload", 1, 1,
			env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 4, Offload: true},
			2*(10+4*6+4.0/12) + 12.0/25 + 4.0/12, 1,
		},
		// Each of two workers moves and updates its half.
		{
			"offload of two", 2, 1,
			env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 4, ZeRO: 2, Offload: true},
			10 + 4*6 + 2.0/12 + 1e3*ringSteps(2, 4e6, link, linkLatency) + 6.0/25 + 2.0/12, 1,
		},
		// Two micro-batches scatter, and gather the weights twice each.
		{
			"zero 3", 2, 1,
			env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 2, ZeRO: 3},
			2*(10+2*6) + 12 + 2*3*1e3*ringSteps(2, 4e6, link, linkLatency)/2, 1,
		},
		{
			"zero 2", 2, 1,
			env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 2, ZeRO: 2},
			2*(10+2*6) + 12 + 3*1e3*ringSteps(2, 4e6, link, linkLatency)/2, 1,
		},
		{
			"zero 1", 2, 1,
			env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 2, ZeRO: 1},
			2*(10+2*6) + 12 + 1e3*ringSteps(2, 4e6, link, linkLatency), 1,
		},
	}
	for _, tt := range tests {
		q := roundQuery(tt.gpus, tt.nodes, 8)
		q.g.Adapters = tt.adaptersWant
		if got := q.iteration(&tt.plan) * 1e3; !near(got, tt.want) {
			t.Errorf("%s: got %v ms, want %v", tt.name, got, tt.want)
		}
	}
}

// With γ = 1 nothing overlaps; with large γ the longer one hides the other.
func TestOverlap(t *testing.T) {
	q := roundQuery(1, 1, 1)
	for _, tt := range []struct{ gamma, grad, sync, want float64 }{
		{1, 3, 4, 7}, {2, 3, 4, 5}, {10, 1, 1, math.Pow(2, 0.1)}, {2, 3, 0, 3}, {2, 0, 3, 3}, {10, 1e-200, 1e200, 1e200},
	} {
		q.m.Overlap = tt.gamma
		if got := q.overlap(tt.grad, tt.sync); !near(got, tt.want) {
			t.Errorf("γ = %v: overlap(%v, %v) = %v, want %v", tt.gamma, tt.grad, tt.sync, got, tt.want)
		}
	}
}

// A half of a GPU does arithmetic, memory traffic and the optimizer half as
// fast; kernels start as before.
func TestIterationOfAShare(t *testing.T) {
	plan := env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 8}
	for _, tt := range []struct {
		share int
		want  float64 // ms
	}{{0, 10 + 8*6 + 12}, {1, 10 + 8*6 + 12}, {2, 10 + 2*8*6 + 2*12}, {8, 10 + 8*8*6 + 8*12}} {
		q := roundQuery(1, 1, 8)
		q.share = tt.share
		if got := q.iteration(&plan) * 1e3; !near(got, tt.want) {
			t.Errorf("1/%d of a GPU: got %v ms, want %v", tt.share, got, tt.want)
		}
	}
}
