package tune

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

// scales gives every job one or two GPUs, with returns that diminish much: at
// high load two are a waste.
type scales struct{}

func (scales) Strategies(*env.Job, *env.Cluster) ([]env.Strategy, error) {
	return []env.Strategy{
		{GPUs: 1, Nodes: 1, Throughput: 1},
		{GPUs: 2, Nodes: 1, Throughput: 1.5},
	}, nil
}

func elasticSim() sim.Config {
	return sim.Config{Cluster: gpus(4), Candidates: scales{}, Workload: poisson{5}.episodes(40)}
}

func fitted(t *testing.T, scheduler string) *Fitted {
	t.Helper()
	f, err := Heuristic(t.Context(), HeuristicConfig{
		Scheduler: scheduler, Sim: elasticSim(), Episodes: []uint64{1, 2, 3}, Evaluations: 24, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestHeuristicIsNeverWorse: the default is a candidate; and with numbers that
// matter, as here the exponent of GPUs, the search finds better ones.
func TestHeuristicIsNeverWorse(t *testing.T) {
	f := fitted(t, "density")
	if r := f.Ratio(); r > 1 || r < 0.5 {
		t.Errorf("ratio %v, want at most 1 and no wonder", r)
	}
	if f.Evaluations > 24 || f.Evaluations < 10 {
		t.Errorf("%d candidates tried, want about 24", f.Evaluations)
	}
	for _, knob := range heuristic.Ranges("density") {
		v, ok := f.Configuration.Knob(knob.Name)
		if !ok || v[0] < knob.Low || v[0] > knob.High {
			t.Errorf("%s is %v, want a value from %v to %v", knob.Name, v, knob.Low, knob.High)
		}
	}
}

func TestHeuristicDoesNotDependOnCores(t *testing.T) {
	first := fitted(t, "two-stage-elastic")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if diff := cmp.Diff(first, fitted(t, "two-stage-elastic")); diff != "" {
		t.Errorf("one core found something else (-many +one):\n%s", diff)
	}
}

func TestHeuristicConfigErrors(t *testing.T) {
	_, err := Heuristic(t.Context(), HeuristicConfig{Scheduler: "fifo", Evaluations: 1})
	for _, want := range []string{`"fifo" has no numbers`, "no episodes", "1 evaluations"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if _, err := ObjectiveNamed("speed"); err == nil || !strings.Contains(err.Error(), "jct, p99, makespan, rho, tardiness") {
		t.Errorf("got %v, want an error that names the objectives", err)
	}
	// No job has a deadline, but completion times keep the objective above 0.
	tardiness, err := ObjectiveNamed("tardiness")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Heuristic(t.Context(), HeuristicConfig{Scheduler: "tardiness", Sim: elasticSim(), Episodes: []uint64{1}, Evaluations: 3, Objective: tardiness}); err != nil {
		t.Error(err)
	}
}

func TestTunedRoundTrip(t *testing.T) {
	want := &Tuned{Provenance: Provenance{Trace: "jobs.parquet", Cluster: "V100=4", Load: 1.1, Knowledge: "oracle", Seed: 7}}
	f := fitted(t, "two-stage")
	want.Add(f)
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTuned(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file came back changed (-written +read):\n%s", diff)
	}
	if c := got.Policies[0].Configuration(); !c.Equal(f.Configuration) {
		t.Errorf("got %v, want %v", c, f.Configuration)
	}
	if _, err := got.Policy("two-stage"); err != nil {
		t.Error(err)
	}
	if _, err := got.Policy("density"); err == nil || !strings.Contains(err.Error(), "have two-stage") {
		t.Errorf("got %v, want an error that says what there is", err)
	}
}

func TestReadTunedRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":        {"", "empty"},
		"no policies":    {"policies: []\n", "no policies"},
		"unknown key":    {"policies:\n- scheduler: density\n  color: red\n", "color"},
		"unknown policy": {"policies:\n- scheduler: lottery\n", "lottery"},
		"unknown knob":   {"policies:\n- scheduler: density\n  knobs:\n  - {name: luck, value: 1}\n", "luck"},
		"knob twice":     {"policies:\n- scheduler: density\n  knobs:\n  - {name: gamma, value: 1}\n  - {name: gamma, value: 2}\n", "ascending"},
		"twice":          {"policies:\n- scheduler: density\n- scheduler: density\n", "twice"},
		"not a number":   {"policies:\n- scheduler: density\n  knobs:\n  - {name: gamma, value: .nan}\n", "gamma"},
		"not YAML":       {"\x00\x01", ""},
		"endless":        {strings.Repeat("#", maxTuned+1), "bytes"},
	} {
		if _, err := ReadTuned(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tt.want)
		}
	}
}
