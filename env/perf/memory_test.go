package perf

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

func TestBytes(t *testing.T) {
	base := env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 8}
	tests := []struct {
		name string
		gpus int
		plan func(*env.Plan)
		want float64 // states + activations, MB
	}{
		// 1 M parameters in 16 bits with Adam: 2 + 4 + 12 bytes; 10 MB per sample.
		{"plain", 1, func(*env.Plan) {}, 18 + 80},
		{"accumulated", 1, func(p *env.Plan) { p.MicroBatch = 2 }, 18 + 20},
		{"zero 1", 4, func(p *env.Plan) { p.Data, p.MicroBatch, p.ZeRO = 4, 2, 1 }, 6 + 12.0/4 + 20},
		{"zero 2", 4, func(p *env.Plan) { p.Data, p.MicroBatch, p.ZeRO = 4, 2, 2 }, 2 + 16.0/4 + 20},
		{"zero 3", 4, func(p *env.Plan) { p.Data, p.MicroBatch, p.ZeRO = 4, 2, 3 }, 18.0/4 + 20},
		{"tensor", 4, func(p *env.Plan) { p.Tensor = 4 }, 18.0/4 + 80.0/4},
		// The first of four stages keeps four of the eight micro-batches.
		{"pipeline", 4, func(p *env.Plan) { p.Pipeline, p.MicroBatch = 4, 1 }, 18.0/4 + 4*10.0/4},
		{"pipeline of one micro-batch", 4, func(p *env.Plan) { p.Pipeline = 4 }, 18.0/4 + 80.0/4},
		// Weights in 16 bits and the gradients of one of four layers.
		{"offload", 1, func(p *env.Plan) { p.Offload = true }, 2 + 4.0/4 + 80},
		{"offload of four", 4, func(p *env.Plan) { p.Data, p.MicroBatch, p.ZeRO, p.Offload = 4, 2, 2, true }, 2 + 4.0/4 + 20},
		// Four inputs of 8 × 10 × 1000 half-precision numbers, and one layer whole.
		{"checkpointed", 1, func(p *env.Plan) { p.Checkpoint = true }, 18 + 4*0.16 + 80.0/4},
	}
	for _, tt := range tests {
		q := roundQuery(tt.gpus, 1, 8)
		q.m.Precision, q.m.OptimizerBytes, q.m.ActivationMiB = FP16, 8, 10e6/mib
		plan := base
		tt.plan(&plan)
		if got := (q.bytes(&plan) - reserve) * usable / 1e6; !near(got, tt.want) {
			t.Errorf("%s: got %v MB, want %v", tt.name, got, tt.want)
		}
	}
}

// What Gavel saw: ResNet-50 at batch 128 runs out of memory on a K80 and runs
// on P100 and V100; what the papers of ZeRO and LLaMA say: 7 G parameters with
// Adam need 16 bytes each and more than one GPU of 80 GB.
func TestFitsAsMeasured(t *testing.T) {
	for _, tt := range []struct {
		model, gpu string
		batch      int
		want       bool
	}{
		{"ResNet-50", "K80", 64, true},
		{"ResNet-50", "K80", 128, false},
		{"ResNet-50", "P100", 128, true},
		{"ResNet-50", "V100", 128, true},
		{"Recommendation", "K80", 8192, true},
		{"CycleGAN", "K80", 1, true},
		{"Transformer", "K80", 256, true},
		{"LM", "K80", 80, true},
		{"ResNet-18", "K80", 256, true},
		{"LLaMA-7B", "H100", 1, false},
		{"LLaMA-7B", "H200", 1, true},
		{"BERT-base", "V100", 16, true},
		{"BERT-base", "V100", 64, false},
	} {
		m, _ := Default().Model(tt.model)
		g, _ := Default().GPU(tt.gpu)
		q := &query{m: m, g: g, memory: g.MemoryGiB * gib, gpus: 1, nodes: 1, global: tt.batch}
		plan := env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: tt.batch}
		if got := q.fits(&plan); got != tt.want {
			t.Errorf("%s with batch %d fits a %s: got %v (%.1f GiB), want %v", tt.model, tt.batch, tt.gpu, got, q.bytes(&plan)/gib, tt.want)
		}
	}
}

// What is offloaded has to fit the host: 4 + 4 + 8 bytes of each worker's
// parameters.
func TestOffloadFitsTheHost(t *testing.T) {
	q := roundQuery(2, 1, 8)
	q.m.OptimizerBytes, q.m.ParametersM = 8, 1000
	plan := env.Plan{Data: 2, Tensor: 1, Pipeline: 1, MicroBatch: 4, ZeRO: 2, Offload: true}
	if got := q.hostBytes(&plan); got != 8e9 {
		t.Errorf("got %v bytes on the host, want 8e9", got)
	}
	if got := q.hostBytes(&env.Plan{Data: 2, Tensor: 1, Pipeline: 1}); got != 0 {
		t.Errorf("got %v bytes on the host without offloading, want 0", got)
	}
	for _, tt := range []struct {
		host float64 // GiB
		want bool
	}{{8, true}, {7, false}} {
		q.g.HostGiB = tt.host
		if got := q.fits(&plan); got != tt.want {
			t.Errorf("with %v GiB of host memory it fits: %v, want %v", tt.host, got, tt.want)
		}
	}
}
