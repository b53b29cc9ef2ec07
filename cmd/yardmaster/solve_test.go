package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// exampleFile returns the path of the example that the command prints.
func exampleFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, []byte(mustRun(t, "solve", "--example")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSolveWithEveryPolicy: each decides the example validly and says something
// of every job when asked.
func TestSolveWithEveryPolicy(t *testing.T) {
	path := exampleFile(t)
	for _, name := range policyNames() {
		var d solvedJSON
		if err := json.Unmarshal([]byte(mustRun(t, "solve", "--state", path, "--policy", name, "--job", "1,2,7", "--json")), &d); err != nil {
			t.Fatal(err)
		}
		if len(d.Jobs) != 14 {
			t.Errorf("%s: %d jobs, want 14", name, len(d.Jobs))
		}
		used := 0.0
		for _, u := range d.GPUTypes {
			used += u.InUse
			if u.InUse > float64(u.GPUs) {
				t.Errorf("%s: %v of %d %s are in use", name, u.InUse, u.GPUs, u.Name)
			}
		}
		if used == 0 {
			t.Errorf("%s: nothing runs", name)
		}
		for _, i := range []int{0, 1, 6} {
			if d.Jobs[i].Reason == "" || len(d.Jobs[i].Candidates) == 0 {
				t.Errorf("%s: job %d is not explained", name, d.Jobs[i].ID)
			}
		}
	}
}

func TestSolveExplainsAProgram(t *testing.T) {
	path := exampleFile(t)
	out := mustRun(t, "solve", "--state", path, "--policy", "lp:srpt", "--explain", "--job", "2")
	for _, want := range []string{"H100 GPUs", "binds", "gap", "job 2 (GPT-2", "reduced value", "its GPUs are worth to others"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`one H100 hour = [0-9.]+ V100 hours`).MatchString(out) {
		t.Errorf("no rate of exchange in:\n%s", out)
	}
	var d solvedJSON
	if err := json.Unmarshal([]byte(mustRun(t, "solve", "--state", path, "--policy", "lp:srpt", "--explain", "--json", "--job", "2,7")), &d); err != nil {
		t.Fatal(err)
	}
	p := d.Program
	if p == nil || p.Gap > 1e-6 || *p.Bound < *p.Objective*(1-1e-9) || p.Status != "optimal" {
		t.Fatalf("program: got %+v, want an optimal answer with its bound", p)
	}
	for _, r := range p.Constraints {
		if r.Used > r.Of*(1+1e-9) || r.Binds && r.Price <= 0 {
			t.Errorf("constraint %+v: want no more used than there is, and a price where it binds", r)
		}
	}
	// Reduced costs: what has a share is worth most, and never less than nothing.
	for _, i := range []int{1, 6} {
		best, shared := 0.0, math.Inf(1)
		for _, c := range d.Jobs[i].Candidates {
			best = max(best, *c.ReducedValue)
			if *c.Share > 0 {
				shared = min(shared, *c.ReducedValue)
			}
		}
		if shared < best-1e-9 {
			t.Errorf("job %d: a candidate with a share has a reduced value of %v, another has %v", d.Jobs[i].ID, shared, best)
		}
	}
}

var _ scorer = (*neural.Policy)(nil) // the learned policy is explained too

func TestSolveExplainsAGreedyPolicy(t *testing.T) {
	path := exampleFile(t)
	out := mustRun(t, "solve", "--state", path, "--policy", "two-stage-elastic", "--explain", "--job", "6")
	for _, want := range []string{"score", "candidates, as the greedy stage goes through them", "its candidate of the highest score"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	out = mustRun(t, "solve", "--state", path, "--policy", "fifo", "--explain")
	if !strings.Contains(out, "no prices and no scores") {
		t.Errorf("fifo explains:\n%s", out)
	}
}

// TestSolveTakesABareState: a state needs no envelope, and may be larger than a
// message.
func TestSolveTakesABareState(t *testing.T) {
	path := exampleFile(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.DecodeState(data)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := json.MarshalIndent(m.State, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(path), "bare.json")
	if err := os.WriteFile(other, bare, 0o600); err != nil {
		t.Fatal(err)
	}
	table := func(file string) string {
		_, rest, _ := strings.Cut(mustRun(t, "solve", "--state", file, "--policy", "srtf"), "\n") // after the time it took
		return rest
	}
	if a, b := table(path), table(other); a != b {
		t.Errorf("with an envelope:\n%s\nwithout:\n%s", a, b)
	}
}

func TestSolveErrors(t *testing.T) {
	path := exampleFile(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no state":        {[]string{"--policy", "fifo"}, exitUsage, "--state is missing"},
		"no policy":       {[]string{"--state", path}, exitUsage, "--policy is missing"},
		"unknown policy":  {[]string{"--state", path, "--policy", "lottery"}, exitUsage, "lottery"},
		"unknown job":     {[]string{"--state", path, "--policy", "fifo", "--job", "99"}, exitUsage, "--job 99"},
		"learned, no run": {[]string{"--state", path, "--policy", "learned"}, exitUsage, "--run"},
		"no file":         {[]string{"--state", filepath.Join(dir, "none.json"), "--policy", "fifo"}, exitFailure, "none.json"},
		"no tuned file":   {[]string{"--state", path, "--policy", "density@none.yaml"}, exitFailure, "yardmaster tune"},
		"not JSON":        {[]string{"--state", file("a.json", "{\n\"now_ns\": 1,\n}"), "--policy", "fifo"}, exitFailure, "line 3"},
		"unknown field":   {[]string{"--state", file("b.json", `{"nwo_ns": 1}`), "--policy", "fifo"}, exitFailure, "nwo_ns"},
		"bad value":       {[]string{"--state", file("c.json", strings.Replace(string(whole), `"weight": 1`, `"weight": -1`, 1)), "--policy", "fifo"}, exitFailure, "weight"},
		"no cluster":      {[]string{"--state", file("d.json", `{}`), "--policy", "fifo"}, exitFailure, "0 GPU types"},
		"two states":      {[]string{"--state", file("e.json", `{} {}`), "--policy", "fifo"}, exitFailure, "more follows"},
	} {
		code, stdout, stderr := command(t, append([]string{"solve"}, tt.args...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %d, nothing and %q", name, code, stdout, stderr, tt.code, tt.want)
		}
	}
}

// stateFile writes a state that is the example's but for what change does to it.
func stateFile(t *testing.T, change func(s *env.State)) string {
	t.Helper()
	shared, err := decodeState(exampleState) // its arrays are those of other states, too
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(shared)
	if err != nil {
		t.Fatal(err)
	}
	s := new(env.State)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	change(s)
	if data, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A policy that divides time says how much of what it is due a job has had.
func TestSolveExplainsShares(t *testing.T) {
	out := mustRun(t, "solve", "--state", exampleFile(t), "--policy", "lp:maxmin", "--explain", "--job", "1,2")
	for _, want := range []string{
		"lp:maxmin maximises the least throughput of any job, relative to its fair share",
		"of its time, and it has had", "jobs that have had less go first", "what one more GPU would add to the objective",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	out = mustRun(t, "solve", "--state", exampleFile(t), "--policy", "lp:gavel-total", "--explain")
	for _, want := range []string{"lp:gavel-total minimises the sum of", "what one more GPU would take off the objective"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// Where nothing is scarce, that is said, and where one slow job is what holds all
// down, which.
func TestSolveExplainsWhatHolds(t *testing.T) {
	one := stateFile(t, func(s *env.State) { s.Jobs = s.Jobs[:1] })
	if out := mustRun(t, "solve", "--state", one, "--policy", "lp:srpt", "--explain"); !strings.Contains(out, "room for the best candidate of every job") {
		t.Errorf("one job:\n%s", out)
	}
	slow := stateFile(t, func(s *env.State) {
		s.Jobs = s.Jobs[:2]
		s.Jobs[1].Weight = 100
	})
	if out := mustRun(t, "solve", "--state", slow, "--policy", "lp:maxmin", "--explain"); !strings.Contains(out, "job 2 alone holds the objective down") {
		t.Errorf("a job that cannot reach its share:\n%s", out)
	}
	// A sum is held down by no job of its own, also where all others may not run.
	barred := stateFile(t, func(s *env.State) {
		s.Jobs = s.Jobs[:2]
		s.Cluster.Nodes = append(s.Cluster.Nodes, s.Cluster.Nodes...)
		s.Jobs[0].Tenant, s.Jobs[1].Tenant = "free", "barred"
		s.Quotas = []env.Quota{{Tenant: "barred", Type: env.AnyType, GPUs: 0}}
	})
	for _, name := range []string{"lp:srpt", "lp:throughput", "lp:hetero-cost"} {
		out := mustRun(t, "solve", "--state", barred, "--policy", name, "--explain")
		if strings.Contains(out, "alone holds the objective down") || !strings.Contains(out, "room for the best candidate of every job that can run") {
			t.Errorf("%s, one of two jobs can run:\n%s", name, out)
		}
	}
}

// Why nothing of a job can run is told apart: too few GPUs, or its tenant's quota.
// A faster candidate that can never run is no reason to wait.
func TestSolveExplainsTheImpossible(t *testing.T) {
	down := stateFile(t, func(s *env.State) { s.Down = []int{0, 1, 2} })
	quota := stateFile(t, func(s *env.State) {
		s.Quotas = []env.Quota{{Tenant: s.Jobs[0].Tenant, Type: env.AnyType, GPUs: 0}}
	})
	for _, name := range []string{"lp:srpt", "density", "themis"} {
		if out := mustRun(t, "solve", "--state", down, "--policy", name, "--job", "1"); !strings.Contains(out, "none of its candidates fits the GPUs that are in service") {
			t.Errorf("%s, no node in service:\n%s", name, out)
		}
		if out := mustRun(t, "solve", "--state", quota, "--policy", name, "--job", "1"); !strings.Contains(out, "the quotas of its tenant leave room for none") {
			t.Errorf("%s, no quota:\n%s", name, out)
		}
	}
	small := stateFile(t, func(s *env.State) {
		s.Down = []int{1, 2} // its fastest candidate is on 4 H100, and nobody may have more than one
		s.Quotas = []env.Quota{{Tenant: s.Jobs[0].Tenant, Type: env.AnyType, GPUs: 1}}
		s.Jobs = s.Jobs[:1]
	})
	if out := mustRun(t, "solve", "--state", small, "--policy", "themis", "--job", "1"); !strings.Contains(out, "gets 1 × H100: that is its fastest candidate") {
		t.Errorf("themis, a quota of one GPU:\n%s", out)
	}
}

// Names come from clusters: they break no table and move no cursor.
func TestSolvePrintsHostileNames(t *testing.T) {
	path := stateFile(t, func(s *env.State) {
		s.Cluster.Types[0].Name = "H\t1\n00"
		s.Jobs[0].Model, s.Jobs[0].Tenant = "evil\x1b[31m\nrow", "\x1b]0;x\x07"
		s.Jobs[1].Model = "\u009b2J" // CSI as one character
		s.Quotas = []env.Quota{{Tenant: s.Jobs[0].Tenant, Type: env.AnyType, GPUs: 2}}
	})
	for _, name := range []string{"lp:srpt", "density"} {
		out := mustRun(t, "solve", "--state", path, "--policy", name, "--explain", "--job", "1")
		if strings.ContainsAny(out, "\x1b\x07\t\u009b") || strings.Contains(out, "\nrow") {
			t.Errorf("%s:\n%q", name, out)
		}
	}
}

// Numbers that are valid in a state but beyond what can be computed, and a state
// without jobs, are JSON all the same.
func TestSolveWritesJSONOfEveryState(t *testing.T) {
	absurd := stateFile(t, func(s *env.State) {
		for i := range s.Jobs {
			j := &s.Jobs[i]
			j.Remaining, j.Weight, j.Done = []float64{1e308, 1e-308, 1}[i%3], []float64{1e308, 1, 1e-308}[i/3%3], []float64{0, 1e308}[i%2]
			for k := range j.Strategies {
				j.Strategies[k].Throughput = []float64{1e308, 1e-300, 1}[(i+k)%3]
			}
		}
	})
	empty := stateFile(t, func(s *env.State) { s.Jobs = []env.JobState{} })
	for _, name := range policyNames() {
		var d solvedJSON
		if err := json.Unmarshal([]byte(mustRun(t, "solve", "--state", absurd, "--policy", name, "--explain", "--job", "1,2,3,4,5,6", "--json")), &d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if out := mustRun(t, "solve", "--state", absurd, "--policy", name, "--explain", "--job", "1,2,3,4,5,6"); strings.Contains(out, "NaN") {
			t.Errorf("%s:\n%s", name, out)
		}
		if out := mustRun(t, "solve", "--state", empty, "--policy", name, "--explain", "--json"); !strings.Contains(out, `"jobs": []`) {
			t.Errorf("%s, no jobs:\n%s", name, out)
		}
	}
}
