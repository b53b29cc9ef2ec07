package heuristic

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/env"
)

// Indices of the GPU types of the tests' cluster: 4 GPUs of each.
const (
	fast = iota
	slow
)

// on returns a strategy with a restart of 36 s, a tenth of the tests' round.
func on(gpuType, gpus int, throughput float64) env.Strategy {
	return env.Strategy{Type: gpuType, GPUs: gpus, Nodes: 1, Throughput: throughput, Restart: 36 * time.Second}
}

// both returns the strategies of a rigid job that is twice as fast on fast.
func both(gpus int) []env.Strategy {
	return []env.Strategy{on(fast, gpus, 2*float64(gpus)), on(slow, gpus, float64(gpus))}
}

// stateOf returns a state of idle and running jobs, numbered from 1 and
// submitted a second apart, at a round of 360 s.
func stateOf(jobs ...env.JobState) *env.State {
	s := &env.State{
		Cluster: env.Cluster{
			Types: []env.GPUType{{Name: "fast"}, {Name: "slow"}},
			Nodes: []env.Node{{Type: fast, GPUs: 4}, {Type: slow, GPUs: 4}},
		},
		Now:      time.Hour,
		RoundLen: 360 * time.Second,
		Jobs:     jobs,
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.ID = int64(i + 1)
		j.Submit = time.Duration(i) * time.Second
		j.Batch = 1
		if j.Weight == 0 {
			j.Weight = 1
		}
	}
	return s
}

// waiting returns an idle rigid job.
func waiting(gpus int, remaining float64) env.JobState {
	return env.JobState{GPUs: gpus, Remaining: remaining, Current: env.Idle, Strategies: both(gpus)}
}

// running returns a rigid job that runs in its strategy k.
func running(gpus int, remaining float64, k int) env.JobState {
	j := waiting(gpus, remaining)
	j.Current = k
	return j
}

// served returns j after some service in GPU-seconds.
func served(j env.JobState, service float64) env.JobState {
	j.Service = service
	return j
}

// unknown returns s as a cluster without knowledge of durations shows it.
func unknown(s *env.State) *env.State {
	s.Knowledge = env.None
	for i := range s.Jobs {
		s.Jobs[i].Remaining = env.Unknown
	}
	return s
}

func wantDecision(t *testing.T, p agent.Policy, s *env.State, want ...int) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatalf("the test's state: %v", err)
	}
	got, err := p.Decide(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(env.Allocation(want), got); diff != "" {
		t.Errorf("allocation (-want +got):\n%s", diff)
	}
}
