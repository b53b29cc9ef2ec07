package tune

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

func drainOf(s *env.State, remaining ...float64) float64 {
	d := drain{capacity: s.Cluster.Capacity()}
	return d.cost(s, remaining)
}

// job returns a job with one strategy for each type, whose steps/s are given.
func job(id int64, gpus int, throughputs ...float64) env.JobState {
	j := env.JobState{ID: id, GPUs: gpus, Weight: 1, Current: env.Idle}
	for t, x := range throughputs {
		j.Strategies = append(j.Strategies, env.Strategy{Type: t, GPUs: gpus, Nodes: 1, Throughput: x})
	}
	return j
}

func TestDrain(t *testing.T) {
	one := env.State{Cluster: gpus(1)}
	two := env.State{Cluster: gpus(2)}
	mixed := env.State{Cluster: env.Cluster{
		Types: []env.GPUType{{Name: "fast"}, {Name: "slow"}},
		Nodes: []env.Node{{Type: 0, GPUs: 1}, {Type: 1, GPUs: 2}},
	}}
	heavy := job(2, 1, 1)
	heavy.Weight = 4
	for _, c := range []struct {
		name      string
		state     env.State
		jobs      []env.JobState
		remaining []float64
		want      float64 // hours
	}{
		{"nothing left", one, nil, nil, 0},
		{"one job takes its own time", two, []env.JobState{job(1, 1, 2)}, []float64{7200}, 1},
		{"one GPU serves the shorter first", one, []env.JobState{job(1, 1, 1), job(2, 1, 1)}, []float64{7200, 3600}, 1 + 3},
		{"two GPUs serve both at once", two, []env.JobState{job(1, 1, 1), job(2, 1, 1)}, []float64{7200, 3600}, 1 + 2},
		{"weight goes first", one, []env.JobState{job(1, 1, 1), heavy}, []float64{3600, 7200}, 4*2 + 3},
		{"by GPU time, not by time", one, []env.JobState{job(1, 4, 4), job(2, 1, 1)}, []float64{2 * 3600, 3600}, 1 + 3},
		// The slow type is worth half: 1 + 2 × ½ = 2 GPUs. The second job ends
		// when 3 GPU-hours were served.
		{"slow GPUs count by their speed", mixed, []env.JobState{job(1, 1, 2, 1), job(2, 1, 2, 1)}, []float64{2 * 3600, 4 * 3600}, 1 + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.state.Jobs = c.jobs
			if got := drainOf(&c.state, c.remaining...); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("got %v job-hours, want %v", got, c.want)
			}
		})
	}
}

// TestDrainProperties: more work costs more, the order of jobs means nothing,
// and no job is faster than alone.
func TestDrainProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rng.New(rapid.Uint64().Draw(t, "seed"), "test")
		s := agenttest.RandomState(r, agenttest.Options{Jobs: rapid.IntRange(1, 40).Draw(t, "jobs"), Feasible: true})
		remaining := make([]float64, len(s.Jobs))
		alone := 0.0
		for i := range remaining {
			remaining[i] = 1e5 * r.Float64()
			alone += s.Jobs[i].Weight * remaining[i] / fastestRigid(&s.Jobs[i]).Throughput / 3600
		}
		cost := drainOf(s, remaining...)
		if cost < alone*(1-1e-12) {
			t.Fatalf("drain %v is less than the %v of jobs alone", cost, alone)
		}
		k := r.IntN(len(remaining))
		remaining[k] *= 2
		if more := drainOf(s, remaining...); more <= cost*(1-1e-12) {
			t.Errorf("with twice the work of job %d the drain falls from %v to %v", s.Jobs[k].ID, cost, more)
		}
	})
}
