package train

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

var wallSeconds = regexp.MustCompile(`"wall_seconds":[^}]*`)

// files returns what a run left, by name, without wall time and without what it is
// resumed from, which holds the number of bytes of wall time.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(name, resumeDir) {
			return err
		}
		raw := read(t, path)
		if name == metricsFile {
			raw = wallSeconds.ReplaceAll(raw, nil)
		}
		all[name] = string(raw)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same compares what two runs left.
func same(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-never stopped +resumed):\n%.2000s", what, diff)
	}
}

// stopped runs cfg until so many steps are reported, and is cancelled then.
func stopped(t *testing.T, cfg Config, after int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	cfg.Progress = func(ProgressInfo) {
		if n++; n == after {
			cancel()
		}
	}
	if after == 0 {
		cancel()
	}
	if _, err := Run(ctx, cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped after %d steps: got %v, want context.Canceled", after, err)
	}
}

// A run that is stopped after any checkpoint and resumed leaves the bytes of one that
// was never stopped, whatever the number of processors on either side.
func TestResumeAfterAnyCheckpoint(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	cfg := small(t)
	wantResult := mustRun(t, cfg)
	want := files(t, cfg.Dir)
	const steps = 9
	for after := range steps {
		cfg := small(t)
		runtime.GOMAXPROCS(1 + after%2)
		stopped(t, cfg, after)
		cfg.Resume = true
		runtime.GOMAXPROCS(2 - after%2)
		result := mustRun(t, cfg)
		result.ModelDir = wantResult.ModelDir
		if diff := cmp.Diff(wantResult, result); diff != "" {
			t.Errorf("stopped after %d steps: result (-never stopped +resumed):\n%s", after, diff)
		}
		same(t, "stopped after step "+strconv.Itoa(after), want, files(t, cfg.Dir))
	}
}

// A run that is stopped after every single step comes to the same.
func TestResumeAfterEveryStep(t *testing.T) {
	cfg := small(t)
	cfg.Checkpoints = 1
	mustRun(t, cfg)
	want := files(t, cfg.Dir)
	cfg.Dir = t.TempDir()
	stopped(t, cfg, 1)
	cfg.Resume = true
	for range 7 {
		stopped(t, cfg, 1)
	}
	mustRun(t, cfg)
	same(t, "stopped after every step", want, files(t, cfg.Dir))
}

// Stages that end early end at the same step when resumed.
func TestResumeWithPatience(t *testing.T) {
	patient := func() Config {
		cfg := small(t)
		cfg.ES.Generations, cfg.ES.ValidateEvery, cfg.ES.Patience = 6, 1, 2
		cfg.PPO.Iterations, cfg.PPO.ValidateEvery, cfg.PPO.Patience = 6, 1, 3
		cfg.Validate = func(_ context.Context, m *models.Model) (float64, error) {
			return 1 + float64(m.Params.Flat[3]*m.Params.Flat[3]), nil // no use to any stage
		}
		return cfg
	}
	cfg := patient()
	result := mustRun(t, cfg)
	if n := len(result.All); n >= 1+2+6+6 {
		t.Fatalf("%d validations: no stage ended early, the test shows nothing", n)
	}
	want := files(t, cfg.Dir)
	for after := 1; after < 20; after += 3 {
		cfg := patient()
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		cfg.Progress = func(ProgressInfo) {
			if n++; n == after+1 {
				cancel()
			}
		}
		_, err := Run(ctx, cfg)
		cancel()
		if n <= after {
			break // it had ended
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cfg.Progress, cfg.Resume = nil, true
		mustRun(t, cfg)
		same(t, "stopped after step "+strconv.Itoa(after+1), want, files(t, cfg.Dir))
	}
}

// A run that had ended is returned as it is, and its files stay.
func TestResumeOfAFinishedRun(t *testing.T) {
	cfg := small(t)
	want := mustRun(t, cfg)
	before := files(t, cfg.Dir)
	cfg.Resume = true
	cfg.Validate = func(context.Context, *models.Model) (float64, error) {
		return 0, errors.New("a run that had ended was validated")
	}
	if diff := cmp.Diff(want, mustRun(t, cfg)); diff != "" {
		t.Errorf("result (-first +resumed):\n%s", diff)
	}
	same(t, "finished", before, files(t, cfg.Dir))
}

func TestNothingToResume(t *testing.T) {
	cfg := small(t)
	cfg.Resume = true
	for name, dir := range map[string]string{"empty folder": cfg.Dir, "no folder": filepath.Join(cfg.Dir, "none")} {
		cfg.Dir = dir
		if _, err := Run(t.Context(), cfg); !errors.Is(err, ErrNothingToResume) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v, want ErrNothingToResume and the folder", name, err)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 0 {
			t.Errorf("%s: the attempt left %v", name, entries)
		}
	}
}

// Another configuration is refused by the names of the settings, before anything in
// the folder is touched.
func TestResumeRefusesAnotherConfiguration(t *testing.T) {
	cfg := small(t)
	stopped(t, cfg, 4)
	before := files(t, cfg.Dir)
	for setting, change := range map[string]func(*Config){
		"seed":               func(c *Config) { c.Seed++ },
		"train_seeds":        func(c *Config) { c.TrainSeeds = c.TrainSeeds[1:] },
		"teacher":            func(c *Config) { c.Teacher = nil },
		"network.hidden":     func(c *Config) { c.Network.Hidden = 9 },
		"prior.weights.gpus": func(c *Config) { c.Prior.Weights = map[string]float64{"gpus": 2} },
		"bc.rate":            func(c *Config) { c.BC.Rate = 0.01 },
		"es.sigma":           func(c *Config) { c.ES.Sigma = 0.2 },
		"ppo.patience":       func(c *Config) { c.PPO.Patience = 4 },
		"ppo.iterations":     func(c *Config) { c.PPO.Iterations++ },
		"provenance.trace":   func(c *Config) { c.Provenance = map[string]string{"trace": "other"} },
	} {
		other := cfg
		other.Resume = true
		change(&other)
		_, err := Run(t.Context(), other)
		if err == nil || !strings.Contains(err.Error(), setting+" was ") || errors.Is(err, checkpoint.ErrDamaged) {
			t.Errorf("got %v, want an error that names %s", err, setting)
		}
		same(t, setting, before, files(t, cfg.Dir))
	}
	both := cfg
	both.Resume, both.BC.Rate, both.PPO.Clip = true, 0.01, 0.3
	if _, err := Run(t.Context(), both); err == nil || !strings.Contains(err.Error(), "bc.rate") || !strings.Contains(err.Error(), "ppo.clip was 0.2, now it is 0.3") {
		t.Errorf("got %v, want an error that names both settings", err)
	}
}

// What says which program trains may differ, with a warning.
func TestResumeWithAnotherProgram(t *testing.T) {
	cfg := small(t)
	cfg.Provenance = map[string]string{"trace": "tiny", "revision": "a"}
	stopped(t, cfg, 4)
	cfg.Provenance, cfg.Resume = map[string]string{"trace": "tiny", "revision": "b"}, true
	var warned []string
	cfg.Warn = func(err error) { warned = append(warned, err.Error()) }
	mustRun(t, cfg)
	if len(warned) != 1 || !strings.Contains(warned[0], `provenance.revision was "a", now it is "b"`) {
		t.Errorf("warned of %q, want the revision", warned)
	}
}

// checkpoints returns those in a run directory, the last one first.
func checkpoints(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, resumeDir, "*.state"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths
}

// damages are what can happen to a file.
func damages(raw []byte) map[string][]byte {
	flip := func(at int) []byte {
		out := slices.Clone(raw)
		out[at] ^= 1 << (at % 8)
		return out
	}
	return map[string][]byte{
		"empty": {}, "header only": raw[:40], "half": raw[:len(raw)/2], "last byte missing": raw[:len(raw)-1], "byte too many": append(slices.Clone(raw), 0),
		"magic": flip(1), "hash": flip(20), "version": flip(41), "middle": flip(len(raw) / 2), "end": flip(len(raw) - 1),
	}
}

// A damaged checkpoint is refused by its name, with a warning, and the one before it
// is used: the run comes to the same in the end.
func TestDamagedCheckpointIsRefusedByName(t *testing.T) {
	short := small(t)
	short.BC.Passes, short.ES.Generations, short.PPO.Iterations = 1, 1, 1
	mustRun(t, short)
	want := files(t, short.Dir)
	for i, name := range slices.Sorted(maps.Keys(damages(make([]byte, 100)))) {
		cfg := short
		cfg.Dir = t.TempDir()
		stopped(t, cfg, 1+i%3)
		last := checkpoints(t, cfg.Dir)[0]
		if err := os.WriteFile(last, damages(read(t, last))[name], 0o600); err != nil {
			t.Fatal(err)
		}
		var warned []string
		cfg.Resume, cfg.Warn = true, func(err error) { warned = append(warned, err.Error()) }
		mustRun(t, cfg)
		if len(warned) != 1 || !strings.Contains(warned[0], last) {
			t.Errorf("%s: warned of %q, want a line that names %s", name, warned, last)
		}
		same(t, name, want, files(t, cfg.Dir))
	}
}

// Where nothing can be read the error names every file, and nothing is replaced.
func TestEveryCheckpointDamaged(t *testing.T) {
	cfg := small(t)
	stopped(t, cfg, 4)
	paths := checkpoints(t, cfg.Dir)
	if len(paths) != 3 {
		t.Fatalf("%d checkpoints are kept, want 3", len(paths))
	}
	for _, path := range paths {
		if err := os.Truncate(path, 50); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, cfg.Dir)
	cfg.Resume, cfg.Warn = true, func(error) {}
	_, err := Run(t.Context(), cfg)
	if !errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, ErrNothingToResume) {
		t.Fatalf("got %v, want ErrDamaged", err)
	}
	for _, path := range paths {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want an error that names %s", err, path)
		}
	}
	same(t, "all damaged", before, files(t, cfg.Dir))
}

// Damaged demonstrations make the checkpoints that need them unusable, and a log that
// lost its end those that count on it.
func TestDamagedCompanions(t *testing.T) {
	cfg := small(t)
	cfg.BC.Passes = 3
	mustRun(t, cfg)
	want := files(t, cfg.Dir)
	for name, damage := range map[string]func(dir string) string{
		"demonstrations": func(dir string) string {
			path := filepath.Join(dir, resumeDir, "demonstrations-0002")
			raw := read(t, path)
			raw[len(raw)/2]++
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"no demonstrations": func(dir string) string {
			path := filepath.Join(dir, resumeDir, "demonstrations-0002")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return path
		},
		"metrics": func(dir string) string {
			path := filepath.Join(dir, metricsFile)
			raw := read(t, path)
			if err := os.Truncate(path, int64(len(raw)-10)); err != nil {
				t.Fatal(err)
			}
			return path
		},
	} {
		cfg := cfg
		cfg.Dir = t.TempDir()
		stopped(t, cfg, 2)
		path := damage(cfg.Dir)
		var warned []string
		cfg.Resume, cfg.Warn = true, func(err error) { warned = append(warned, err.Error()) }
		mustRun(t, cfg)
		if len(warned) != 1 || !strings.Contains(warned[0], path) {
			t.Errorf("%s: warned of %q, want a line that names %s", name, warned, path)
		}
		same(t, name, want, files(t, cfg.Dir))
	}
}

// Once cloning is behind all checkpoints its demonstrations are gone; they can be large.
func TestDemonstrationsAreDropped(t *testing.T) {
	cfg := small(t)
	stopped(t, cfg, 2)
	pattern := filepath.Join(cfg.Dir, resumeDir, "demonstrations-*")
	if paths, err := filepath.Glob(pattern); err != nil || len(paths) != 2 {
		t.Errorf("after two passes of cloning: %v, %v", paths, err)
	}
	cfg.Resume = true
	mustRun(t, cfg)
	if paths, err := filepath.Glob(pattern); err != nil || len(paths) != 0 {
		t.Errorf("at the end: %v, %v", paths, err)
	}
}

// What a process that was killed left half written is removed, and a model of which
// only one file was replaced is whole again.
func TestResumeCleansUp(t *testing.T) {
	cfg := small(t)
	mustRun(t, cfg)
	want := files(t, cfg.Dir)
	cfg.Dir = t.TempDir()
	stopped(t, cfg, 3)
	for _, name := range []string{"model/.weights.safetensors123", "resume/.000009.state1", "checkpoints/bc-0001/.manifest.json77", ".run.json1626071361", ".scenario.json7", ".configuration_lessons.jsonl9", ".gitignore", ".notes.backup20261201"} {
		if err := os.WriteFile(filepath.Join(cfg.Dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(cfg.Dir, ModelDir, "weights.safetensors"), weights(t, cfg.Dir, checkpointDir, "bc-0002"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Resume = true
	stopped(t, cfg, 1)
	if _, err := models.Load(filepath.Join(cfg.Dir, ModelDir)); err != nil {
		t.Errorf("the model after resuming: %v", err)
	}
	mustRun(t, cfg)
	for _, name := range []string{".gitignore", ".notes.backup20261201"} {
		if err := os.Remove(filepath.Join(cfg.Dir, name)); err != nil {
			t.Errorf("a file of the user's: %v", err)
		}
	}
	same(t, "cleaned", want, files(t, cfg.Dir))
	if left, err := filepath.Glob(filepath.Join(cfg.Dir, resumeDir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Wall time goes on where the log left it.
func TestWallTimeGoesOn(t *testing.T) {
	cfg := small(t)
	stopped(t, cfg, 4)
	path := filepath.Join(cfg.Dir, metricsFile)
	raw := read(t, path)
	at := bytes.LastIndex(raw, []byte(`"wall_seconds":`)) + len(`"wall_seconds":`)
	raw[at] = '7' // as long as before
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Resume = true
	mustRun(t, cfg)
	logged := lines(t, cfg.Dir)
	if first := logged[5].WallSeconds; first < 7 {
		t.Errorf("the first line after resuming has %v s, want more than 7", first)
	}
}

// Two runs do not write to one directory at a time; the second leaves it alone.
func TestDirectoryInUse(t *testing.T) {
	cfg := small(t)
	other := cfg
	var errs []error
	cfg.Progress = func(ProgressInfo) {
		for _, resume := range []bool{false, true} {
			other.Resume = resume
			_, err := Run(t.Context(), other)
			errs = append(errs, err)
		}
	}
	mustRun(t, cfg)
	for _, err := range errs {
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), cfg.Dir) {
			t.Fatalf("got %v, want ErrInUse and the directory", err)
		}
	}
	if len(errs) != 18 {
		t.Errorf("%d attempts, want 18", len(errs))
	}
	other.Resume = true
	mustRun(t, other) // the directory is free again
}
