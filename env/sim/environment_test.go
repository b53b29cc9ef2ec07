package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/envtest"
	"github.com/yardmaster/yardmaster/env/rng"
)

// TestJobStrategyContract runs the conformance check under every variant; each
// environment gets candidates of its own, so that nothing is shared.
func TestJobStrategyContract(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			cfg.Workload = poisson(12, 10*time.Minute)
			if _, on := switched()[name]; on {
				cfg.Workload = eventful(cfg.Workload)
			}
			cfg.MaxRounds = 200 // restarts longer than a round starve jobs that random picks keep moving
			newEnv := func() (env.Env, error) { return NewJobStrategy(cfg) }
			if err := envtest.Check(newEnv, []uint64{1, 2}, 20_000); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMaskAgreesWithItsDefinition recomputes the mask of every step from the
// picks alone.
func TestMaskAgreesWithItsDefinition(t *testing.T) {
	cfg := smallConfig()
	cfg.Workload = poisson(25, 2*time.Minute)
	checkMasks(t, cfg)
	cfg = allOn()
	cfg.Workload = eventful(poisson(25, 2*time.Minute))
	checkMasks(t, cfg)
}

func checkMasks(t *testing.T, cfg Config) {
	t.Helper()
	e, err := NewJobStrategy(cfg)
	if err != nil {
		t.Fatal(err)
	}
	actions := rng.New(4, "actions")
	step, err := e.Reset(4)
	if err != nil {
		t.Fatal(err)
	}
	space := e.Spec().Space
	var picked []env.Action
	for !step.Done() {
		want := slowMask(e, picked)
		for row := range want {
			if step.Observation.Mask[row] != want[row] {
				t.Fatalf("round %d after picks %v: row %d is legal: %v, want %v", e.State().Round, picked, row, step.Observation.Mask[row], want[row])
			}
		}
		a := space.Sample(&step.Observation, actions)
		picked = append(picked, a)
		if a == 0 {
			picked = picked[:0]
		}
		if step, err = e.Step(a); err != nil {
			t.Fatal(err)
		}
	}
}

// slowMask asks Allocation.Validate about every row.
func slowMask(e *JobStrategy, picked []env.Action) []bool {
	s, rows := e.State(), e.encoder.Candidates()
	a := env.NewAllocation(len(s.Jobs))
	for _, p := range picked {
		a[rows[p].Job] = int(rows[p].Strategy)
	}
	mask := make([]bool, len(rows))
	legal := false
	for r := 1; r < len(rows); r++ {
		if job := rows[r].Job; a[job] == env.Idle {
			a[job] = int(rows[r].Strategy)
			mask[r] = a.Validate(s) == nil
			a[job] = env.Idle
		}
		legal = legal || mask[r]
	}
	mask[0] = len(picked) > 0 || !legal
	return mask
}

// TestEnvironmentEqualsSimulator plays an episode through the environment and
// the same allocations through Sim.
func TestEnvironmentEqualsSimulator(t *testing.T) {
	e, err := NewJobStrategy(smallConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := mustNew(t, smallConfig())
	mustReset(t, s, 6)
	step, err := e.Reset(6)
	if err != nil {
		t.Fatal(err)
	}
	decide := randomly(rng.New(6, "policy"))
	sum := 0.0
	reward, _ := play(t, s, func(st *env.State, a env.Allocation) {
		for i := range a {
			a[i] = env.Idle
		}
		// Picks something, or stop would be illegal.
		for tries := 0; tries < 100 && len(st.Jobs) > 0; tries++ {
			decide(st, a)
			for _, k := range a {
				if k != env.Idle {
					tries = 100
				}
			}
		}
		for row, c := range e.encoder.Candidates() {
			if row > 0 && a[c.Job] == int(c.Strategy) {
				if step, err = e.Step(env.Action(row)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if step, err = e.Step(0); err != nil {
			t.Fatal(err)
		}
		sum += step.Reward
	})
	if sum != reward || !step.Terminated {
		t.Errorf("environment: rewards %v, terminated %v, want %v and true", sum, step.Terminated, reward)
	}
	if got, want := fmt.Sprint(e.Schedule()), fmt.Sprint(s.Schedule()); got != want {
		t.Errorf("schedule\n%s\nwant\n%s", got, want)
	}
}

// ordered is a base scheduler with one knob: 0 is FIFO, 1 is least attained
// service.
type ordered struct{ decide decider }

func (o ordered) Decide(_ context.Context, s *env.State) (env.Allocation, error) {
	a := env.NewAllocation(len(s.Jobs))
	o.decide(s, a)
	return a, nil
}

func orders() []env.Configuration {
	var out []env.Configuration
	for _, v := range []float64{0, 1} {
		out = append(out, env.Configuration{Scheduler: "ordered", Knobs: []env.Knob{{Name: "las", Values: []float64{v}}}})
	}
	return out
}

func buildOrdered(c env.Configuration) (Scheduler, error) {
	if v, _ := c.Knob("las"); v[0] == 1 {
		return ordered{las()}, nil
	}
	return ordered{fifo()}, nil
}

func schedulerConfig() SchedulerConfigConfig {
	cfg := smallConfig()
	cfg.Workload = poisson(60, 4*time.Minute)
	cfg.Knowledge = env.None
	return SchedulerConfigConfig{Sim: cfg, Configurations: orders(), Build: buildOrdered}
}

func TestSchedulerConfigContract(t *testing.T) {
	for name, change := range map[string]func(*SchedulerConfigConfig){
		"default":   func(*SchedulerConfigConfig) {},
		"truncated": func(c *SchedulerConfigConfig) { c.Sim.MaxRounds = 25 },
		"sparse":    func(c *SchedulerConfigConfig) { c.Sim.Workload = poisson(20, 6*time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := schedulerConfig()
			change(&cfg)
			newEnv := func() (env.Env, error) { return NewSchedulerConfig(cfg) }
			if err := envtest.Check(newEnv, []uint64{1, 2, 3}, 2_000); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSchedulerConfigRunsWindows plays one configuration throughout: the
// schedule must be that of its scheduler, cut into windows of an hour.
func TestSchedulerConfigRunsWindows(t *testing.T) {
	for action := range env.Action(2) {
		cfg := schedulerConfig()
		e, err := NewSchedulerConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		step, err := e.Reset(3)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for !step.Done() {
			jobs := len(e.State().Jobs)
			if step, err = e.Step(action); err != nil {
				t.Fatal(err)
			}
			sum += step.Reward
			if !step.Done() && step.Elapsed != time.Hour && jobs > 1 {
				t.Errorf("a window of %v, want 1h", step.Elapsed)
			}
		}
		s := mustNew(t, cfg.Sim)
		mustReset(t, s, 3)
		reward, _ := play(t, s, []decider{fifo(), las()}[action])
		if math.Abs(sum-reward) > 1e-9*math.Abs(reward) {
			t.Errorf("configuration %d: rewards sum to %v, want %v", action, sum, reward)
		}
		if got, want := fmt.Sprint(e.Schedule()), fmt.Sprint(s.Schedule()); got != want {
			t.Errorf("configuration %d: the schedule is not that of its scheduler", action)
		}
	}
}

// TestSchedulerConfigShowsItsWindow checks that the observation covers the same
// stretch as the action.
func TestSchedulerConfigShowsItsWindow(t *testing.T) {
	cfg := schedulerConfig()
	cfg.Window = 2 * time.Hour
	e, err := NewSchedulerConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	step, err := e.Reset(1)
	for range 2 {
		if err != nil || step.Done() {
			t.Fatalf("done %v, error %v", step.Done(), err)
		}
		step, err = e.Step(0)
	}
	if got := e.State().Recent.Length; got != 2*time.Hour {
		t.Errorf("recent covers %v, want 2h", got)
	}
}

func TestSchedulerConfigBuildsOnce(t *testing.T) {
	cfg := schedulerConfig()
	built := 0
	cfg.Build = func(c env.Configuration) (Scheduler, error) {
		built++
		return buildOrdered(c)
	}
	e, err := NewSchedulerConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := e.Step(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if built != 1 {
		t.Errorf("built %d schedulers, want 1", built)
	}
}

// failing is a scheduler that never answers.
type failing struct{}

var errFailing = errors.New("no decision")

func (failing) Decide(context.Context, *env.State) (env.Allocation, error) { return nil, errFailing }

func TestSchedulerConfigReportsAFailingScheduler(t *testing.T) {
	cfg := schedulerConfig()
	cfg.Build = func(env.Configuration) (Scheduler, error) { return failing{}, nil }
	e, err := NewSchedulerConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Reset(1); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Step(0); !errors.Is(err, errFailing) {
		t.Errorf("got %v, want the scheduler's error", err)
	}
	if _, err := e.Step(0); !errors.Is(err, env.ErrNeedsReset) {
		t.Errorf("after it: got %v, want ErrNeedsReset", err)
	}
	if _, err := e.Reset(1); err != nil {
		t.Error(err)
	}
}

func TestSchedulerConfigRefuses(t *testing.T) {
	_, err := NewSchedulerConfig(SchedulerConfigConfig{Window: -1, Configurations: []env.Configuration{{}, orders()[0], orders()[0]}})
	for _, want := range []string{"Window is -1ns", "Build is nil", "scheduler is empty", "Configurations[2] equals Configurations[1]", "Candidates is <nil>", "GPU types"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
}

func TestRegister(t *testing.T) {
	var jobs env.Registry[Config]
	RegisterJobStrategy(&jobs)
	if e, err := jobs.Make(JobStrategyID, smallConfig()); err != nil || e.Spec().ID != JobStrategyID {
		t.Errorf("make %s: %v, %v", JobStrategyID, e, err)
	}
	if e, err := jobs.Make(JobStrategyID, Config{}); err == nil || e != nil {
		t.Errorf("make with an empty config: got %v, %v, want nil and an error", e, err)
	}
	var configs env.Registry[SchedulerConfigConfig]
	RegisterSchedulerConfig(&configs)
	if e, err := configs.Make(SchedulerConfigID, schedulerConfig()); err != nil || e.Spec().ID != SchedulerConfigID {
		t.Errorf("make %s: %v, %v", SchedulerConfigID, e, err)
	}
	if e, err := configs.Make(SchedulerConfigID, SchedulerConfigConfig{}); err == nil || e != nil {
		t.Errorf("make with an empty config: got %v, %v, want nil and an error", e, err)
	}
}
