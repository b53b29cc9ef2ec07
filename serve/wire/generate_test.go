package wire

import (
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
)

// drawState draws a valid state message, floats of every magnitude included.
func drawState(t *rapid.T) *State {
	s := &State{
		Schema:  StateSchema,
		Cluster: rapid.StringMatching(`[A-Za-z0-9_-]{1,32}`).Draw(t, "cluster"),
		Epoch:   rapid.Uint64Range(1, MaxSafeInteger).Draw(t, "epoch"),
		Seq:     rapid.Uint64Range(1, MaxSafeInteger).Draw(t, "seq"),
	}
	s.State = env.State{
		Cluster:   drawCluster(t),
		Now:       time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "now")),
		Round:     rapid.Int64Range(0, math.MaxInt64).Draw(t, "round"),
		RoundLen:  time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "round length")),
		Knowledge: env.Knowledge(rapid.IntRange(0, 2).Draw(t, "knowledge")),
		Recent: env.Window{
			Length: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "window")), Arrivals: rapid.IntRange(0, 9).Draw(t, "arrivals"),
			CompletedService: drawFloat(t), CompletedSquare: drawFloat(t), Queue: drawFloat(t), Running: drawFloat(t), BusyGPUs: drawFloat(t),
		},
		Jobs: make([]env.JobState, rapid.IntRange(0, 6).Draw(t, "jobs")),
	}
	for i := range s.State.Jobs {
		s.State.Jobs[i] = drawJob(t, &s.State, i)
	}
	drawLimits(t, &s.State)
	return s
}

// drawLimits draws nodes out of service and quotas, of tenants with and without
// jobs.
func drawLimits(t *rapid.T, s *env.State) {
	for n := range s.Cluster.Nodes {
		if rapid.IntRange(0, 5).Draw(t, "down") == 0 {
			s.Down = append(s.Down, n)
		}
	}
	tenants := []string{"", "none"}
	for i := range s.Jobs {
		tenants = append(tenants, s.Jobs[i].Tenant)
	}
	slices.Sort(tenants)
	for _, tenant := range slices.Compact(tenants) {
		for gpuType := env.AnyType; gpuType < len(s.Cluster.Types); gpuType++ {
			if rapid.IntRange(0, 5).Draw(t, "quota") == 0 {
				s.Quotas = append(s.Quotas, env.Quota{Tenant: tenant, Type: gpuType, GPUs: rapid.IntRange(0, 20).Draw(t, "quota gpus")})
			}
		}
	}
}

func drawCluster(t *rapid.T) env.Cluster {
	var c env.Cluster
	for i := range rapid.IntRange(1, 4).Draw(t, "types") {
		c.Types = append(c.Types, env.GPUType{
			Name:      string(rune('A'+i)) + rapid.StringN(0, 8, 64).Draw(t, "type name"),
			MemoryGiB: drawFloat(t), PricePerHour: drawFloat(t),
		})
	}
	for range rapid.IntRange(1, 8).Draw(t, "nodes") {
		c.Nodes = append(c.Nodes, env.Node{Type: rapid.IntRange(0, len(c.Types)-1).Draw(t, "node type"), GPUs: rapid.IntRange(1, 8).Draw(t, "node gpus")})
	}
	return c
}

func drawJob(t *rapid.T, s *env.State, i int) env.JobState {
	j := env.JobState{
		ID: int64(i), Model: rapid.StringN(0, 12, 96).Draw(t, "model"), Tenant: rapid.StringN(0, 4, 32).Draw(t, "tenant"),
		Batch: rapid.IntRange(1, 1<<40).Draw(t, "batch"), GPUs: rapid.IntRange(1, 16).Draw(t, "gpus"), Weight: positive(t),
		Done: drawFloat(t), Service: drawFloat(t), Remaining: env.Unknown,
		Ran: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ran")), Restarts: rapid.IntRange(0, 99).Draw(t, "restarts"),
	}
	if s.Knowledge != env.None {
		j.Remaining = positive(t)
	}
	for range rapid.IntRange(1, 4).Draw(t, "strategies") {
		gpus := rapid.IntRange(1, 8).Draw(t, "strategy gpus")
		j.Strategies = append(j.Strategies, env.Strategy{
			Type: rapid.IntRange(0, len(s.Cluster.Types)-1).Draw(t, "strategy type"), GPUs: gpus, Nodes: rapid.IntRange(1, gpus).Draw(t, "strategy nodes"),
			Plan:       env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: 8, ZeRO: rapid.IntRange(0, 3).Draw(t, "zero"), Checkpoint: rapid.Bool().Draw(t, "checkpoint"), Offload: rapid.Bool().Draw(t, "offload")},
			Throughput: positive(t), Restart: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "restart")),
			Share: rapid.SampledFrom([]int{0, 0, 0, 1, 2, 4, 8}).Draw(t, "share"),
		})
	}
	j.Current = rapid.IntRange(env.Idle, len(j.Strategies)-1).Draw(t, "current")
	return j
}

// drawFloat draws a finite value >= 0 with any bits, -0 and denormals included.
func drawFloat(t *rapid.T) float64 {
	x := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return math.Copysign(0, -1)
	}
	return math.Abs(x)
}

func positive(t *rapid.T) float64 { return max(drawFloat(t), math.SmallestNonzeroFloat64) }
