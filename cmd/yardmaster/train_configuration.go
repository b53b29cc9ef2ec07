package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yardmaster/yardmaster/train/tune"
)

// configuration trains the policy that configures the scheduler. A run that goes
// on does so from the beginning, which takes seconds, unless it was done.
func (r *trainRun) configuration(ctx context.Context) (*configurationScore, error) {
	score, done, err := r.configured()
	if err != nil {
		return nil, err
	}
	if !done {
		if score, err = r.configure(ctx); err != nil {
			return nil, err
		}
	}
	x := score.Regret
	_, err = fmt.Fprintf(r.stdout, "configuration: cloned the search of %d windows; job-hours above the best on held-out windows: default %.2f, best constant %.2f, searched %.2f, learned %.2f\n",
		score.Lessons, x.Default, x.Constant, x.Searched, x.Learned)
	return score, err
}

func (r *trainRun) configure(ctx context.Context) (*configurationScore, error) {
	cfg := tune.Config{Setting: tuneSetting(r.loaded), Dir: r.dir, Provenance: provenance(r.loaded)}
	r.file.Configure(&cfg)
	bar := newProgress(r.stderr, 1, "searching configurations")
	cfg.Progress = func(done, total int) {
		bar.ChangeMax(total)
		_ = bar.Set(done)
	}
	result, err := tune.Run(ctx, cfg)
	_ = bar.Finish()
	if err != nil {
		return nil, err
	}
	return &configurationScore{result.Lessons, result.Regret}, nil
}

// configured reads what an earlier process of the run came to; done is false if it
// was stopped before. The model is written last.
func (r *trainRun) configured() (score *configurationScore, done bool, err error) {
	if _, err := os.Stat(filepath.Join(r.dir, tune.ModelDir)); !r.resume || errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	path := filepath.Join(r.dir, tune.ResultFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, false, err
	}
	score = new(configurationScore)
	if err := json.Unmarshal(raw, score); err != nil {
		return nil, false, fmt.Errorf("%s: %w", path, err)
	}
	return score, true, nil
}
