package tune

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// none generates no arrivals.
type none struct{}

func (none) Generate(uint64, time.Duration, time.Duration) ([]env.Job, error) { return nil, nil }

// TestLongerThan checks the conditional quantiles of the log-normal distribution
// against its distribution function.
func TestLongerThan(t *testing.T) {
	const expected, sigma = 1000, 0.8
	above := func(x float64) float64 { return math.Erfc(math.Log(x/expected) / sigma / math.Sqrt2) }
	for _, done := range []float64{0, 1, 500, 1000, 5000, 50_000, 500_000} {
		last := done
		for _, u := range []float64{0, 0.01, 0.25, 0.5, 0.75, 0.99, 0.9999} {
			x := longerThan(done, expected, sigma, u)
			if x < last*(1-1e-9) || math.IsInf(x, 1) || math.IsNaN(x) {
				t.Fatalf("done %v: quantile %v is %v, below the one before (%v) or not finite", done, u, x, last)
			}
			last = x
			given := 2.0
			if done > 0 {
				given = above(done)
			}
			tolerance := 1e-6
			if done == 500_000 {
				tolerance = 0.02 // the approximation for the far tail
			}
			if got := 1 - above(x)/given; math.Abs(got-u) > tolerance {
				t.Errorf("done %v: probability of at most quantile %v is %v", done, u, got)
			}
		}
	}
}

func TestSampleLonger(t *testing.T) {
	lengths := []float64{100, 200, 200, 400}
	for _, c := range []struct{ done, u, want float64 }{
		{0, 0, 100},
		{0, 0.999, 400},
		{100, 0, 200}, // a job of exactly 100 would be gone
		{100, 0.7, 400},
		{200, 0, 400},
		{400, 0, 400},   // the tail begins at what is done
		{400, 0.5, 800}, // its median is twice that
		{400, 1, 40_000},
	} {
		if got := sampleLonger(lengths, c.done, c.u); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("done %v, u %v: got %v, want %v", c.done, c.u, got, c.want)
		}
	}
	if got := sampleLonger(nil, 0, 0); got != 60 {
		t.Errorf("without any finished job: got %v s, want 60", got)
	}
}

func TestSampleRemaining(t *testing.T) {
	for _, knowledge := range []env.Knowledge{env.Oracle, env.Estimate, env.None} {
		cfg := busySim(knowledge)
		state := stateAfter(t, cfg, 1, 20*time.Hour)
		finished, _ := cfg.Workload(99)
		e := newEngine(t, EngineConfig{Sim: cfg})
		p := &Problem{State: state, Finished: finished, Arrivals: none{}, Seed: 5}
		draw := func(i int) []float64 {
			f, err := e.future(p, i)
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range f.Remaining {
				if !(x > 0) || math.IsInf(x, 1) {
					t.Fatalf("%v: remaining work of job %d is %v, want finite and > 0", knowledge, state.Jobs[k].ID, x)
				}
			}
			return f.Remaining
		}
		first := draw(0)
		if !slices.Equal(first, draw(0)) {
			t.Errorf("%v: the same future was drawn differently", knowledge)
		}
		told := make([]float64, len(state.Jobs))
		for i := range told {
			told[i] = state.Jobs[i].Remaining
		}
		if knowledge == env.Oracle {
			if !slices.Equal(first, told) {
				t.Errorf("oracle: remaining work is %v, want %v", first, told)
			}
		} else if slices.Equal(first, draw(1)) || slices.Equal(first, told) {
			t.Errorf("%v: the remaining work is the same in every future", knowledge)
		}
	}
}

func TestFutureIDsFollowTheState(t *testing.T) {
	cfg := busySim(env.Oracle)
	state := stateAfter(t, cfg, 1, 20*time.Hour)
	e := newEngine(t, EngineConfig{Sim: cfg, Horizon: 10 * time.Hour})
	f, err := e.future(&Problem{State: state, Arrivals: poisson{3}, Seed: 1}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Future) == 0 {
		t.Fatal("no arrivals in 10 hours at 3 per hour")
	}
	taken := map[int64]bool{}
	for i := range state.Jobs {
		taken[state.Jobs[i].ID] = true
	}
	for i := range f.Future {
		j := &f.Future[i]
		if taken[j.ID] || j.Submit < state.Now || j.Submit >= state.Now+10*time.Hour {
			t.Errorf("generated job %d at %v: want a new ID and a time in the horizon", j.ID, j.Submit)
		}
		taken[j.ID] = true
	}
}
