package heuristic

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

func newDensity(t testing.TB, cfg DensityConfig) *Density {
	t.Helper()
	d, err := NewDensity(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// plain counts work per GPU only.
var plain = DensityConfig{Gamma: 1, Bonus: -1, Penalty: -1}

func TestDensity(t *testing.T) {
	heavy := waiting(4, 100)
	heavy.Weight = 3
	short := waiting(1, 100)
	for _, c := range []struct {
		name  string
		cfg   DensityConfig
		state *env.State
		want  []int
	}{
		// Densities on fast: 3·2/100, 2/100, 2/50; on slow half of that.
		{"weight over remaining", plain, stateOf(heavy, waiting(4, 100), waiting(4, 50)), []int{fast, idle, slow}},
		// γ = 0: 8/100 before 2/100. γ = 1: equal, ties by ID.
		{"size counts at γ = 0", DensityConfig{Gamma: -1, Bonus: -1, Penalty: -1}, stateOf(short, waiting(4, 100)), []int{slow, fast}},
		{"size does not at γ = 1", plain, stateOf(short, waiting(4, 100)), []int{fast, slow}},
		// Moving to fast: 2 × 0.9; staying: 1. With a penalty of ln 3: 2/3.
		{"moves where the restart pays", DensityConfig{Gamma: 1, Bonus: -1}, stateOf(running(4, 100, slow)), []int{fast}},
		{"a penalty holds it", DensityConfig{Gamma: 1, Bonus: -1, Penalty: math.Log(3)}, stateOf(running(4, 100, slow)), []int{slow}},
		{"a bonus outweighs the penalty", DensityConfig{Gamma: 1, Bonus: 0.5, Penalty: math.Log(3)}, stateOf(running(4, 100, slow)), []int{fast}},
		// A running job with 10 % more left beats a waiting one that loses a
		// tenth of the round to its start; with 12 % more it does not.
		{"the start of a waiting job costs too", DensityConfig{Gamma: 1, Bonus: -1}, stateOf(waiting(4, 100), running(4, 110, fast)), []int{slow, fast}},
		{"but not more than it costs", DensityConfig{Gamma: 1, Bonus: -1}, stateOf(waiting(4, 100), running(4, 112, fast)), []int{fast, slow}},
	} {
		t.Run(c.name, func(t *testing.T) { wantDecision(t, newDensity(t, c.cfg), c.state, c.want...) })
	}
}

func TestDensityIsElastic(t *testing.T) {
	j := waiting(2, 100)
	j.Strategies = []env.Strategy{on(fast, 1, 1), on(fast, 2, 1.8), on(fast, 4, 3)}
	// 1, 1.8/2^γ, 3/4^γ: the scores cross where 1.8 = 2^γ and 3/1.8 = 2^γ.
	for gamma, want := range map[float64]int{0.7: 2, 0.8: 1, 0.9: 0} {
		if gamma == 0.7 && !(3/math.Pow(4, gamma) > 1.8/math.Pow(2, gamma)) {
			t.Fatal("the test's arithmetic is wrong")
		}
		wantDecision(t, newDensity(t, DensityConfig{Gamma: gamma, Bonus: -1, Penalty: -1}), stateOf(j), want)
	}
}

func TestDensityWithoutKnowledge(t *testing.T) {
	a, b, c := waiting(4, 0), waiting(4, 0), waiting(4, 0)
	a.Done, b.Done, c.Done = 9000, 100, 5000
	wantDecision(t, newDensity(t, plain), unknown(stateOf(a, b, c)), idle, fast, slow)
}

func TestDensityConfigErrors(t *testing.T) {
	_, err := NewDensity(DensityConfig{Gamma: math.NaN(), Bonus: math.Inf(1), Penalty: math.NaN()})
	for _, field := range []string{"Gamma", "Bonus", "Penalty"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}

// slowDensity picks the best candidate that fits again and again, scoring all
// of them in the formula's own words each time.
func slowDensity(cfg DensityConfig, s *env.State) env.Allocation {
	cfg.fillDefaults()
	a := env.NewAllocation(len(s.Jobs))
	free := s.Cluster.Capacity()
	for {
		bestJob, bestStrategy, best := -1, -1, math.Inf(-1)
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if a[i] != env.Idle {
				continue
			}
			top := fastest(j)
			left := j.Remaining
			if s.Knowledge == env.None {
				left = j.Done + top.Throughput*s.RoundLen.Seconds()
			}
			for k, st := range j.Strategies {
				if st.GPUs > free[st.Type] {
					continue
				}
				x := math.Log(j.Weight) - math.Log(left) + math.Log(st.Throughput) - cfg.Gamma*math.Log(float64(st.GPUs))
				switch {
				case k == j.Current || cfg.Penalty < 0:
				case cfg.Penalty > 0:
					x -= cfg.Penalty
				default:
					x += math.Log(math.Max(minShare, (s.RoundLen-st.Restart).Seconds()/s.RoundLen.Seconds()))
				}
				if st.Type == top.Type {
					x += cfg.Bonus
				}
				if x > best || x == best && j.ID < s.Jobs[bestJob].ID {
					bestJob, bestStrategy, best = i, k, x
				}
			}
		}
		if bestJob < 0 {
			return a
		}
		a[bestJob] = bestStrategy
		st := s.Jobs[bestJob].Strategies[bestStrategy]
		free[st.Type] -= st.GPUs
	}
}

func TestDensityAgainstItsSlowTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := agenttest.RandomState(rng.New(rapid.Uint64().Draw(t, "seed"), "test"), agenttest.Options{Jobs: rapid.IntRange(1, 60).Draw(t, "jobs")})
		cfg := rapid.SampledFrom([]DensityConfig{{}, {Gamma: 0.3, Penalty: 0.18}, plain}).Draw(t, "config")
		d, err := NewDensity(cfg)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Decide(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slowDensity(cfg, s), got); diff != "" {
			t.Errorf("allocation (-slow +fast):\n%s", diff)
		}
	})
}
