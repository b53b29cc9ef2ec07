package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/train/runfile"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// A sweep ranks its trials, leaves the best as a run file, and keeps what is
// finished.
func TestSweep(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "sweep")
	args := []string{"train", "sweep", "--base", config, "--out", out, "--grid", "ppo.rate=1e-4,3e-3", "--set", "ppo.iterations=1", "--json"}
	var first sweepResult
	if err := json.Unmarshal([]byte(mustRun(t, args...)), &first); err != nil {
		t.Fatal(err)
	}
	if len(first.Rows) != 2 || first.Rows[0].Mean <= 0 || first.Rows[0].Mean > first.Rows[1].Mean || len(first.Rows[0].Runs) != 1 {
		t.Fatalf("got %+v, want two trials, the best first", first)
	}
	best, err := runfile.Read(first.Best)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(first.Rows[0].Settings[0].Value, "1e-4", "0.0001"); got != "0.0001" && got != "3e-3" || best.PPO.Iterations != 1 {
		t.Errorf("the best has %s, and %d iterations, want 1", got, best.PPO.Iterations)
	}
	// Another seed adds a run to each trial. Those that are finished stay.
	var second sweepResult
	if err := json.Unmarshal([]byte(mustRun(t, "train", "sweep", "--config", filepath.Join(out, sweepFile), "--out", out, "--seeds", "2", "--json")), &second); err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]float64)
	for _, r := range second.Rows {
		if len(r.Runs) != 2 || r.Error != "" {
			t.Errorf("trial %d: got %+v, want two runs", r.Trial, r)
		}
		runs[r.Runs[0].Dir] = r.Runs[0].Seconds
	}
	for _, r := range first.Rows {
		if runs[r.Runs[0].Dir] != r.Runs[0].Seconds {
			t.Errorf("%s was trained again", r.Runs[0].Dir)
		}
	}
	if table := mustRun(t, "train", "sweep", "--config", filepath.Join(out, sweepFile), "--out", out, "--seeds", "2"); !strings.Contains(table, "rank  ppo.rate  mean") || !strings.Contains(table, "best: "+filepath.Join(out, bestFile)) {
		t.Errorf("got\n%s", table)
	}
	mustRun(t, "bench", "--run", filepath.Join(out, second.Rows[0].Runs[0].Dir), "--policies", "fifo,learned", "--seeds", "1")
}

// A sweep that is stopped says how to go on, and does.
func TestSweepResumes(t *testing.T) {
	dir, config := smallRun(t)
	args := func(out string) []string {
		return []string{"train", "sweep", "--base", config, "--out", filepath.Join(dir, out), "--grid", "ppo.rate=1e-4,3e-3"}
	}
	mustRun(t, args("whole")...)
	// The first trial's log is found by the name that the whole sweep gave it.
	trials, err := filepath.Glob(filepath.Join(dir, "whole", "trials", "*"))
	if err != nil || len(trials) != 2 {
		t.Fatalf("found %v (%v), want two trials", trials, err)
	}
	stopped := 0
	for _, trial := range trials {
		name := filepath.Base(trial)
		out := "stopped in " + name
		code, stderr := interrupted(t, filepath.Join(dir, out, "trials", name, runfile.MetricsName), 3, args(out)...)
		if code == 0 {
			continue // it was over before
		}
		stopped++
		if !strings.Contains(stderr, "yardmaster train sweep --config '"+filepath.Join(dir, out, sweepFile)+"' --out '") {
			t.Fatalf("stderr is %q, want the command to go on", stderr)
		}
		mustRun(t, "train", "sweep", "--config", filepath.Join(dir, out, sweepFile), "--out", filepath.Join(dir, out))
		for _, trial := range trials {
			want, got := contents(t, trial), contents(t, filepath.Join(dir, out, "trials", filepath.Base(trial)))
			delete(want, "trial.json") // has how long it took
			delete(got, "trial.json")
			for file := range want {
				if want[file] != got[file] {
					t.Errorf("%s: %s of %s differs", out, file, filepath.Base(trial))
				}
			}
		}
	}
	if stopped == 0 {
		t.Error("no sweep was interrupted: the test shows nothing")
	}
}

// Trials that read the trace and the catalogue again are not kept under the hash of others.
func TestSweepOfFilesThatChange(t *testing.T) {
	dir, config, own := ownRun(t)
	file, err := runfile.Read(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(){
		"catalogue": func() { writeAs(t, own, strings.Replace(read(t, own), "host_ms: 8", "host_ms: 80", 1)) },
		"trace": func() {
			mustRun(t, "trace", "synth", "--jobs", "300", "--max-duration", "4h", "--seed", "2", "--out", filepath.Join(dir, "jobs.parquet"))
		},
	} {
		l, err := scenario.Load(file.Scenario)
		if err != nil {
			t.Fatal(err)
		}
		trial := file.Clone()
		trial.Scenario.Vary.Load = [2]float64{0.7, 1.3}
		change()
		trialDir := filepath.Join(dir, "trial of "+name)
		s := &sweepRun{loaded: l, stderr: io.Discard}
		if _, err := s.train(t.Context(), 0, trialDir, trial); err == nil || !strings.Contains(err.Error(), "the trace or the catalogue was changed while the sweep ran") {
			t.Errorf("%s: got %v, want that it was changed", name, err)
		}
		if _, err := os.Stat(trialDir); err == nil {
			t.Errorf("%s: a run was begun", name)
		}
	}
}

func TestSweepRefuses(t *testing.T) {
	dir, config := smallRun(t)
	file := filepath.Join(dir, "sweep.yaml")
	writeAs(t, file, "grid:\n  ppo.rate: 3\nrandom:\n  ppo.clip: wide\ntries: 3\n")
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"nothing":        {nil, exitUsage, "nothing to search"},
		"no axis":        {[]string{"--grid", "ppo.rate"}, exitUsage, "--grid: \"ppo.rate\" is no axis"},
		"unknown":        {[]string{"--grid", "ppo.rat=1"}, exitUsage, "perhaps ppo.rate"},
		"value":          {[]string{"--grid", "ppo.clip=0.1,7"}, exitUsage, "ppo.clip is 7, want"},
		"range":          {[]string{"--random", "ppo.clip=0.1..3", "--trials", "2"}, exitUsage, "ppo.clip is 3, want"},
		"no trials":      {[]string{"--random", "ppo.clip=0.1..0.3"}, exitUsage, "how many trials are to be drawn"},
		"log of nothing": {[]string{"--random", "ppo.leash=log:0..1", "--trials", "2"}, exitUsage, "with LOW above 0"},
		"problem":        {[]string{"--grid", "scenario.load=1,2"}, exitUsage, "scenario.load is the problem"},
		"other policy":   {[]string{"--grid", "tune.rate=0.1,0.2"}, exitUsage, "does not change the policy"},
		"seed":           {[]string{"--grid", "seed=1,2"}, exitUsage, "seed is not searched"},
		"twice":          {[]string{"--grid", "ppo.clip=0.1,0.2", "--random", "ppo.clip=0.1..0.2"}, exitUsage, "ppo.clip is listed twice"},
		"only":           {[]string{"--grid", "ppo.clip=0.1,0.2", "--only", "configuration"}, exitUsage, "--only is for train"},
		"seeds":          {[]string{"--grid", "ppo.clip=0.1,0.2", "--seeds", "0"}, exitUsage, "--seeds is 0"},
		"file":           {[]string{"--config", file}, exitFailure, "sweep.yaml:5: tries is no entry of a sweep"},
	} {
		code, _, stderr := command(t, append([]string{"train", "sweep", "--base", config, "--out", filepath.Join(dir, "out")}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, stderr, test.code, test.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("the mistakes left a directory")
	}
}
