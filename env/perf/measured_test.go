package perf

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

func TestMeasuredWins(t *testing.T) {
	model := mustNew(t, Config{})
	analytic := func(batch, gpus, nodes int) float64 {
		x, err := model.Throughput("ResNet-50", batch, "V100", gpus, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	p := mustNew(t, Config{Measured: []Measurement{
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 1, StepsPerSecond: 2 * analytic(32, 1, 1)},
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Nodes: 1, StepsPerSecond: 40},
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Nodes: 1, StepsPerSecond: 50}, // again: the mean counts
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Nodes: 1, StepsPerSecond: 0},  // a failure among successes does not
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Nodes: 4, StepsPerSecond: analytic(32, 4, 4) / 2},
		{Model: "ResNet-50", Batch: 128, GPUType: "V100", GPUs: 4, Nodes: 4}, // out of memory
	}})
	tests := []struct {
		name               string
		batch, gpus, nodes int
		want               float64
	}{
		{"measured", 32, 1, 1, 2 * analytic(32, 1, 1)},
		{"measured twice", 32, 4, 1, 45},
		{"near one row", 16, 1, 1, 2 * analytic(16, 1, 1)},
		{"near another", 64, 4, 4, analytic(64, 4, 4) / 2},
		// As far from the row of 1 GPU as from that of 4 in one node: the
		// geometric mean of 2 and 45 / analytic.
		{"between two", 32, 2, 1, analytic(32, 2, 1) * math.Sqrt(2*45/analytic(32, 4, 1))},
	}
	for _, tt := range tests {
		got, err := p.Throughput("ResNet-50", tt.batch, "V100", tt.gpus, tt.nodes)
		if err != nil || !near(got, tt.want) {
			t.Errorf("%s: got %v steps/s, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := p.Throughput("ResNet-50", 128, "V100", 4, 4); !errors.Is(err, ErrNoStrategy) {
		t.Errorf("a row that ran out of memory gives %v, want ErrNoStrategy", err)
	}
	other, err := p.Throughput("LM", 20, "V100", 1, 1)
	want, _ := model.Throughput("LM", 20, "V100", 1, 1)
	if err != nil || other != want {
		t.Errorf("rows of one model moved another: %v steps/s, %v, want %v", other, err, want)
	}
}

// A row is found by the global batch: 2 GPUs of batch 64 are what a job of 4
// GPUs with batch 32 does on 2.
func TestMeasuredWinsInStrategies(t *testing.T) {
	p := mustNew(t, Config{Measured: []Measurement{
		{Model: "ResNet-50", Batch: 64, GPUType: "V100", GPUs: 2, StepsPerSecond: 11},
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Plan: env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 16}, StepsPerSecond: 33},
		{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: 4, Plan: env.Plan{Data: 2, Tensor: 2, Pipeline: 1, MicroBatch: 64}, StepsPerSecond: 30},
		{Model: "ResNet-50", Batch: 16, GPUType: "V100", GPUs: 8, StepsPerSecond: 60}, // 30 steps of 32: slower than 4 GPUs
	}})
	s, err := p.Strategies(&env.Job{Model: "ResNet-50", Batch: 32, GPUs: 4}, mustParse(t, "V100=8", 8))
	if err != nil {
		t.Fatal(err)
	}
	if len(s) != 2 || s[0].Throughput != 22 || s[1].Throughput != 33 || s[1].Plan.MicroBatch != 16 {
		t.Errorf("got %+v, want 22 steps/s on 2 GPUs and 33 on 4 with micro-batches of 16", s)
	}
}

// A row shows that something runs, whatever the memory model says.
func TestMeasuredBeatsTheMemoryModel(t *testing.T) {
	p := mustNew(t, Config{Measured: []Measurement{{Model: "LLaMA-7B", Batch: 1, GPUType: "K80", GPUs: 1, StepsPerSecond: 0.01}}})
	s, err := p.Strategies(&env.Job{Model: "LLaMA-7B", Batch: 1, GPUs: 1}, mustParse(t, "K80=1", 1))
	if err != nil || len(s) != 1 || s[0].Throughput != 0.01 || s[0].Plan != (env.Plan{Data: 1, Tensor: 1, Pipeline: 1, MicroBatch: 1}) {
		t.Errorf("got %+v, %v, want the measured 0.01 steps/s", s, err)
	}
}

func TestMeasurementValidate(t *testing.T) {
	good := Measurement{Model: "LM", Batch: 20, GPUType: "V100", GPUs: 4, Nodes: 2, StepsPerSecond: 1}
	if err := good.validate(builtin()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		change func(*Measurement)
		want   string
	}{
		{func(m *Measurement) { m.Model = "x" }, "unknown model"},
		{func(m *Measurement) { m.GPUType = "x" }, "unknown GPU type"},
		{func(m *Measurement) { m.Batch = 0 }, "batch 0"},
		{func(m *Measurement) { m.GPUs = 0 }, "0 GPUs"},
		{func(m *Measurement) { m.Batch = 1 << 60 }, "samples per iteration"},
		{func(m *Measurement) { m.Nodes = 5 }, "5 nodes"},
		{func(m *Measurement) { m.Nodes = -1 }, "-1 nodes"},
		{func(m *Measurement) { m.StepsPerSecond = -1 }, "-1 steps/s"},
		{func(m *Measurement) { m.StepsPerSecond = math.NaN() }, "NaN steps/s"},
		{func(m *Measurement) { m.StepsPerSecond = math.Inf(1) }, "+Inf steps/s"},
		{func(m *Measurement) { m.Plan = env.Plan{Data: 3, Tensor: 1, Pipeline: 1, MicroBatch: 1} }, "plan"},
		{func(m *Measurement) { m.Plan = env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: 1, ZeRO: 4} }, "plan"},
		{func(m *Measurement) { m.Plan = env.Plan{Data: 4, Tensor: 1, Pipeline: 1, MicroBatch: -1} }, "plan"},
		{func(m *Measurement) { m.Plan = env.Plan{MicroBatch: 1} }, "plan"},
		{func(m *Measurement) { m.GlobalBatch = 79 }, "global batch of 79"},
		{func(m *Measurement) { m.Batch, m.GlobalBatch = 0, -1 }, "batch 0"},
		{func(m *Measurement) { m.Fewest = 3 }, "fewest"},
		{func(m *Measurement) { m.Fewest = -1 }, "fewest"},
	}
	for _, tt := range tests {
		m := good
		tt.change(&m)
		if err := m.validate(builtin()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", m, err, tt.want)
		}
	}
}

// The order of the rows does not matter, and with every speed times k, so is
// every measured answer.
func TestMeasuredProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Measurement
		for range rapid.IntRange(1, 6).Draw(t, "rows") {
			gpus := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "gpus")
			rows = append(rows, Measurement{
				Model: "ResNet-18", GPUType: "P100", GPUs: gpus,
				Batch:          rapid.SampledFrom([]int{16, 32, 64}).Draw(t, "batch"),
				Nodes:          rapid.IntRange(1, gpus).Draw(t, "nodes"),
				StepsPerSecond: float64(rapid.IntRange(1, 64).Draw(t, "steps")),
			})
		}
		gpus := rapid.IntRange(1, 8).Draw(t, "asked gpus")
		ask := func(rows []Measurement) float64 {
			p, err := New(Config{Measured: rows})
			if err != nil {
				t.Fatal(err)
			}
			x, err := p.Throughput("ResNet-18", 32, "P100", gpus, 1)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		want := ask(rows)
		if got := ask(rapid.Permutation(rows).Draw(t, "shuffled")); !near(got, want) {
			t.Fatalf("got %v steps/s from shuffled rows, want %v", got, want)
		}
		twice := append([]Measurement(nil), rows...)
		for i := range twice {
			twice[i].StepsPerSecond *= 2
		}
		if got := ask(twice); !near(got, 2*want) {
			t.Fatalf("got %v steps/s from rows twice as fast, want %v", got, 2*want)
		}
	})
}
