package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/train/runfile"
)

// smallRun writes a trace and a run file of a run of a fraction of a second, and
// returns the file.
func smallRun(t *testing.T) (dir, config string) {
	t.Helper()
	dir = t.TempDir()
	mustRun(t, "trace", "synth", "--jobs", "300", "--max-duration", "4h", "--out", filepath.Join(dir, "jobs.parquet"))
	config = filepath.Join(dir, "small.yaml")
	writeAs(t, config, `scenario: {trace: jobs.parquet, cluster: "V100=4,K80=4", jobs: 10}
validation: {episodes: 2}
bc: {passes: 1}
es: {generations: 1, episodes: 1, pairs: 2}
ppo: {iterations: 3, groups: 1, per_group: 2, validate_every: 1}
tune: {episodes: 2, lessons: 3, epochs: 2}
`)
	return dir, config
}

func writeAs(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wall is what may differ between equal runs: times, and the length of the log that
// they make, which checkpoints hold.
var wall = regexp.MustCompile(`"wall_seconds":[0-9.e+-]+`)

// contents returns the files of a run by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(name, "tensorboard") || strings.HasPrefix(name, "resume") {
			return err
		}
		raw, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(wall.ReplaceAll(raw, nil))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func checkSameRun(t *testing.T, a, b string) {
	t.Helper()
	want, got := contents(t, a), contents(t, b)
	for _, name := range []string{"model/weights.safetensors", "configuration/weights.safetensors", "metrics.jsonl", "run.yaml", "run.json", "scenario.json"} {
		if want[name] == "" {
			t.Fatalf("%s has no %s", a, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s and %s differ:\n%s", a, b, diff)
	}
}

// The run file that a run leaves repeats it, byte for byte, from anywhere.
func TestTheRunFileRepeatsTheRun(t *testing.T) {
	dir, config := smallRun(t)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	mustRun(t, "train", "--config", config, "--set", "ppo.rate=1e-3", "--out", a)
	t.Chdir(t.TempDir())
	mustRun(t, "train", "--config", filepath.Join(a, runfile.Name), "--out", b)
	checkSameRun(t, a, b)
	f, err := runfile.Read(filepath.Join(b, runfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	if f.PPO.Rate != 1e-3 || f.Scenario.Jobs != 10 || f.PPO.Minibatch == 0 {
		t.Errorf("the run file has %+v, want what was set and all defaults", f)
	}
}

// interrupted runs a command line and interrupts it once the log has n lines.
func interrupted(t *testing.T, metrics string, n int, args ...string) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if raw, err := os.ReadFile(metrics); err == nil && bytes.Count(raw, []byte("\n")) >= n {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var out, errs log
	code = run(ctx, args, &out, &errs)
	return code, errs.String()
}

// A run that is interrupted, wherever, says how to go on, and ends with the bytes
// of one that was not.
func TestResumedRunsEndTheSame(t *testing.T) {
	dir, config := smallRun(t)
	whole := filepath.Join(dir, "whole")
	mustRun(t, "train", "--config", config, "--out", whole)
	stopped := 0
	for n := 1; n <= 5; n += 2 {
		out := filepath.Join(dir, "run of "+string(rune('0'+n)))
		code, stderr := interrupted(t, filepath.Join(out, runfile.MetricsName), n, "train", "--config", config, "--out", out)
		if code == 0 {
			continue // it was over before
		}
		stopped++
		_, command, ok := strings.Cut(stderr, "yardmaster train ")
		if !ok || strings.TrimSpace(command) != "--resume '"+out+"'" {
			t.Fatalf("after %d lines: stderr is %q, want the command to resume", n, stderr)
		}
		mustRun(t, "train", "--resume", out)
		checkSameRun(t, whole, out)
		mustRun(t, "train", "--resume", out, "--config", config) // of what is over, nothing changes
		checkSameRun(t, whole, out)
	}
	if stopped == 0 {
		t.Error("no run was interrupted: the test shows nothing")
	}
}

func TestResumeRefuses(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "run")
	mustRun(t, "train", "--config", config, "--only", "allocation", "--out", out)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"another value":  {[]string{"--set", "ppo.rate=0.5"}, exitUsage, "ppo.rate is 0.0003 in " + out + "/run.yaml and 0.5 on the command line"},
		"another flag":   {[]string{"--load", "2"}, exitUsage, "scenario.load is 1 in"},
		"another part":   {[]string{"--only", "configuration"}, exitUsage, "only is allocation in"},
		"unknown key":    {[]string{"--set", "ppo.rat=0.5"}, exitUsage, "perhaps ppo.rate"},
		"another place":  {[]string{"--out", filepath.Join(dir, "x")}, exitUsage, "leave out --out"},
		"force":          {[]string{"--force"}, exitUsage, "--force"},
		"another config": {[]string{"--config", filepath.Join(dir, "none.yaml")}, exitFailure, "none.yaml"},
	} {
		code, stdout, stderr := command(t, append([]string{"train", "--resume", out}, test.args...)...)
		if code != test.code || !strings.Contains(stderr, test.want) || stdout != "" {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, stderr, test.code, test.want)
		}
	}
	if code, _, stderr := command(t, "train", "--resume", dir); code != exitFailure || !strings.Contains(stderr, "no run.yaml") {
		t.Errorf("no run: exit code %d, %q", code, stderr)
	}
	if mustRun(t, "train", "--resume", out, "--set", "ppo.rate=3e-4", "--json") == "" { // as it was
		t.Error("printed nothing")
	}
}

func TestARunIsNotOverwritten(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "run")
	args := []string{"train", "--config", config, "--only", "allocation", "--tensorboard=false", "--out", out}
	mustRun(t, args...)
	if _, err := os.Stat(filepath.Join(out, "tensorboard")); err == nil {
		t.Error("there are event files that were not wanted")
	}
	before := contents(t, out)
	code, _, stderr := command(t, args...)
	if code != exitFailure || !strings.Contains(stderr, "--resume "+out) || !strings.Contains(stderr, "--force") {
		t.Errorf("exit code %d, %q, want 1 and both ways out", code, stderr)
	}
	if diff := cmp.Diff(before, contents(t, out)); diff != "" {
		t.Errorf("the refusal changed the run:\n%s", diff)
	}
	mustRun(t, append(args, "--force", "--seed", "2")...)
	if f, err := runfile.Read(filepath.Join(out, runfile.Name)); err != nil || f.Scenario.Seed != 2 {
		t.Errorf("--force left %+v (%v)", f, err)
	}
}

// Two processes do not train in one directory.
func TestARunIsTrainedOnce(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "run")
	unlock, err := lockRun(out)
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t, "train", "--config", config, "--out", out)
	if code != exitFailure || !strings.Contains(stderr, "another process is training in "+out) {
		t.Errorf("exit code %d, %q, want 1 and that it is being trained", code, stderr)
	}
	unlock()
	mustRun(t, "train", "--config", config, "--only", "allocation", "--out", out)
}

func TestTrainPrintsJSON(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "run")
	var got trained
	if err := json.Unmarshal([]byte(mustRun(t, "train", "--config", config, "--out", out, "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Out != out || got.Allocation == nil || got.Allocation.Kept.Score <= 0 || got.Configuration == nil || got.Configuration.Lessons == 0 {
		t.Errorf("got %+v", got)
	}
}

// Metrics are in the event file under their stage.
func TestEventFilesHaveTheMetrics(t *testing.T) {
	dir, config := smallRun(t)
	out := filepath.Join(dir, "run")
	mustRun(t, "train", "--config", config, "--only", "allocation", "--out", out)
	files, err := filepath.Glob(filepath.Join(out, "tensorboard", "events.out.tfevents.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("found %v (%v), want one event file", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines, err := runfile.NewTail(filepath.Join(out, runfile.MetricsName)).Next()
	if err != nil {
		t.Fatal(err)
	}
	tags := 0
	for _, l := range lines {
		for _, m := range l.Metrics {
			tags++
			if !bytes.Contains(raw, []byte(l.Stage+"/"+m.Name)) {
				t.Errorf("the event file has no %s/%s", l.Stage, m.Name)
			}
		}
	}
	if tags < 20 || !bytes.Contains(raw, []byte("validation/score")) {
		t.Errorf("%d metrics were logged, want 20 at least, and validation/score", tags)
	}
}

func TestTrainConfigPrintsWhatItReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	all := mustRun(t, "train", "config")
	writeAs(t, path, all)
	if got := mustRun(t, "train", "defaults", "--print", "--config", path); got != all {
		t.Errorf("the file that was printed reads as another one:\n%s", cmp.Diff(all, got))
	}
	if got := mustRun(t, "train", "config", "--config", path, "--load", "1.5", "--bc-passes", "-1", "--share", "2,4"); !strings.Contains(got, "load: 1.5\n") || !strings.Contains(got, "passes: 0\n") || !strings.Contains(got, "shares: [2, 4]\n") {
		t.Errorf("flags do not show in\n%s", got)
	}
	var settings []setting
	if err := json.Unmarshal([]byte(mustRun(t, "train", "config", "--json")), &settings); err != nil {
		t.Fatal(err)
	}
	if len(settings) != len(runfile.Keys()) || settings[0].Key != runfile.Keys()[0].Name || settings[0].About == "" {
		t.Errorf("got %d settings, want %d", len(settings), len(runfile.Keys()))
	}
}

// Every flag that stands for a setting is there, and means that setting.
func TestFlagsAreSettings(t *testing.T) {
	c := newTrain()
	for _, k := range runKeys {
		if c.Flags().Lookup(k.flag) == nil {
			t.Errorf("train has no --%s", k.flag)
		}
		if err := runfile.Defaults().Take(k.key, runfile.Defaults()); err != nil && k.key != "scenario.trace" {
			t.Errorf("--%s: %v", k.flag, err)
		}
	}
}

func TestMistakesInSettings(t *testing.T) {
	dir, config := smallRun(t)
	bad := filepath.Join(dir, "bad.yaml")
	writeAs(t, bad, "ppo:\n  rate: fast\n  clip: 7\n")
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"file":          {[]string{"--config", bad}, exitFailure, []string{bad + ":2: ppo.rate is fast, want a number", bad + ":3: ppo.clip is 7, want"}},
		"flag":          {[]string{"--config", config, "--load", "0", "--jobs", "1"}, exitUsage, []string{"--load: scenario.load is 0, want", "--jobs: scenario.jobs is 1, want"}},
		"set":           {[]string{"--config", config, "--set", "ppo.rate=-1"}, exitUsage, []string{"--set ppo.rate=-1: ppo.rate is -1, want"}},
		"twice":         {[]string{"--config", config, "--load", "1", "--set", "scenario.load=2"}, exitUsage, []string{"--load sets scenario.load, too"}},
		"no teacher":    {[]string{"--config", config, "--teacher", "nobody"}, exitUsage, []string{"teacher: ", "nobody"}},
		"too few jobs":  {[]string{"--config", config, "--jobs", "40"}, exitFailure, []string{"use a longer trace or fewer jobs per episode"}},
		"unknown prior": {[]string{"--config", config, "--set", "prior.weights.luck=1"}, exitUsage, []string{"log_density"}},
	} {
		code, stdout, stderr := command(t, append([]string{"train", "--out", filepath.Join(dir, "run")}, test.args...)...)
		for _, want := range test.want {
			if code != test.code || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, stderr, test.code, want)
			}
		}
		if stdout != "" && name != "too few jobs" {
			t.Errorf("%s: printed %q", name, stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("the mistakes left a run directory")
	}
}

// Where the jobs that a policy learns from arrive at once no load is reached: one that was
// asked for is refused, the default stands for none.
func TestLoadOfJobsThatArriveAtOnce(t *testing.T) {
	dir, config := smallRun(t)
	trace := filepath.Join(dir, "jobs.parquet")
	table, err := datasets.Read(trace)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		if i < len(table.Rows)*9/10 { // the rest is in the test part, which has a load
			table.Rows[i].Submit = 0
		}
	}
	table.Sort()
	if err := datasets.Write(trace, table); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "run")
	bench := []string{"bench", "--trace", trace, "--cluster", "V100=4,K80=4", "--jobs", "10", "--policies", "fifo", "--seeds", "1"}
	for name, args := range map[string][]string{
		"bench": bench,
		"tune":  {"tune", "--trace", trace, "--cluster", "V100=4,K80=4", "--jobs", "10", "--policies", "density", "--evaluations", "2", "--episodes", "1", "--out", filepath.Join(dir, "tuned.yaml")},
		"train": {"train", "--config", config, "--out", out},
		"sweep": {"train", "sweep", "--base", config, "--out", out, "--grid", "ppo.rate=1e-4"},
	} {
		code, stdout, stderr := command(t, append(args, "--load", "2")...)
		if want := "--load is 2, but the training part's jobs arrive at once: leave it out\n"; code != exitUsage || stdout != "" || !strings.HasSuffix(stderr, want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want 2, nothing and %q", name, code, stdout, stderr, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the refusal left a run directory")
	}
	mustRun(t, bench...)
	mustRun(t, "train", "--config", config, "--only", "allocation", "--es-generations", "0", "--ppo-iterations", "0", "--out", out)
	mustRun(t, "bench", "--run", out, "--policies", "fifo", "--seeds", "1")
}

// What a process that is killed leaves half written is in the directory that it writes, not
// in the folder for temporary files, where nobody looks for it.
func TestTrainingLeavesTemporaryFilesAlone(t *testing.T) {
	dir, config, _ := ownRun(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	long := time.Unix(1e9, 0)
	if err := os.Chtimes(tmp, long, long); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"train": {"train", "--config", config, "--only", "allocation"},
		"sweep": {"train", "sweep", "--base", config, "--grid", "ppo.rate=1e-4"},
	} {
		mustRun(t, append(args, "--es-generations", "0", "--ppo-iterations", "0", "--out", filepath.Join(dir, name))...)
	}
	info, err := os.Stat(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if !info.ModTime().Equal(long) {
		t.Errorf("files were made in %s, which was changed at %v", tmp, info.ModTime())
	}
}

func TestShellQuote(t *testing.T) {
	for arg, want := range map[string]string{"run": "run", "a/b-1.yaml": "a/b-1.yaml", "my run": "'my run'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellQuote(arg); got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
}

// What is wrong with a run that is resumed is not told as a missing flag.
func TestResumeOfAnEmptiedRunFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, runfile.Name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(t, "train", "--resume", dir)
	if want := path + " has no scenario.trace"; code != exitFailure || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, stderr %q, want 1 and %q", code, stderr, want)
	}
}

// A directory that is no run may have files with the names of a run's: they are not
// replaced unless that is asked for.
func TestTrainKeepsWhatIsNoRun(t *testing.T) {
	_, config := smallRun(t)
	for _, name := range []string{"model", "checkpoints", "metrics.jsonl", "configuration.json"} {
		out := t.TempDir()
		mine := filepath.Join(out, name)
		writeAs(t, mine, "mine")
		code, _, stderr := command(t, "train", "--config", config, "--out", out)
		if code != exitFailure || !strings.Contains(stderr, out+" is no run, and has a "+name) || read(t, mine) != "mine" {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
	}
}
