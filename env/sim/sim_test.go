package sim

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

func TestNewReportsEverything(t *testing.T) {
	_, err := New(Config{
		Round: -1, MaxRounds: -2, Knowledge: 7, EstimateSigma: math.NaN(), SpreadSlowdown: 1.5, Window: -3,
	})
	for _, want := range []string{
		"0 GPU types", "Candidates is <nil>", "Round is -1ns", "MaxRounds is -2", "Knowledge is Knowledge(7)",
		"EstimateSigma is NaN", "SpreadSlowdown is 1.5", "Window is -3ns",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// Times that would make the clock run over are refused before it does.
func TestNewRefusesEndlessTimes(t *testing.T) {
	cfg := Config{Cluster: cluster(4, 4), Candidates: fixed{{GPUs: 1, Nodes: 1, Throughput: 1}}}
	for want, change := range map[string]func(*Config){
		"Round is 2562047h47m16.854775807s, want > 0 and at most 8760h": func(c *Config) { c.Round = math.MaxInt64 },
		"Window is 2562047h47m16.854775807s":                            func(c *Config) { c.Window, c.Round = math.MaxInt64, MaxRound },
		"MTBF 1ns, want 0 or a second":                                  func(c *Config) { c.Failures.MTBF = 1 },
	} {
		bad := cfg
		change(&bad)
		if _, err := New(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

// A job that does not come to its end stops the simulation, not the clock.
func TestTheClockDoesNotRunOver(t *testing.T) {
	jobs := []env.Job{{ID: 7, Model: "m", Batch: 1, GPUs: 1, Work: 1e15, Weight: 1}}
	s := mustNew(t, Config{
		Cluster: cluster(4, 4), Candidates: fixed{{GPUs: 1, Nodes: 1, Throughput: 1e-3}}, Round: MaxRound,
		Workload: func(uint64) ([]env.Job, error) { return jobs, nil },
	})
	mustReset(t, s, 1)
	for round := range 300 {
		_, err := s.Advance(env.Allocation{0})
		if err != nil {
			if round != 251 || !strings.Contains(err.Error(), "1 jobs are left after 250 years of simulated time, job 7 among them") {
				t.Errorf("round %d: got error %v, want that the clock is past 250 years in round 251", round, err)
			}
			break
		}
		if want := time.Duration(round+1) * MaxRound; s.State().Now != want {
			t.Fatalf("round %d ended at %v, want %v", round, s.State().Now, want)
		}
	}
	if s.State().Now < MaxClock {
		t.Errorf("the clock stands at %v, want past %v", s.State().Now, MaxClock)
	}
	jobs[0].Submit = math.MaxInt64
	if err := s.Reset(1); err == nil || !strings.Contains(err.Error(), "job 7 is submitted at 2562047h47m16.854775807s, want at most 2190000h") {
		t.Errorf("a submission at the end of time: got error %v", err)
	}
}

// fixed are candidates that are the same for all jobs.
type fixed []env.Strategy

func (f fixed) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) { return f, nil }

// broken has no answer.
type broken struct{}

func (broken) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return nil, errors.New("unknown model")
}

func TestResetRefuses(t *testing.T) {
	job := env.Job{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 1, Weight: 1}
	good := fixed{{GPUs: 1, Nodes: 1, Throughput: 1}}
	for _, tt := range []struct {
		name       string
		candidates Candidates
		change     func(a, b *env.Job)
		want       string
	}{
		{"a job without strategies", fixed{}, func(_, _ *env.Job) {}, "job 1 has 0 strategies"},
		{"strategies too large", fixed{{GPUs: 5, Nodes: 1, Throughput: 1}}, func(_, _ *env.Job) {}, "none of its 1 strategies fits"},
		{"an invalid strategy", fixed{{GPUs: 1, Nodes: 1}}, func(_, _ *env.Job) {}, "strategies[0]: throughput is 0"},
		{"candidates fail", broken{}, func(_, _ *env.Job) {}, "job 1: strategies: unknown model"},
		{"an invalid job", good, func(a, _ *env.Job) { a.Work = math.NaN() }, "work is NaN"},
		{"out of order", good, func(a, _ *env.Job) { a.Submit = 1 }, "ordered by (Submit, ID)"},
		{"out of order by ID", good, func(a, _ *env.Job) { a.ID = 3 }, "ordered by (Submit, ID)"},
		{"equal IDs", good, func(_, b *env.Job) { b.ID, b.Submit = 1, 5 }, "job ID 1 occurs twice"},
	} {
		a, b := job, job
		b.ID = 2
		tt.change(&a, &b)
		s := mustNew(t, Config{
			Cluster: cluster(4, 4), Candidates: tt.candidates,
			Workload: func(uint64) ([]env.Job, error) { return []env.Job{a, b}, nil },
		})
		err := s.Reset(3)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "seed 3") {
			t.Errorf("%s: got error %v, want one with %q and the seed", tt.name, err, tt.want)
		}
		if _, err := s.Advance(nil); !errors.Is(err, env.ErrNeedsReset) || !s.Done() {
			t.Errorf("%s: after a failed reset: done %v, advance %v", tt.name, s.Done(), err)
		}
	}
}

func TestResetRefusesNoWorkload(t *testing.T) {
	for _, w := range []Workload{
		nil,
		func(uint64) ([]env.Job, error) { return nil, nil },
		func(uint64) ([]env.Job, error) { return nil, errors.New("no file") },
	} {
		s := mustNew(t, Config{Cluster: cluster(4, 4), Candidates: fixed{}, Workload: w})
		if err := s.Reset(1); err == nil {
			t.Error("no jobs: no error")
		}
	}
}

// TestAdvanceRefusesWhatValidateRefuses compares the check of Advance with
// Allocation.Validate on random allocations, and that a refusal changes nothing.
func TestAdvanceRefusesWhatValidateRefuses(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	playRounds(t, s, fifo(), 15)
	before, hidden := clone(s.State()), s.Snapshot()
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		n := len(before.Jobs) + rapid.SampledFrom([]int{0, 0, 0, 0, 1, -1}).Draw(rt, "extra entries")
		a := env.Allocation(rapid.SliceOfN(rapid.IntRange(-2, 9), n, n).Draw(rt, "allocation"))
		if rapid.Bool().Draw(rt, "mostly idle") {
			for i := range a {
				if i%5 != 0 {
					a[i] = env.Idle
				}
			}
		}
		want := a.Validate(before)
		if got := s.check(a); (got == nil) != (want == nil) || got != nil && got.Error() != want.Error() {
			rt.Fatalf("allocation %v: got %v, want %v", a, got, want)
		}
		if want == nil {
			return
		}
		refused++
		if _, err := s.Advance(a); !errors.Is(err, env.ErrInvalidAllocation) {
			rt.Fatalf("allocation %v: got %v, want ErrInvalidAllocation", a, err)
		}
	})
	if refused == 0 {
		t.Error("no allocation was refused")
	}
	if !reflect.DeepEqual(before, s.State()) || !reflect.DeepEqual(hidden, s.Snapshot()) {
		t.Error("a refused allocation changed the simulation")
	}
}

// TestPlacementKeepsCount recounts nodes after every round of random policies,
// and that no job moves to other nodes while it keeps its strategy.
func TestPlacementKeepsCount(t *testing.T) {
	cfg := smallConfig()
	cfg.Cluster = cluster(3, 10, 7, 5)
	s := mustNew(t, cfg)
	for seed := range uint64(5) {
		mustReset(t, s, seed)
		decide := randomly(rng.New(seed, "policy"))
		for !s.Done() && !t.Failed() {
			type run struct {
				strategy int
				segment  int32
			}
			before := make(map[int64]run)
			for i := range s.state.Jobs {
				before[s.state.Jobs[i].ID] = run{s.state.Jobs[i].Current, s.active[i].segment}
			}
			playRounds(t, s, decide, 1)
			checkPlacement(t, s)
			for i := range s.state.Jobs {
				j := &s.state.Jobs[i]
				was, known := before[j.ID]
				if known && j.Current != env.Idle && was.strategy == j.Current && was.segment != s.active[i].segment {
					t.Errorf("job %d moved while it kept its strategy", j.ID)
				}
			}
		}
	}
}

// TestSameSeedSameEpisode plays one seed in two simulators, one of which played
// other things before.
func TestSameSeedSameEpisode(t *testing.T) {
	for name, cfg := range variants() {
		a, b := mustNew(t, cfg), mustNew(t, cfg)
		mustReset(t, b, 7)
		playRounds(t, b, las(), 30)
		mustReset(t, a, 3)
		mustReset(t, b, 3)
		x, y := randomly(rng.New(1, "policy")), randomly(rng.New(1, "policy"))
		for !a.Done() {
			if !reflect.DeepEqual(a.State(), b.State()) {
				t.Fatalf("%s: states differ in round %d", name, a.State().Round)
			}
			playRounds(t, a, x, 1)
			playRounds(t, b, y, 1)
		}
		if !b.Done() || !reflect.DeepEqual(a.Schedule(), b.Schedule()) {
			t.Errorf("%s: schedules differ", name)
		}
	}
}

// TestMaxRounds truncates, and leaves an episode that ends by itself alone.
func TestMaxRounds(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	play(t, s, fifo())
	rounds := s.Schedule().Rounds
	for _, limit := range []int64{1, rounds - 1, rounds, rounds + 1} {
		cfg.MaxRounds = limit
		s := mustNew(t, cfg)
		mustReset(t, s, 1)
		var last Outcome
		for !s.Done() {
			a := env.NewAllocation(len(s.State().Jobs))
			fifo()(s.State(), a)
			var err error
			if last, err = s.Advance(a); err != nil {
				t.Fatal(err)
			}
		}
		if last.Terminated != (limit >= rounds) || last.Truncated != (limit < rounds) || s.Schedule().Rounds != min(limit, rounds) {
			t.Errorf("limit %d of %d rounds: %+v after %d", limit, rounds, last, s.Schedule().Rounds)
		}
	}
}

// TestAdvanceDoesNotAllocate replays an episode from a snapshot.
func TestAdvanceDoesNotAllocate(t *testing.T) {
	cfg := smallConfig()
	cfg.Workload = poisson(300, time.Minute)
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	var allocations []env.Allocation
	decide := randomly(rng.New(1, "policy"))
	play(t, s, func(st *env.State, a env.Allocation) {
		decide(st, a)
		allocations = append(allocations, append(env.Allocation(nil), a...))
	})
	mustReset(t, s, 1)
	start := s.Snapshot()
	i := 0
	perRun := testing.AllocsPerRun(len(allocations)-2, func() {
		if s.Done() {
			_ = s.Restore(start)
			i = 0
		}
		if _, err := s.Advance(allocations[i]); err != nil {
			t.Fatal(err)
		}
		_ = s.State()
		i++
	})
	if perRun != 0 {
		t.Errorf("%v allocations per Advance, want 0", perRun)
	}
	if i < 100 {
		t.Errorf("only %d rounds were played", i)
	}
}

// TestStepDoesNotAllocate replays rounds of the environment after one episode
// has sized its memory.
func TestStepDoesNotAllocate(t *testing.T) {
	cfg := smallConfig()
	cfg.Workload = poisson(100, time.Minute)
	e, err := NewJobStrategy(cfg)
	if err != nil {
		t.Fatal(err)
	}
	space := e.Spec().Space
	actions := rng.New(1, "actions")
	var step env.TimeStep
	for range 2 {
		if step, err = e.Reset(1); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 3000 && !step.Done(); n++ {
			if step, err = e.Step(space.Sample(&step.Observation, actions)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if step, err = e.Reset(1); err != nil {
		t.Fatal(err)
	}
	perRun := testing.AllocsPerRun(2000, func() {
		if step, err = e.Step(space.Sample(&step.Observation, actions)); err != nil {
			t.Fatal(err)
		}
	})
	if perRun != 0 {
		t.Errorf("%v allocations per Step, want 0", perRun)
	}
}
