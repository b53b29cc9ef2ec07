package lp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// No allocation is worth more than the program's bound, and the value of the
// program's own is that of its fractional answer where that is whole.
func TestValuesAreTheObjectives(t *testing.T) {
	for _, name := range []string{"lp:throughput", "lp:srpt", "lp:hetero-cost", "lp:hetero-pnorm"} {
		p, err := New(name, Config{})
		if err != nil {
			t.Fatal(err)
		}
		r, whole := rng.New(1, "values"), 0
		for range 150 {
			s := agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(12), Constrained: r.IntN(2) == 0})
			solution, err := p.Solve(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			idle := env.NewAllocation(len(s.Jobs))
			values := p.Values(s, solution.Allocation, idle)
			if values[1] != 0 {
				t.Errorf("%s: idling is worth %v, want 0", name, values[1])
			}
			if values[0] > solution.Bound*(1+1e-6)+1e-9 {
				t.Errorf("%s: an allocation is worth %v, more than the bound of %v", name, values[0], solution.Bound)
			}
			integral := true
			for _, x := range solution.Shares {
				integral = integral && (x.Weight < 1e-9 || x.Weight > 1-1e-9)
			}
			if integral {
				whole++
				if values[0] < solution.Objective*(1-1e-6) {
					t.Errorf("%s: the allocation of a whole answer is worth %v, the answer %v", name, values[0], solution.Objective)
				}
			}
		}
		if whole < 20 {
			t.Errorf("%s: %d whole answers, too few to show anything", name, whole)
		}
	}
}

// A strategy that the program does not consider is worth what its throughput is.
func TestValuesOfOtherStrategies(t *testing.T) {
	p, err := New("lp:gavel-cost", Config{})
	if err != nil {
		t.Fatal(err)
	}
	st := func(gpus int, speed float64) env.Strategy {
		return env.Strategy{GPUs: gpus, Nodes: 1, Throughput: speed}
	}
	s := &env.State{
		Cluster: env.Cluster{Types: []env.GPUType{{Name: "A"}}, Nodes: []env.Node{{GPUs: 8}}}, RoundLen: 1, Now: 1,
		Jobs: []env.JobState{{ID: 1, GPUs: 2, Batch: 1, Weight: 1, Remaining: 10, Current: env.Idle, Strategies: []env.Strategy{st(2, 4), st(4, 6)}}},
	}
	values := p.Values(s, env.Allocation{0}, env.Allocation{1})
	if !(values[0] > 0) || math.Abs(values[1]/values[0]-1.5) > 1e-9 {
		t.Errorf("got %v, want the second 1.5 times the first", values)
	}
}
