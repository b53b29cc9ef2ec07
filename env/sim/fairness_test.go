package sim

import (
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// TestImpossibleStrategiesDoNotCount gives a job a fast strategy that is larger
// than the cluster: neither its ideal nor its isolated time may use it.
func TestImpossibleStrategiesDoNotCount(t *testing.T) {
	s := mustNew(t, Config{
		Cluster:    cluster(4, 4),
		Candidates: fixed{{GPUs: 1, Nodes: 1, Throughput: 1, Restart: 10 * time.Second}, {GPUs: 8, Nodes: 2, Throughput: 100}},
		Workload: func(uint64) ([]env.Job, error) {
			return []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 8, Work: 500, Weight: 1}}, nil
		},
	})
	mustReset(t, s, 0)
	play(t, s, fifo())
	got := s.Schedule().Jobs[0]
	if got.Ideal != 510*time.Second || got.Isolated != 500*time.Second {
		t.Errorf("ideal %v and isolated %v, want 510 s and 500 s", got.Ideal, got.Isolated)
	}
}

// TestIsolatedShareOfManyTypes works the isolated allocation out by hand: two
// jobs, three types with 8, 8 and 4 GPUs, speeds 8, 4 and 2 per GPU.
func TestIsolatedShareOfManyTypes(t *testing.T) {
	s := mustNew(t, smallConfig())
	s.ep = newEpisode([]env.Job{{GPUs: 4}})
	s.ep.strategies[0] = []env.Strategy{
		{Type: 0, GPUs: 4, Throughput: 32},
		{Type: 0, GPUs: 4, Throughput: 30}, // a worse plan
		{Type: 0, GPUs: 8, Throughput: 99}, // not what it asked for
		{Type: 1, GPUs: 4, Throughput: 16},
		{Type: 2, GPUs: 4, Throughput: 8},
	}
	for _, tt := range []struct {
		n, want float64
	}{
		{1, (2*32 + 2*16 + 1*8) / 5.0},   // 2, 2 and 1: scaled down by 5
		{2, (1*32 + 1*16 + 0.5*8) / 2.5}, // 1, 1 and 1/2
		{5, 0.4*32 + 0.4*16 + 0.2*8},     // sums to 1
		{10, 0.2*32 + 0.2*16 + 0.1*8},    // sums to 1/2
		{20, 0.1*32 + 0.1*16 + 0.05*8},   // half of that
	} {
		if got := s.isolatedRate(0, tt.n); !near(got, tt.want) {
			t.Errorf("n = %v: %v steps/s, want %v", tt.n, got, tt.want)
		}
	}
}
