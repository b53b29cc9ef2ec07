package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

func defaultPolicy(t testing.TB) agent.Policy {
	t.Helper()
	p, err := heuristic.FromConfiguration(heuristic.TiresiasDefault())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tiresias returns configurations with one threshold each.
func tiresias(thresholds ...float64) []env.Configuration {
	var list []env.Configuration
	for _, x := range thresholds {
		list = append(list, heuristic.TiresiasConfig{Thresholds: []float64{x}}.Configuration())
	}
	return list
}

// oneGPU is the state of a cluster of one GPU: job 1 runs, has attained 1 hour
// and needs 3 more; job 2 waits and needs half an hour.
func oneGPU() *env.State {
	strategies := []env.Strategy{{GPUs: 1, Nodes: 1, Throughput: 1}}
	return &env.State{
		Cluster: gpus(1), Now: 2 * time.Hour, RoundLen: 6 * time.Minute, Knowledge: env.Oracle,
		Jobs: []env.JobState{
			{ID: 1, Model: "m", Batch: 1, GPUs: 1, Weight: 1, Done: 3600, Remaining: 3 * 3600, Service: 3600, Ran: time.Hour, Strategies: strategies},
			{ID: 2, Model: "m", Batch: 1, GPUs: 1, Weight: 1, Submit: time.Hour, Remaining: 1800, Current: env.Idle, Waiting: time.Hour, Strategies: strategies},
		},
	}
}

// TestSearchExact: without arrivals and with all work known, costs can be
// counted by hand. A threshold of one hour sends job 1 behind job 2, which
// leaves after half an hour; one of 10 hours lets job 1 run on.
func TestSearchExact(t *testing.T) {
	cfg := sim.Config{Cluster: gpus(1), Candidates: unit{}, Knowledge: env.Oracle}
	for _, c := range []struct {
		horizon time.Duration
		want    []float64 // job-hours
	}{
		// Until both are done: 2·½ + 3 and 2·3 + ½.
		{10 * time.Hour, []float64{4, 6.5}},
		// After an hour job 1 has 2½ hours to go: 2·½ + ½ + 2½. In the other
		// case both are left, and the fluid takes the shorter first: 2·1 + ½ + 2½.
		{time.Hour, []float64{4, 5}},
	} {
		e := newEngine(t, EngineConfig{Sim: cfg, Configurations: tiresias(3600, 36_000), Horizon: c.horizon})
		s, err := e.Search(t.Context(), &Problem{State: oneGPU(), Arrivals: none{}, Incumbent: 1, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for k := range c.want {
			if math.Abs(s.Cost[k]-c.want[k]) > 1e-9 || s.Error[k] > 1e-9 {
				t.Errorf("horizon %v: cost of %v is %v ± %v, want %v exactly", c.horizon, e.Configurations()[k], s.Cost[k], s.Error[k], c.want[k])
			}
		}
		gain := c.want[1] - c.want[0]
		if s.Best != 0 || s.Choice != 0 || math.Abs(s.Gain-gain) > 1e-9 || math.Abs(s.Relative[1]-gain) > 1e-9 || s.Relative[0] != 0 {
			t.Errorf("horizon %v: got %+v, want configuration 0, better by %v", c.horizon, s, gain)
		}
	}
}

// TestCommonRandomNumbers: configurations that decide alike cost exactly the
// same on every future, though futures differ. Drawn apart they would not.
func TestCommonRandomNumbers(t *testing.T) {
	for _, knowledge := range []env.Knowledge{env.Oracle, env.Estimate, env.None} {
		cfg := busySim(knowledge)
		finished, _ := cfg.Workload(99)
		e := newEngine(t, EngineConfig{Sim: cfg, Configurations: tiresias(3600, 1e12, 2e12, 3e12), Futures: 6})
		p := &Problem{State: stateAfter(t, cfg, 2, 24*time.Hour), Finished: finished, Arrivals: poisson{2.2}, Seed: 3}
		costs, err := e.simulate(t.Context(), p, 0, 6, []int{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range costs {
			if row[0] != row[1] || row[0] != row[2] {
				t.Errorf("%v: future %d: equal configurations cost %v", knowledge, i, row)
			}
			if i > 0 && row[0] == costs[0][0] {
				t.Errorf("%v: futures 0 and %d cost the same, %v", knowledge, i, row[0])
			}
		}
	}
}

// spy is a policy that notes the jobs it sees submitted during the search.
type spy struct {
	agent.Policy
	since time.Duration
	mu    sync.Mutex
	seen  map[string]bool
}

func (s *spy) Decide(ctx context.Context, state *env.State) (env.Allocation, error) {
	s.mu.Lock()
	for i := range state.Jobs {
		if j := &state.Jobs[i]; j.Submit > s.since {
			s.seen[fmt.Sprint(j.ID, j.Submit, j.GPUs)] = true
		}
	}
	s.mu.Unlock()
	return s.Policy.Decide(ctx, state)
}

// TestSameArrivalsForAllConfigurations looks at what the schedulers are shown.
func TestSameArrivalsForAllConfigurations(t *testing.T) {
	cfg := busySim(env.Estimate)
	state := stateAfter(t, cfg, 2, 24*time.Hour)
	var spies []*spy
	e := newEngine(t, EngineConfig{
		Sim: cfg, Configurations: tiresias(600, 3600, 36_000), Horizon: 12 * time.Hour,
		Build: func(c env.Configuration) (agent.Policy, error) {
			p, err := heuristic.FromConfiguration(c)
			s := &spy{Policy: p, since: state.Now, seen: map[string]bool{}}
			spies = append(spies, s)
			return s, err
		},
	})
	if _, err := e.simulate(t.Context(), &Problem{State: state, Arrivals: poisson{2.2}, Seed: 3}, 0, 4, []int{0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	if len(spies[0].seen) < 20 {
		t.Fatalf("only %d arrivals in 4 futures of 12 hours: the test shows nothing", len(spies[0].seen))
	}
	for c := 1; c < len(spies); c++ {
		if diff := cmp.Diff(spies[0].seen, spies[c].seen); diff != "" {
			t.Errorf("configurations 0 and %d saw different arrivals:\n%s", c, diff)
		}
	}
}

func TestAdoptionNeedsSignificance(t *testing.T) {
	cfg := busySim(env.Estimate)
	p := &Problem{State: stateAfter(t, cfg, 2, 24*time.Hour), Arrivals: poisson{2.2}, Incumbent: 2, Seed: 3}
	search := func(margin float64) *Scores {
		e := newEngine(t, EngineConfig{Sim: cfg, Configurations: tiresias(3600, 9000, 1e6), Margin: margin})
		s, err := e.Search(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := search(1)
	if s.Best == 2 || !(s.Gain > 0) || !(s.GainError > 0) {
		t.Fatalf("got %+v, want another configuration to be better with some error: the test shows nothing", s)
	}
	just := s.Gain / s.GainError
	if got := search(just * 0.999).Choice; got != s.Best {
		t.Errorf("margin just below the gain: choice %d, want %d", got, s.Best)
	}
	if got := search(just * 1.001).Choice; got != 2 {
		t.Errorf("margin just above the gain: choice %d, want the incumbent", got)
	}
}

// TestHeldOutFutures: the gain is measured on futures that did not choose.
func TestHeldOutFutures(t *testing.T) {
	cfg := busySim(env.Estimate)
	p := &Problem{State: stateAfter(t, cfg, 2, 24*time.Hour), Arrivals: poisson{2.2}, Seed: 3}
	e := newEngine(t, EngineConfig{Sim: cfg, Configurations: tiresias(1e6, 3600), Futures: 3, HeldOut: 5})
	s, err := e.Search(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := e.simulate(t.Context(), p, 0, 8, []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	chosen, held := newScores(2, []int{0, 1}, costs[:3]), costs[3:]
	gain, standardError := pairedGain(held)
	if s.Best != 1 || s.Gain != gain || s.GainError != standardError || !slices.Equal(s.Cost, chosen.Cost) {
		t.Errorf("got %+v, want costs %v and a gain of %v ± %v", s, chosen.Cost, gain, standardError)
	}
}

func TestTries(t *testing.T) {
	e := newEngine(t, EngineConfig{Sim: busySim(env.Oracle), Tries: 5})
	n := len(e.Configurations())
	counts := make([]int, n)
	for seed := range uint64(400) {
		incumbent := int(seed) % n
		tried := e.tries(&Problem{Incumbent: incumbent, Seed: seed})
		if len(tried) != 5 || !slices.IsSorted(tried) || !slices.Contains(tried, incumbent) {
			t.Fatalf("seed %d: tried %v, want 5 in order with the incumbent %d", seed, tried, incumbent)
		}
		for _, c := range tried {
			counts[c]++
		}
	}
	for c, k := range counts { // 400·5/24 ≈ 83
		if k < 50 || k > 120 {
			t.Errorf("configuration %d was tried %d times of 400, want about 83", c, k)
		}
	}
}

// TestSearchDoesNotDependOnWorkers and has no memory.
func TestSearchDoesNotDependOnWorkers(t *testing.T) {
	cfg := busySim(env.None)
	finished, _ := cfg.Workload(99)
	p := &Problem{State: stateAfter(t, cfg, 2, 24*time.Hour), Finished: finished, Arrivals: poisson{2.2}, Seed: 3}
	var want *Scores
	for _, workers := range []int{1, 2, 3, 9} {
		e := newEngine(t, EngineConfig{Sim: cfg, Workers: workers})
		for range 2 {
			got, err := e.Search(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d workers:\n%s", workers, diff)
			}
		}
	}
}

func TestSearchErrors(t *testing.T) {
	cfg := busySim(env.Oracle)
	e := newEngine(t, EngineConfig{Sim: cfg})
	state := stateAfter(t, cfg, 2, 5*time.Hour)
	if _, err := e.Search(t.Context(), &Problem{State: state, Arrivals: none{}, Incumbent: 24}); err == nil {
		t.Error("incumbent out of range: got no error")
	}
	broken := errors.New("no future")
	if _, err := e.Search(t.Context(), &Problem{State: state, Arrivals: failing{broken}}); !errors.Is(err, broken) {
		t.Errorf("failing generator: got %v, want its error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Search(ctx, &Problem{State: state, Arrivals: none{}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
}

type failing struct{ err error }

func (f failing) Generate(uint64, time.Duration, time.Duration) ([]env.Job, error) { return nil, f.err }

func TestEngineConfigErrors(t *testing.T) {
	_, err := NewEngine(EngineConfig{Configurations: tiresias(1), Futures: -1, HeldOut: 1, Horizon: -1, Tries: 9, Margin: -1, Workers: -1})
	for _, field := range []string{"Configurations", "Futures", "HeldOut", "Horizon", "Tries", "Margin", "Workers"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
	if _, err := NewEngine(EngineConfig{Sim: busySim(env.Oracle), Configurations: append(tiresias(1), env.Configuration{Scheduler: "lottery"})}); !errors.Is(err, heuristic.ErrUnknownScheduler) {
		t.Errorf("got %v, want %v", err, heuristic.ErrUnknownScheduler)
	}
	if _, err := NewEngine(EngineConfig{}); err == nil {
		t.Error("no cluster: got no error")
	}
}
