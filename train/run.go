package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"strconv"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// Run trains a policy. Where it fails or ctx ends, the best model so far is in
// the run directory, and the result tells its score beside the error: every
// model in it was validated. The run can then be resumed from its last step.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	first, err := cfg.NewEnv()
	if err != nil {
		return nil, fmt.Errorf("train: new environment: %w", err)
	}
	r, err := newRun(&cfg, first.Spec())
	if err != nil {
		return nil, err
	}
	if cfg.Resume {
		err = r.resume()
	} else {
		err = r.start()
	}
	if err != nil {
		return nil, errors.Join(err, r.dir.close())
	}
	if err = r.stages(ctx); err == nil {
		err = r.characterise(ctx)
	}
	r.result.summarize()
	r.result.ModelDir = filepath.Join(cfg.Dir, ModelDir)
	result := &r.result
	if len(result.All) == 0 {
		result = nil // nothing was validated: there is no score to write
	}
	return &r.result, errors.Join(err, r.dir.write(&cfg, r.model.Manifest.Encoder.Version, result), r.dir.close())
}

// run is a training in progress.
type run struct {
	cfg    *Config
	dir    *directory
	groups []group
	model  *models.Model // its parameters are what learns
	prior  *nn.Params    // what they were at first
	best   *nn.Params    // of the kept validation
	result Result
	at     position
	seeds  int // training seeds used so far
	done   int // steps of the whole run
	saved  int // checkpoints so far
	idle   int // validations in a row of the group in progress that kept no model

	// What a checkpoint holds for the worker that goes on from it.
	restored      checkpoint.Sections
	restoredDemos []bc.Demonstration
}

func newRun(cfg *Config, spec env.Spec) (*run, error) {
	dims := nn.Dims{Candidate: len(spec.Space.Candidate), Global: len(spec.Space.Global), Hidden: cfg.Network.Hidden, Value: cfg.Network.Value}
	if err := dims.Validate(); err != nil {
		return nil, err
	}
	params := nn.NewParams(dims)
	params.Initialize(rng.New(cfg.Seed, "train/initialize"))
	if cfg.Kind == models.JobStrategy {
		if err := cfg.Prior.apply(params, spec.Space); err != nil {
			return nil, err
		}
	}
	m := models.New(cfg.Kind, neural.Encoder(spec.Encoder, spec.Space), params)
	maps.Copy(m.Manifest.Provenance, cfg.Provenance)
	m.Manifest.Provenance["seed"] = strconv.FormatUint(cfg.Seed, 10)
	m.Manifest.Provenance["environment"] = spec.ID
	r := &run{cfg: cfg, dir: &directory{path: cfg.Dir}, model: m, prior: params.Clone(), best: params.Clone()}
	r.groups = r.plan()
	r.result.Kept.Score = math.Inf(1)
	return r, nil
}

// validate scores the policy as it is, saves it as a checkpoint, and as the
// result if no earlier one was as good.
func (r *run) validate(ctx context.Context, stage Stage, step int, metrics any) error {
	score, err := r.cfg.Validate(ctx, r.model)
	if err != nil {
		return fmt.Errorf("train: validate %s %d: %w", stage, step, err)
	}
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return fmt.Errorf("train: validate %s %d: score is %v, want a finite value", stage, step, score)
	}
	v := Validation{stage, step, score}
	r.result.All = append(r.result.All, v)
	r.describe(r.model, v)
	if err := r.dir.saveModel(stage, step, r.model); err != nil {
		return err
	}
	r.idle++
	if score < r.result.Kept.Score {
		r.result.Kept, r.best, r.idle = v, r.model.Params.Clone(), 0
		if err := r.dir.best(r.model); err != nil {
			return err
		}
	}
	return r.dir.log(line{Stage: stage, Step: step, Score: &score, Metrics: metrics})
}

// describe writes what v says to the manifest of m.
func (r *run) describe(m *models.Model, v Validation) {
	m.Manifest.Metrics["validation_score"] = v.Score
	m.Manifest.Metrics["validation_score_init"] = r.result.All[0].Score
	m.Manifest.Provenance["stage"], m.Manifest.Provenance["step"] = string(v.Stage), strconv.Itoa(v.Step)
}

// nextSeeds returns the next n training seeds.
func (r *run) nextSeeds(n int) []uint64 {
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = r.cfg.TrainSeeds[r.seeds%len(r.cfg.TrainSeeds)]
		r.seeds++
	}
	return seeds
}

// rewind makes the best policy so far the one that learns on.
func (r *run) rewind() { copy(r.model.Params.Flat, r.best.Flat) }
