package sim

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// TestDelayRewards checks on random workloads under random allocations that
// rewards add up to what no policy could avoid taken off the completion times,
// and that no round's is positive.
func TestDelayRewards(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			workload := cfg.Workload
			cfg.Objective = Delay
			s := mustNew(t, cfg)
			for seed := range uint64(5) {
				jobs, err := workload(seed)
				if err != nil {
					t.Fatal(err)
				}
				least := make(map[int64]float64, len(jobs)) // hours on the fastest candidate
				for i := range jobs {
					strategies, err := cfg.Candidates.Strategies(&jobs[i], &cfg.Cluster)
					if err != nil {
						t.Fatal(err)
					}
					least[jobs[i].ID] = jobs[i].Work / fastestOf(strategies) / 3600
				}
				mustReset(t, s, seed)
				reward, _ := play(t, s, randomly(rng.New(seed, "policy")))
				want := 0.0
				schedule := s.Schedule()
				for i := range schedule.Jobs {
					j := &schedule.Jobs[i]
					want += j.Weight * (j.JCT().Hours() - least[j.ID])
				}
				if math.Abs(want+reward) > 1e-9*(1+want) {
					t.Errorf("seed %d: -sum(reward) = %v h, total weighted delay = %v h", seed, -reward, want)
				}
			}
		})
	}
}

// TestDelayShowsAtOnce: a job at full speed costs nothing, one that waits costs
// the whole round.
func TestDelayShowsAtOnce(t *testing.T) {
	cfg := smallConfig()
	cfg.Objective, cfg.FreeRestarts, cfg.FreePlacement = Delay, true, true
	cfg.Workload = func(uint64) ([]env.Job, error) {
		return []env.Job{
			{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 1e9, Weight: 2},
			{ID: 2, Model: "m", Batch: 1, GPUs: 1, Work: 1e9, Weight: 3},
		}, nil
	}
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	a := env.NewAllocation(2)
	strategies := s.State().Jobs[0].Strategies
	for k := range strategies {
		if strategies[k].Throughput == fastestOf(strategies) {
			a[0] = k
		}
	}
	out, err := s.Advance(a)
	if err != nil {
		t.Fatal(err)
	}
	if want := -3 * DefaultRound.Hours(); math.Abs(out.Reward-want) > 1e-9 {
		t.Errorf("reward is %v h, want the %v h of job 2 alone", out.Reward, want)
	}
}

func fastestOf(strategies []env.Strategy) float64 {
	best := 0.0
	for k := range strategies {
		best = max(best, strategies[k].Throughput)
	}
	return best
}
