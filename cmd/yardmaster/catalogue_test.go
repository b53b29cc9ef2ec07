package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/train/runfile"
)

// ownRun is smallRun on GPUs that only a file describes, given one of its models.
func ownRun(t *testing.T) (dir, config, own string) {
	t.Helper()
	dir, config = smallRun(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "env", "perf", "example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	own = filepath.Join(dir, "own.yaml")
	writeAs(t, own, string(text))
	small, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	writeAs(t, config, strings.Replace(string(small), `cluster: "V100=4,K80=4"`, `cluster: "L40S=4,K80=4", models: [U-Net-512, LM], catalogue: [own.yaml]`, 1))
	return dir, config, own
}

// A run on GPU types and models of the user's own keeps them: it repeats itself, goes on
// and is compared without the file that it was begun with.
func TestRunsKeepTheirCatalogue(t *testing.T) {
	dir, config, own := ownRun(t)
	out, again := filepath.Join(dir, "run"), filepath.Join(dir, "again")
	mustRun(t, "train", "--config", config, "--out", out)
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"catalogue/1.yaml": string(text), "run.yaml": "catalogue: [catalogue/1.yaml]\n", "scenario.json": `"catalogue/1.yaml"`, "run.json": `"catalogue_hash": "`,
	} {
		if got := contents(t, out)[name]; !strings.Contains(got, want) {
			t.Errorf("%s of the run lacks %q:\n%s", name, want, got)
		}
	}
	mustRun(t, "train", "--resume", out, "--config", config) // whose file says the same
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "train", "--resume", out)
	mustRun(t, "train", "--config", filepath.Join(out, runfile.Name), "--out", again)
	checkSameRun(t, out, again)
	bench := []string{"bench", "--seeds", "2", "--policies", "fifo,learned", "--json", "--run"}
	timed := regexp.MustCompile(`"decision_us": [0-9.e+-]+`)
	compared := func(run string) string { return timed.ReplaceAllString(mustRun(t, append(bench, run)...), "") }
	if diff := cmp.Diff(compared(out), compared(again)); diff != "" {
		t.Errorf("the repeated run is compared otherwise:\n%s", diff)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	compared(filepath.Join(moved, "run"))
	mustRun(t, "train", "--config", filepath.Join(moved, "run", runfile.Name), "--out", filepath.Join(moved, "run"), "--force") // from its own copy
	checkSameRun(t, filepath.Join(moved, "again"), filepath.Join(moved, "run"))
}

// A run directory may be a project of the user's, who has a folder of GPU types there: a
// run touches only the copies that it wrote.
func TestTheUsersCatalogueFolderStays(t *testing.T) {
	dir, config, own := ownRun(t)
	folder := filepath.Join(dir, catalogueDir)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := read(t, own)
	for _, name := range []string{"own.yaml", "3.yaml"} {
		writeAs(t, filepath.Join(folder, name), text)
	}
	writeAs(t, filepath.Join(folder, "NOTES.md"), "mine")
	t.Chdir(dir)
	train := func(args ...string) []string {
		return append([]string{"train", "--config", config, "--only", "allocation", "--es-generations", "0", "--ppo-iterations", "0", "--out", "."}, args...)
	}
	check := func(what string, names ...string) {
		t.Helper()
		var got []string
		entries, err := os.ReadDir(folder)
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(names, got); err != nil || diff != "" {
			t.Errorf("%s: the folder (-want +got), %v:\n%s", what, err, diff)
		}
	}

	writeAs(t, filepath.Join(folder, "1.yaml"), "# of no run\n"+text)
	code, _, stderr := command(t, train("--catalogue", "catalogue/own.yaml")...)
	if code != exitFailure || !strings.Contains(stderr, "catalogue/1.yaml is of no run") || !strings.HasPrefix(read(t, filepath.Join(folder, "1.yaml")), "# of no run\n") {
		t.Errorf("a file of the user's is in the way: exit code %d, %q", code, stderr)
	}
	if err := os.Remove(filepath.Join(folder, "1.yaml")); err != nil {
		t.Fatal(err)
	}
	more := "models:\n  - {name: Tiny, forward_gflops: 1, parameters_m: 1, efficiency: 0.5, batches: [8]}\n"
	writeAs(t, "more.yaml", more)
	mustRun(t, train("--catalogue", "catalogue/own.yaml", "--catalogue", "more.yaml")...)
	check("a run with two files", "1.yaml", "2.yaml", "3.yaml", "NOTES.md", "own.yaml")
	mustRun(t, train("--catalogue", "catalogue/2.yaml", "--catalogue", "catalogue/1.yaml", "--force")...) // which it replaces
	if read(t, "catalogue/1.yaml") != more || read(t, "catalogue/2.yaml") != text {
		t.Error("the copies that a run is begun with are not those that it read")
	}
	mustRun(t, train("--catalogue", "catalogue/own.yaml", "--force")...)
	check("a run with one file", "1.yaml", "3.yaml", "NOTES.md", "own.yaml")
	mustRun(t, train("--set", "scenario.catalogue=[]", "--cluster", "V100=4", "--models", "LM", "--force")...)
	check("a run with none", "3.yaml", "NOTES.md", "own.yaml")
	for _, name := range []string{"own.yaml", "3.yaml"} {
		if read(t, filepath.Join(folder, name)) != text {
			t.Errorf("%s was changed", name)
		}
	}
}

// A run that is replaced by one without GPU types of the user's leaves no empty folder.
func TestNoEmptyCatalogueFolder(t *testing.T) {
	dir, config, _ := ownRun(t)
	train := []string{"train", "--config", config, "--only", "allocation", "--es-generations", "0", "--ppo-iterations", "0", "--out", filepath.Join(dir, "run")}
	mustRun(t, train...)
	mustRun(t, append(train, "--set", "scenario.catalogue=[]", "--cluster", "V100=4", "--models", "LM", "--force")...)
	if _, err := os.Stat(filepath.Join(dir, "run", catalogueDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder: %v, want that there is none", err)
	}
}

// A run does not go on with other GPU types and models than those it began with.
func TestResumeWantsTheCatalogue(t *testing.T) {
	dir, config, own := ownRun(t)
	out := filepath.Join(dir, "run")
	mustRun(t, "train", "--config", config, "--only", "allocation", "--out", out)
	text, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	faster := strings.Replace(string(text), "achievable_tensor: 0.6", "achievable_tensor: 0.7", 1)
	writeAs(t, own, faster)
	code, _, stderr := command(t, "train", "--resume", out, "--config", config)
	if code != exitUsage || !strings.Contains(stderr, "scenario.catalogue is [") || !strings.Contains(stderr, "own.yaml] on the command line") {
		t.Errorf("another file: exit code %d, %q", code, stderr)
	}
	kept := filepath.Join(out, catalogueDir, "1.yaml")
	writeAs(t, kept, faster)
	code, _, stderr = command(t, "train", "--resume", out)
	if code != exitFailure || !strings.Contains(stderr, "provenance.catalogue_hash") {
		t.Errorf("an edited copy: exit code %d, %q", code, stderr)
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"train", "--resume", out}, {"bench", "--run", out}} {
		if code, _, stderr := command(t, args...); code != exitFailure || !strings.Contains(stderr, kept) {
			t.Errorf("%v without the copy: exit code %d, %q", args, code, stderr)
		}
	}
}

// Every command that takes a cluster takes the user's GPU types; a sweep tells trials on
// other ones apart.
func TestCommandsTakeTheUsersCatalogue(t *testing.T) {
	dir, config, own := ownRun(t)
	trace := filepath.Join(dir, "jobs.parquet")
	on := []string{"--trace", trace, "--catalogue", own, "--cluster", "L40S=8"}
	given := append(on, "--jobs", "10", "--models", "U-Net-512")
	mustRun(t, append([]string{"bench", "--policies", "fifo,srtf", "--seeds", "1", "--strategies", "all,data-parallel"}, given...)...)
	tuned := filepath.Join(dir, "tuned.yaml")
	mustRun(t, append([]string{"tune", "--policies", "density", "--evaluations", "2", "--episodes", "1", "--out", tuned}, given...)...)
	if got := read(t, tuned); !strings.Contains(got, "catalogue_hash: ") {
		t.Errorf("the tuned numbers do not say which catalogue they are for:\n%s", got)
	}
	mustRun(t, append([]string{"simulate", "--count", "20"}, on...)...)
	mustRun(t, "trace", "describe", trace, "--catalogue", own, "--cluster", "L40S=8")
	if got := mustRun(t, append([]string{"train", "config"}, given...)...); !strings.Contains(got, "catalogue: ["+own+"]\n") {
		t.Errorf("train config lacks the file:\n%s", got)
	}
	sweep := []string{"train", "sweep", "--base", config, "--out", filepath.Join(dir, "sweep"), "--grid", "ppo.rate=1e-4", "--json"}
	var first, second sweepResult
	for _, r := range []*sweepResult{&first, &second} {
		if err := json.Unmarshal([]byte(mustRun(t, sweep...)), r); err != nil {
			t.Fatal(err)
		}
		writeAs(t, own, strings.Replace(read(t, own), "host_ms: 8", "host_ms: 80", 1))
	}
	if a, b := first.Rows[0].Runs[0], second.Rows[0].Runs[0]; a.Dir == b.Dir || a.Score == b.Score {
		t.Errorf("the trial on slower models is %+v, as that on others, %+v", b, a)
	}
	mustRun(t, "bench", "--run", filepath.Join(dir, "sweep", first.Rows[0].Runs[0].Dir), "--policies", "fifo", "--seeds", "1")
}

// What is read once does not change in between: a pipe is empty when it is read again.
func TestTheCatalogueIsReadOnce(t *testing.T) {
	dir, _, own := ownRun(t)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := out.WriteString(read(t, own)); err != nil { // the pipe has room for it
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "bench", "--trace", filepath.Join(dir, "jobs.parquet"), "--catalogue", fmt.Sprintf("/dev/fd/%d", in.Fd()), "--cluster", "L40S=8", "--jobs", "10", "--policies", "fifo", "--seeds", "1")
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// What is unknown is named with the place where it stands and what was probably meant.
func TestUnknownNames(t *testing.T) {
	dir, config, own := ownRun(t)
	bad, wrong, none := filepath.Join(dir, "bad.yaml"), filepath.Join(dir, "wrong.yaml"), filepath.Join(dir, "none.yaml")
	writeAs(t, bad, "scenario:\n  trace: jobs.parquet\n  catalogue: [own.yaml]\n  cluster: L40X=4\n")
	writeAs(t, wrong, "gpus:\n  - {name: Mine, memory_gib: 48, peak_tflop: {fp32: 40}}\n")
	sweep := filepath.Join(dir, "sweep.yaml")
	writeAs(t, sweep, "run: small.yaml\nset: {scenario.cluster: V9000=4}\ngrid: {ppo.rate: [1e-4]}\n")
	trace := []string{"--trace", filepath.Join(dir, "jobs.parquet")}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"type in a file":    {[]string{"train", "--config", bad, "--out", none}, exitFailure, bad + `:4: scenario.cluster: cluster "L40X=4": perf: unknown GPU type "L40X" (perhaps L40S), have A10, `},
		"type in a flag":    {append([]string{"train", "--cluster", "L4OS=4", "--catalogue", own, "--out", none}, trace...), exitUsage, `--cluster: scenario.cluster: cluster "L4OS=4": perf: unknown GPU type "L4OS" (perhaps L40S)`},
		"type that is set":  {append([]string{"train", "config", "--set", "scenario.cluster=v100=4"}, trace...), exitUsage, `--set scenario.cluster=v100=4: scenario.cluster: `},
		"model in a flag":   {append([]string{"train", "--models", "UNet-512", "--catalogue", own, "--out", none}, trace...), exitUsage, `--models: scenario.models: perf: unknown model "UNet-512" (perhaps U-Net-512), have A3C, `},
		"the way out":       {append([]string{"train", "--cluster", "TPU=4", "--out", none}, trace...), exitUsage, "describe your own in a file of --catalogue"},
		"without the file":  {append([]string{"bench", "--models", "U-Net-512"}, trace...), exitFailure, `unknown model "U-Net-512"`},
		"set of a sweep":    {[]string{"train", "sweep", "--config", sweep, "--out", none}, exitFailure, `yardmaster: set: scenario.cluster: cluster "V9000=4": perf: unknown GPU type "V9000"`},
		"over set":          {[]string{"train", "sweep", "--config", sweep, "--cluster", "V9001=4", "--out", none}, exitUsage, `--cluster: scenario.cluster: cluster "V9001=4"`},
		"simulate":          {append([]string{"simulate", "--cluster", "L4OS=4", "--catalogue", own}, trace...), exitFailure, `--cluster: cluster "L4OS=4": perf: unknown GPU type "L4OS" (perhaps L40S)`},
		"field":             {append([]string{"train", "--catalogue", wrong, "--out", none}, trace...), exitFailure, "scenario.catalogue: perf: " + wrong + `: [2:34] unknown field "peak_tflop"`},
		"no such file":      {append([]string{"simulate", "--catalogue", none}, trace...), exitFailure, none},
		"a run has its own": {[]string{"bench", "--run", dir, "--catalogue", own}, exitUsage, "--run takes the setting of the run, and --catalogue would change it"},
		"too large":         {append([]string{"bench", "--catalogue", large(t)}, trace...), exitFailure, "more than 131072 bytes"},
	} {
		code, stdout, stderr := command(t, test.args...)
		if lines := strings.Count(strings.TrimSpace(stderr), "\n") + 1; code != test.code || stdout != "" || lines != 1 || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, want %d, nothing and one line with %q", name, code, stdout, stderr, test.code, test.want)
		}
	}
	// A number that is wrong is not mended by a description.
	code, _, stderr := command(t, append([]string{"train", "--cluster", "L40S=4,V100=0", "--catalogue", own, "--out", none}, trace...)...)
	if code != exitUsage || !strings.HasSuffix(stderr, "--cluster: scenario.cluster: perf: cluster \"L40S=4,V100=0\": \"V100=0\", want a number of GPUs >= 1\n") {
		t.Errorf("no GPUs: exit code %d, stderr %q", code, stderr)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the mistakes left a run directory")
	}
	mustRun(t, "train", "config", "--config", config) // a name that the file's own catalogue has
}

// large writes a file that is too large to be a catalogue.
func large(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large.yaml")
	writeAs(t, path, strings.Repeat("# nothing\n", 1<<15))
	return path
}
