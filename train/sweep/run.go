package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/yardmaster/yardmaster/train/runfile"
)

// Names in the directory of a sweep.
const (
	TrialsDir  = "trials"
	resultFile = "trial.json" // in the run directory of a trial that is finished
)

// Config is a sweep.
type Config struct {
	Dir      string
	Trials   []Trial
	Seeds    int // each trial is trained so often; default 1
	Parallel int // trials that are trained at the same time; default 1, which uses all cores
	// Data tells trials on other data apart: the hash of the trace, say.
	Data string
	// Train trains one run in dir, and goes on with it if there is one. It returns
	// the score of the policy that was kept; lower is better.
	Train func(ctx context.Context, trial int, dir string, file *runfile.File) (score float64, err error)
	// Finished is told of each run that is finished, one at a time; nil: not called.
	Finished func(p Progress)
}

// Progress says how far a sweep is.
type Progress struct {
	Done, Total int // runs
	Trial       int // of the run that was finished, from 0
	Outcome     Outcome
}

// Outcome is what one run of a trial came to.
type Outcome struct {
	Seed    uint64  `json:"seed"`
	Dir     string  `json:"dir"` // as seen from the directory of the sweep
	Score   float64 `json:"score"`
	Seconds float64 `json:"seconds"` // that it took
	Error   string  `json:"error,omitempty"`
}

// Run trains what is not finished yet. A run that fails does not end the sweep:
// its outcome says why. Where ctx ends, the error is that of ctx; calling Run
// again goes on.
func Run(ctx context.Context, cfg Config) ([][]Outcome, error) {
	cfg.Seeds, cfg.Parallel = max(1, cfg.Seeds), max(1, cfg.Parallel)
	outcomes := make([][]Outcome, len(cfg.Trials))
	type job struct{ trial, seed int }
	jobs := make(chan job)
	var workers sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for i := range outcomes {
		outcomes[i] = make([]Outcome, cfg.Seeds)
	}
	for range cfg.Parallel {
		workers.Go(func() {
			for j := range jobs {
				out := cfg.one(ctx, j.trial, uint64(j.seed+1))
				outcomes[j.trial][j.seed] = out
				mu.Lock()
				done++
				if cfg.Finished != nil && ctx.Err() == nil {
					cfg.Finished(Progress{done, len(cfg.Trials) * cfg.Seeds, j.trial, out})
				}
				mu.Unlock()
			}
		})
	}
	for k := range len(cfg.Trials) * cfg.Seeds { // all trials with the first seed, then with the next
		if ctx.Err() != nil {
			break
		}
		jobs <- job{k % len(cfg.Trials), k / len(cfg.Trials)}
	}
	close(jobs)
	workers.Wait()
	return outcomes, ctx.Err()
}

// one trains a trial with a seed, unless that was done.
func (c *Config) one(ctx context.Context, trial int, seed uint64) Outcome {
	file := c.Trials[trial].File.Clone()
	file.Seed = seed
	out := Outcome{Seed: seed, Dir: filepath.Join(TrialsDir, c.hash(file))}
	dir := filepath.Join(c.Dir, out.Dir)
	before, err := finished(dir)
	if before != nil {
		before.Dir = out.Dir
		return *before
	}
	if err == nil {
		start := time.Now()
		out.Score, err = c.Train(ctx, trial, dir, file)
		out.Seconds = time.Since(start).Seconds()
	}
	if err == nil {
		err = finish(dir, &out)
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// hash names a run by what it depends on: not by where its files are, nor by how
// many checkpoints it keeps.
func (c *Config) hash(file *runfile.File) string {
	f := file.Clone()
	for _, path := range f.Scenario.Files() {
		*path = filepath.Base(*path)
	}
	f.Checkpoints = runfile.Defaults().Checkpoints
	h := sha256.New()
	for _, s := range f.Settings() {
		fmt.Fprintf(h, "%s=%q\n", s.Key, s.Value)
	}
	h.Write([]byte(c.Data))
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// finished returns what a run came to, nil if it is not finished.
func finished(dir string) (*Outcome, error) {
	raw, err := os.ReadFile(filepath.Join(dir, resultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := new(Outcome)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("%s: %w: remove it to train the trial anew", filepath.Join(dir, resultFile), err)
	}
	return out, nil
}

func finish(dir string, out *Outcome) error {
	raw, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, resultFile), append(raw, '\n'), 0o644, renameio.WithTempDir(dir))
}
