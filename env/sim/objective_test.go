package sim

import (
	"math"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
)

// objectiveOf works out what the rewards of an episode have to add up to from
// its schedule. least holds the hours that each job needs on its fastest
// candidate; where starts are free, Ideal is that for a job that was withdrawn.
func objectiveOf(cfg *Config, schedule *metrics.Schedule, least map[int64]float64) float64 {
	want := 0.0
	for i := range schedule.Jobs {
		j := &schedule.Jobs[i]
		switch cfg.Objective {
		case JCT:
			want += j.Weight * j.JCT().Hours()
		case Delay:
			hours := least[j.ID]
			if j.Outcome == metrics.Cancelled {
				hours = j.Ideal.Hours()
			}
			want += j.Weight * (j.JCT().Hours() - hours)
		case Tardiness:
			want += j.Weight * j.Tardiness().Hours()
		case Misses:
			if j.Tardiness() > 0 {
				want += j.Weight
			}
		case FairJCT:
			want += j.Weight * j.JCT().Hours()
			if j.Outcome != metrics.Cancelled && j.Rho() > 1 {
				want += j.Weight * cfg.FairnessPenalty.Hours() * (j.Rho() - 1)
			}
		}
	}
	return want
}

// TestRewardsAddUpToTheObjective checks that on random workloads under random
// allocations, for every objective and switch.
func TestRewardsAddUpToTheObjective(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			for objective := JCT; objective <= FairJCT; objective++ {
				cfg.Objective, cfg.FairnessPenalty = objective, 30*time.Minute
				cfg.FreeRestarts = objective == Delay
				s := mustNew(t, cfg)
				for seed := range uint64(3) {
					mustReset(t, s, seed)
					least := make(map[int64]float64)
					for i := range s.ep.jobs {
						least[s.ep.jobs[i].ID] = s.ep.leaves(i) / s.fastest(i) / 3600
					}
					reward, _ := play(t, s, randomly(rng.New(seed, "policy")))
					schedule := s.Schedule()
					want := objectiveOf(&cfg, &schedule, least)
					if math.Abs(want+reward) > 1e-9*(1+want) {
						t.Errorf("%v, seed %d: -sum(reward) = %v, want %v", objective, seed, -reward, want)
					}
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
