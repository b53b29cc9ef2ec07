package sharing

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

var cluster = env.Cluster{Types: []env.GPUType{{Name: "V100"}, {Name: "K80"}}, Nodes: []env.Node{{GPUs: 1}}}

// tenSteps is a performance model: ten steps a second on a whole GPU, and a half
// of it four.
type tenSteps struct{ datasets.Throughputs }

func (tenSteps) Throughput(model string, _ int, _ string, _, _ int) (float64, error) {
	if model == "new" {
		return 0, errors.New("unknown")
	}
	return 10, nil
}

func (tenSteps) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{{GPUs: 1, Nodes: 1, Throughput: 4, Share: 2}}, nil
}

func table() *datasets.ColocationTable {
	tenancy := func(model string, batch int32, rate, alone float64) datasets.Tenancy {
		return datasets.Tenancy{Model: model, Batch: batch, StepsPerSecond: rate, Isolated: alone}
	}
	return &datasets.ColocationTable{Rows: []datasets.ColocationRow{
		{GPUType: "V100", GPUs: 2, A: tenancy("a", 8, 1, 100), B: tenancy("b", 16, 1, 100)},
		{GPUType: "V100", GPUs: 1, A: tenancy("a", 8, 60, 100), B: tenancy("b", 16, 1.5, 2)},
		{GPUType: "V100", GPUs: 1, A: tenancy("a", 8, 0, 100), B: tenancy("big", 1, 0, 3)},
		{GPUType: "T4", GPUs: 1, A: tenancy("a", 8, 1, 2), B: tenancy("a", 8, 1, 2)},
	}}
}

func TestFactors(t *testing.T) {
	x, err := New(table(), cluster, tenSteps{})
	if err != nil {
		t.Fatal(err)
	}
	if x.Pairs() != 4 {
		t.Errorf("%d pairs, want 4: two rows of V100, each in both orders", x.Pairs())
	}
	half := &env.Strategy{GPUs: 1, Nodes: 1, Throughput: 4, Share: 2}
	a, b, big := &env.Job{Model: "a", Batch: 8}, &env.Job{Model: "b", Batch: 16}, &env.Job{Model: "big", Batch: 1}
	otherBatch, unknown := &env.Job{Model: "b", Batch: 32}, &env.Job{Model: "new", Batch: 1}
	for name, c := range map[string]struct{ got, want float64 }{
		"alone":                 {x.Alone(a, half), 2.5},
		"alone, unknown":        {x.Alone(unknown, half), 1},
		"a beside b":            {x.Beside(a, half, b, half), 0.6 * 2.5},
		"b beside a":            {x.Beside(b, half, a, half), 0.75 * 2.5},
		"both do not fit":       {x.Beside(a, half, big, half), 0},
		"not measured":          {x.Beside(a, half, otherBatch, half), 1},
		"of another type":       {x.Beside(a, &env.Strategy{Type: 1, GPUs: 1, Throughput: 4}, b, half), 1},
		"the part is no slower": {x.Alone(a, &env.Strategy{GPUs: 1, Throughput: 12}), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	if _, err := New(table(), env.Cluster{Types: []env.GPUType{{Name: "H100"}}}, tenSteps{}); !errors.Is(err, ErrNoPairs) {
		t.Errorf("a cluster without a measured type: got %v, want ErrNoPairs", err)
	}
}

// In the simulator the two jobs run as measured: a does 6 and b 7.5 steps a
// second beside the other, and what is left of the longer one 10.
func TestSimulatedPair(t *testing.T) {
	x, err := New(table(), cluster, tenSteps{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(sim.Config{
		Cluster: cluster, Candidates: tenSteps{}, Interference: x, Round: time.Second, FreeRestarts: true,
		Workload: func(uint64) ([]env.Job, error) {
			return []env.Job{
				{ID: 1, Model: "a", Batch: 8, GPUs: 1, Work: 60, Weight: 1},
				{ID: 2, Model: "b", Batch: 16, GPUs: 1, Work: 175, Weight: 1},
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(1); err != nil {
		t.Fatal(err)
	}
	for !s.Done() {
		if _, err := s.Advance(make(env.Allocation, len(s.State().Jobs))); err != nil {
			t.Fatal(err)
		}
	}
	jobs := s.Schedule().Jobs
	if a, b := jobs[0].JCT().Seconds(), jobs[1].JCT().Seconds(); math.Abs(a-10) > 1e-6 || math.Abs(b-20) > 1e-6 {
		t.Errorf("jobs took %v and %v s, want 10 and 20", a, b)
	}
}
