package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
)

// randomState returns the i-th state for a policy: the corners in turn, among
// others that are anything.
func randomState(r *rand.Rand, i int) *env.State {
	o := agenttest.Options{Jobs: 1 + r.IntN(24), Constrained: r.IntN(2) == 0}
	switch i % 10 {
	case 1:
		o.Jobs = 1
	case 2:
		o.Jobs = 40 + r.IntN(60)
	}
	s := agenttest.RandomState(r, o)
	for j := range s.Jobs { // 18 decades are more than the others' arithmetic holds
		if left := &s.Jobs[j].Remaining; *left != env.Unknown {
			*left = min(max(*left, 1), 1e7)
		}
	}
	switch i % 10 {
	case 0:
		s.Jobs = nil
	case 3:
		hugeRange(r, s)
	case 4:
		tightDeadlines(r, s)
	case 5:
		for j := range s.Jobs {
			s.Jobs[j].Strategies, s.Jobs[j].GPUs = s.Jobs[0].Strategies, s.Jobs[0].GPUs
			s.Jobs[j].Current = env.Idle
		}
	case 6:
		if i%20 == 6 {
			s.Down = allNodes(s)
			for j := range s.Jobs {
				s.Jobs[j].Current = env.Idle
			}
		}
	}
	return s
}

// hugeRange spreads throughputs and work over six decades.
func hugeRange(r *rand.Rand, s *env.State) {
	for j := range s.Jobs {
		job := &s.Jobs[j]
		factor := math.Pow(10, 6*r.Float64()-3)
		job.Strategies = slices.Clone(job.Strategies)
		for k := range job.Strategies {
			job.Strategies[k].Throughput *= factor
		}
		if job.Remaining != env.Unknown {
			job.Remaining *= math.Pow(10, 6*r.Float64()-3)
		}
	}
}

// tightDeadlines sets deadlines that together, or even alone, cannot be met.
func tightDeadlines(r *rand.Rand, s *env.State) {
	for j := range s.Jobs {
		s.Jobs[j].Deadline = s.Now + time.Duration(r.Int64N(int64(time.Hour)))
	}
}

func allNodes(s *env.State) []int {
	down := make([]int, len(s.Cluster.Nodes))
	for i := range down {
		down[i] = i
	}
	return down
}
