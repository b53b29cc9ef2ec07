package perf

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// steps returns what c says of ResNet-50 on V100s in one node.
func steps(t interface{ Fatal(...any) }, p *Performance, batch, gpus int) float64 {
	x, err := p.Throughput("ResNet-50", batch, "V100", gpus, 1)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func measured(gpus int, steps float64) Measurement {
	return Measurement{Model: "ResNet-50", Batch: 32, GPUType: "V100", GPUs: gpus, StepsPerSecond: steps}
}

func TestScalingInterpolatesAlongGPUs(t *testing.T) {
	model := mustNew(t, Config{})
	p := mustNew(t, Config{Measured: []Measurement{
		measured(2, steps(t, model, 32, 2)*0.8), measured(8, steps(t, model, 32, 8)*0.5),
	}})
	for _, tt := range []struct {
		gpus  int
		ratio float64 // to the analytic model
	}{
		{1, 0.8}, // beyond the first
		{2, 0.8},
		{4, math.Sqrt(0.8 * 0.5)}, // a doubling from either
		{8, 0.5},
		{16, 0.5}, // beyond the last
	} {
		if got, want := steps(t, p, 32, tt.gpus), tt.ratio*steps(t, model, 32, tt.gpus); !near(got, want) {
			t.Errorf("%d GPUs: got %v steps/s, want %v", tt.gpus, got, want)
		}
	}
	// 3 is log2 1.5 from 2 and log2 8/3 from 8.
	a, b := math.Log2(1.5), math.Log2(8.0/3)
	want := steps(t, model, 32, 3) * math.Exp((b*math.Log(0.8)+a*math.Log(0.5))/(a+b))
	if got := steps(t, p, 32, 3); !near(got, want) {
		t.Errorf("3 GPUs: got %v steps/s, want %v", got, want)
	}
}

// The analytic model alone would put 4 GPUs beyond both rows.
func TestScalingStaysBetweenRows(t *testing.T) {
	p := mustNew(t, Config{Measured: []Measurement{measured(2, 20), measured(8, 20.5)}})
	if got := steps(t, p, 32, 4); got < 20 || got > 20.5 {
		t.Errorf("got %v steps/s, want 20 to 20.5", got)
	}
}

// Between two measured numbers of GPUs speed is never beyond either, whatever
// was measured; so where it rises from row to row it rises from row to any
// number between, and on.
func TestScalingIsMonotone(t *testing.T) {
	model := mustNew(t, Config{})
	rapid.Check(t, func(t *rapid.T) {
		sizes := []int{1, 2, 4, 8, 16}
		var rows []Measurement
		speed := map[int]float64{}
		last := 1.0
		for _, n := range sizes {
			last *= rapid.Float64Range(1, 3).Draw(t, "growth")
			speed[n] = last
			rows = append(rows, measured(n, last))
		}
		p, err := New(Config{Measured: rows})
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range sizes[:len(sizes)-1] {
			low, high := speed[n], speed[sizes[i+1]]
			for between := n + 1; between < sizes[i+1]; between++ {
				x, err := p.Throughput("ResNet-50", 32, "V100", between, 1)
				if err != nil || x < low || x > high {
					t.Fatalf("%d GPUs: %v steps/s, %v, want %v to %v", between, x, err, low, high)
				}
			}
		}
		// Another batch is corrected, too, but not held between rows of this one.
		x, err := p.Throughput("ResNet-50", 64, "V100", 4, 1)
		if want := speed[4] * steps(t, model, 64, 4) / steps(t, model, 32, 4); err != nil || !near(x, want) {
			t.Fatalf("batch 64: got %v, %v, want %v", x, err, want)
		}
	})
}

// A plan is corrected by rows of its own kind before others.
func TestPlansAreCorrectedByTheirKind(t *testing.T) {
	row := func(tensor int, factor float64) Measurement {
		r := Measurement{
			Model: "BERT-large", Batch: 8, GPUType: "V100", GPUs: 4, Nodes: 1,
			Plan: env.Plan{Data: 4 / tensor, Tensor: tensor, Pipeline: 1, MicroBatch: 8},
		}
		r.StepsPerSecond = factor * float64(r.GPUs) / r.query(builtin()).iteration(&r.Plan)
		return r
	}
	p := mustNew(t, Config{Measured: []Measurement{row(1, 0.5), row(2, 2)}})
	for tensor, factor := range map[int]float64{1: 0.5, 2: 2} {
		asked := row(tensor, 1)
		asked.GPUs, asked.Nodes, asked.Plan.Data = 8, 2, 2*asked.Plan.Data
		want := factor * float64(asked.GPUs) / asked.query(builtin()).iteration(&asked.Plan)
		if got, _ := p.corrected(&asked); !near(got, want) {
			t.Errorf("tensor degree %d: got %v steps/s, want %v", tensor, got, want)
		}
	}
}

// Uneven placements are told apart by the node that gives the fewest GPUs.
func TestFewestGPUsBindTheNetwork(t *testing.T) {
	even := Measurement{Model: "GPT-2", GPUType: "A800", GPUs: 8, Nodes: 2, GlobalBatch: 16, Plan: env.Plan{Data: 8, Tensor: 1, Pipeline: 1, MicroBatch: 2}}
	uneven := even
	uneven.Fewest = 2
	a, b := even.query(builtin()), uneven.query(builtin())
	if x, y := a.gradients(&even.Plan), b.gradients(&even.Plan); !(y > 1.9*x) {
		t.Errorf("two adapters of one node exchange in %v s, four of each in %v s: want about twice as long", y, x)
	}
	p := mustNew(t, Config{Measured: []Measurement{
		func() Measurement { r := even; r.StepsPerSecond = 10; return r }(),
		func() Measurement { r := uneven; r.StepsPerSecond = 7; return r }(),
	}})
	if got, err := p.Throughput("GPT-2", 2, "A800", 8, 2); err != nil || got != 10 {
		t.Errorf("got %v steps/s, %v, want the row of the even placement", got, err)
	}
}
