package rescore_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/rescore"
)

type policy func(s *env.State) (env.Allocation, error)

func (p policy) Decide(_ context.Context, s *env.State) (env.Allocation, error) { return p(s) }

func config(t *testing.T, n int) rescore.Config {
	t.Helper()
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := rng.New(1, "states")
	cfg := rescore.Config{Program: program}
	idle, recorded := []env.Allocation{}, []env.Allocation{}
	for i := range n {
		s := agenttest.RandomState(r, agenttest.Options{})
		a, err := heuristic.FIFO{}.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		cfg.States, cfg.Reference = append(cfg.States, s), append(cfg.Reference, a)
		idle = append(idle, env.NewAllocation(len(s.Jobs)))
		if i%2 == 0 {
			a = nil
		}
		recorded = append(recorded, a)
	}
	cfg.Contestants = []rescore.Contestant{
		{Name: "program", Policy: program},
		{Name: "fifo", Policy: heuristic.FIFO{}},
		{Name: "idle", Answers: idle},
		{Name: "recorded", Answers: recorded},
		{Name: "error", Policy: policy(func(*env.State) (env.Allocation, error) { return nil, errors.New("boom") })},
		{Name: "invalid", Policy: policy(func(s *env.State) (env.Allocation, error) { return make(env.Allocation, len(s.Jobs)+1), nil })},
	}
	return cfg
}

func TestRun(t *testing.T) {
	const n = 60
	cfg := config(t, n)
	calls := 0
	cfg.Progress = func(int, int) {}
	scores, err := rescore.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	by := make(map[string]rescore.Score)
	for _, s := range scores {
		calls++
		by[s.Policy] = s
	}
	if s := by["program"]; s.Answers != n || s.Mean != 0 || s.Worst != 0 {
		t.Errorf("the program beside itself: got %+v, want no regret", s)
	}
	if s := by["fifo"]; s.Answers != n || s.Agreed != n || !(s.Mean > 0 && s.Mean < 1) || s.Micros == 0 {
		t.Errorf("fifo: got %+v, want all answers agreed and some regret", s)
	}
	// Who runs nothing gives all away, where there was anything to give.
	if s := by["idle"]; s.Answers != n || s.Worst != 1 || !(s.Mean > by["fifo"].Mean) {
		t.Errorf("idle: got %+v", s)
	}
	if s := by["recorded"]; s.Answers != n/2 || s.Agreed != n/2 || s.Failed != 0 || s.Micros != 0 {
		t.Errorf("recorded: got %+v", s)
	}
	if s := by["error"]; s.Failed != n || s.Problem != "boom" || s.Answers != 0 {
		t.Errorf("error: got %+v", s)
	}
	if s := by["invalid"]; s.Failed != n {
		t.Errorf("invalid: got %+v", s)
	}
}

// Scores do not depend on the number of cores, and the mean is that of the regrets.
func TestRunIsDeterministic(t *testing.T) {
	cfg := config(t, 30)
	one := runtime.GOMAXPROCS(1)
	a, err := rescore.Run(t.Context(), cfg)
	runtime.GOMAXPROCS(max(2, one))
	if err != nil {
		t.Fatal(err)
	}
	b, err := rescore.Run(t.Context(), cfg)
	runtime.GOMAXPROCS(one)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		a[i].Micros, b[i].Micros = 0, 0
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("one core and two:\n%s", diff)
	}
	sum := 0.0
	for _, s := range cfg.States {
		program, err := cfg.Program.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		fifo, err := heuristic.FIFO{}.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if v := cfg.Program.Values(s, program, fifo); v[0] > 0 {
			sum += max(-1, (v[0]-v[1])/v[0])
		}
	}
	if got, want := a[1].Mean, sum/float64(len(cfg.States)); math.Abs(got-want) > 1e-12 {
		t.Errorf("mean regret of fifo is %v, want %v", got, want)
	}
}

func TestRunRefuses(t *testing.T) {
	for name, edit := range map[string]func(*rescore.Config){
		"no states":       func(c *rescore.Config) { c.States = nil },
		"no program":      func(c *rescore.Config) { c.Program = nil },
		"neither":         func(c *rescore.Config) { c.Contestants[0].Policy = nil },
		"too few answers": func(c *rescore.Config) { c.Contestants[2].Answers = c.Contestants[2].Answers[1:] },
		"reference":       func(c *rescore.Config) { c.Reference = c.Reference[1:] },
	} {
		cfg := config(t, 3)
		edit(&cfg)
		if _, err := rescore.Run(t.Context(), cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rescore.Run(ctx, config(t, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
