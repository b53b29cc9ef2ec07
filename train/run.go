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
)

// Run trains a policy. Where it fails or ctx ends, the best model so far is in
// the run directory, and the result tells its score beside the error: every
// model in it was validated.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Resume {
		return nil, fmt.Errorf("%w in %s", ErrNothingToResume, cfg.Dir) // no run leaves a checkpoint yet
	}
	first, err := cfg.NewEnv()
	if err != nil {
		return nil, fmt.Errorf("train: new environment: %w", err)
	}
	r, err := newRun(&cfg, first.Spec())
	if err != nil {
		return nil, err
	}
	err = r.stages(ctx)
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
	model  *models.Model // its parameters are what learns
	best   *nn.Params    // of the kept validation
	result Result
	seeds  int // training seeds used so far
	done   int // steps of the whole run

	reinforced bool // a policy of PPO was validated
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
	dir, err := openDirectory(cfg.Dir)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, dir: dir, model: m}
	r.result.Kept.Score = math.Inf(1)
	if err := dir.write(cfg, spec.Encoder, nil); err != nil {
		return nil, errors.Join(err, dir.close())
	}
	return r, nil
}

// stages runs the stages in order, each from the best policy so far.
func (r *run) stages(ctx context.Context) error {
	var err error
	if r.result.Init, err = r.validate(ctx, StageInit, 0, nil); err != nil {
		return err
	}
	r.result.BC, r.result.PPO = r.result.Init, r.result.Init
	if r.cfg.Teacher != nil && r.cfg.BC.Passes > 0 {
		if err := r.clone(ctx); err != nil {
			return fmt.Errorf("train: behaviour cloning: %w", err)
		}
	}
	r.result.ES = r.result.Kept.Score
	if r.evolves() {
		if err := r.evolve(ctx); err != nil {
			return fmt.Errorf("train: evolution: %w", err)
		}
	}
	r.result.PPO = r.result.Kept.Score
	if r.cfg.PPO.Iterations > 0 {
		if err := r.reinforce(ctx); err != nil {
			return fmt.Errorf("train: ppo: %w", err)
		}
	}
	return nil
}

// validate scores the policy as it is, saves it as a checkpoint, and as the
// result if no earlier one was as good.
func (r *run) validate(ctx context.Context, stage Stage, step int, metrics any) (float64, error) {
	score, err := r.cfg.Validate(ctx, r.model)
	if err != nil {
		return 0, fmt.Errorf("train: validate %s %d: %w", stage, step, err)
	}
	if math.IsNaN(score) || math.IsInf(score, 0) {
		return 0, fmt.Errorf("train: validate %s %d: score is %v, want a finite value", stage, step, score)
	}
	v := Validation{stage, step, score}
	r.result.All = append(r.result.All, v)
	r.describe(v)
	if err := r.dir.checkpoint(stage, step, r.model); err != nil {
		return 0, err
	}
	if score < r.result.Kept.Score {
		r.result.Kept, r.best = v, r.model.Params.Clone()
		if err := r.dir.best(r.model); err != nil {
			return 0, err
		}
	}
	return score, r.dir.log(line{Stage: stage, Step: step, Score: &score, Metrics: metrics})
}

// describe writes what v says to the manifest.
func (r *run) describe(v Validation) {
	m := &r.model.Manifest
	m.Metrics["validation_score"] = v.Score
	m.Metrics["validation_score_init"] = r.result.All[0].Score
	m.Provenance["stage"], m.Provenance["step"] = string(v.Stage), strconv.Itoa(v.Step)
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

// progress reports a finished step.
func (r *run) progress(stage Stage, step, steps int) {
	r.done++
	if r.cfg.Progress == nil {
		return
	}
	r.cfg.Progress(ProgressInfo{
		Stage: stage, Step: step, Steps: steps, Done: r.done, Total: r.total(),
		Score: r.result.All[len(r.result.All)-1].Score, Best: r.result.Kept.Score,
	})
}

// total returns the number of steps of the whole run.
func (r *run) total() int {
	n := 0
	if r.cfg.Teacher != nil {
		n += max(0, r.cfg.BC.Passes)
	}
	if r.evolves() {
		n += r.cfg.ES.Generations
	}
	if r.cfg.PPO.Iterations > 0 {
		n += 1 + r.cfg.PPO.Iterations
	}
	return n
}
