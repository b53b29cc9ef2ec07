package lp

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// elastic asked for 2 GPUs on a cluster of 4 fast, 8 slow and 2 tiny ones.
var elastic = env.JobState{GPUs: 2, Current: 1, Strategies: []env.Strategy{
	{Type: 0, GPUs: 1, Throughput: 10, Restart: 30 * time.Second},
	{Type: 0, GPUs: 2, Throughput: 16, Restart: 30 * time.Second},
	{Type: 0, GPUs: 2, Throughput: 18, Restart: 90 * time.Second},
	{Type: 1, GPUs: 1, Throughput: 4, Restart: 3 * time.Hour},
	{Type: 1, GPUs: 4, Throughput: 12},
	{Type: 2, GPUs: 4, Throughput: 99},
}}

var capacity = []int{4, 8, 2}

// elasticState is the state of the job elastic.
func elasticState() *env.State {
	s := &env.State{RoundLen: 100 * time.Second, Knowledge: env.Estimate, Jobs: []env.JobState{elastic}}
	for k, gpus := range capacity {
		s.Cluster.Types = append(s.Cluster.Types, env.GPUType{})
		s.Cluster.Nodes = append(s.Cluster.Nodes, env.Node{Type: k, GPUs: gpus})
	}
	return s
}

func TestTypical(t *testing.T) {
	s := elasticState()
	got := typical(make([]int, 3), &elastic, env.NewBudget(s))
	// The faster of two plans; 1 and 4 GPUs are equally near to 2: the smaller;
	// 4 tiny ones do not exist.
	if want := []int{2, 3, -1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Within a quota of one GPU it takes one of each type.
	s.Quotas = []env.Quota{{Type: env.AnyType, GPUs: 1}}
	if got, want := typical(got, &elastic, env.NewBudget(s)), []int{0, 3, -1}; !slices.Equal(got, want) {
		t.Errorf("within a quota: got %v, want %v", got, want)
	}
}

// A job that asked for more than its tenant may hold runs smaller, under Gavel's
// programs as under the others.
func TestQuotaBelowTheRequest(t *testing.T) {
	s := elasticState()
	s.Jobs[0].Weight, s.Jobs[0].Remaining, s.Jobs[0].Batch = 1, 1e5, 1
	s.Jobs[0].Strategies = append(s.Jobs[0].Strategies[:1:1], env.Strategy{Type: 0, GPUs: 2, Throughput: 16})
	s.Quotas = []env.Quota{{Type: 0, GPUs: 1}}
	forPolicies(t, func(t *testing.T, p *Policy) {
		got, err := p.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != 0 {
			t.Errorf("strategy %d, want 0: one GPU is what the quota allows", got[0])
		}
	})
}

// Gavel's isolated and proportional allocations, by hand.
func TestNormalization(t *testing.T) {
	strategies := typical(make([]int, 3), &elastic, env.NewBudget(elasticState()))
	for _, c := range []struct {
		n    int
		want float64
	}{
		{16, 4./32*18 + 8./16*4},            // 1/8 and 1/2 of the time
		{4, (4./8*18 + 8./4*4) / (0.5 + 2)}, // 1/2 and 2 times: scaled to 1
	} {
		if got := isolated(&elastic, strategies, capacity, c.n); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("isolated, %d jobs: got %v, want %v", c.n, got, c.want)
		}
	}
	if got, want := proportional(&elastic, strategies, capacity), (4.*18+8*4)/14; math.Abs(got-want) > 1e-12 {
		t.Errorf("proportional: got %v, want %v", got, want)
	}
	if got := isolated(&elastic, []int{-1, -1, -1}, capacity, 4); got != 0 {
		t.Errorf("isolated without strategies: got %v, want 0", got)
	}
}

func TestUsefulShare(t *testing.T) {
	s := &env.State{RoundLen: 100 * time.Second}
	c := Config{Horizon: 3}
	for k, want := range []float64{0.9, 1, 0.7, minShare, 1, 1} {
		if got := c.usefulShare(s, &elastic, k); math.Abs(got-want) > 1e-12 {
			t.Errorf("strategy %d: got %v, want %v", k, got, want)
		}
	}
}

func TestRemaining(t *testing.T) {
	s := elasticState()
	j := &s.Jobs[0]
	j.Done, j.Remaining = 500, 70
	p := newProgram(s, simplex.Sum, everything)
	if got := p.remaining(0); got != 70 {
		t.Errorf("estimate: got %v, want 70", got)
	}
	s.Knowledge, j.Remaining = env.None, env.Unknown
	if got := p.remaining(0); got != 500+18*100 {
		t.Errorf("none: got %v, want what it has done and a round at full speed", got)
	}
}
