package train

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// cloned are the metrics of a pass of cloning.
type cloned struct {
	bc.Metrics
	Demonstrations int `json:"demonstrations"` // all that were fitted to
}

// clone is the stage of behaviour cloning.
func (r *run) clone(ctx context.Context) error {
	cfg := &r.cfg.BC
	prior := r.model.Params.Clone()
	order := rng.New(r.cfg.Seed, "train/bc")
	var demos []bc.Demonstration
	for pass := 1; pass <= cfg.Passes; pass++ {
		record := bc.RecordConfig{
			NewEnv: r.cfg.NewEnv, Teacher: r.cfg.Teacher, Seeds: r.nextSeeds(cfg.Episodes), Keep: cfg.Keep, KeepChanged: cfg.KeepChanged,
			Seed: r.cfg.Seed, Stream: "pass" + strconv.Itoa(pass), Order: prior,
		}
		if pass > 1 {
			student, err := neural.NewPolicy(r.model)
			if err != nil {
				return err
			}
			record.Student, record.Mix = student, 1
		}
		more, err := bc.Record(ctx, record)
		if err != nil {
			return err
		}
		demos = slices.Concat(demos, more)
		if len(demos) == 0 {
			return errors.New("no demonstrations: the teacher idles, or Keep and KeepChanged are too small for the episodes")
		}
		m, err := r.fit(ctx, demos, order)
		if err != nil {
			return err
		}
		score, err := r.validate(ctx, StageBC, pass, cloned{m, len(demos)})
		if err != nil {
			return err
		}
		if pass == 1 {
			r.result.BC = score
		}
		r.result.BC = min(r.result.BC, score)
		r.progress(StageBC, pass, cfg.Passes)
	}
	return nil
}

// fit passes over the demonstrations with a fresh optimizer and returns the
// metrics of the last pass.
func (r *run) fit(ctx context.Context, demos []bc.Demonstration, order *rand.Rand) (m bc.Metrics, err error) {
	fitter, err := bc.NewFitter(r.cfg.BC.Config, r.model.Params)
	if err != nil {
		return m, err
	}
	for range r.cfg.BC.Epochs {
		if m, err = fitter.Epoch(ctx, demos, order); err != nil {
			return m, err
		}
	}
	return m, nil
}

// improved are the metrics of an iteration of PPO.
type improved struct {
	ppo.Metrics
	Return float64 `json:"return"` // mean over the episodes played, in the environment's rewards
	Played int     `json:"played"` // rounds played
	Picks  float64 `json:"picks"`  // mean per round
}

// reinforce is the stages of the critic and of PPO, from the best policy so far.
func (r *run) reinforce(ctx context.Context) error {
	r.rewind()
	cfg := &r.cfg.PPO
	r.sharpen(cfg.Sharpen)
	learner, err := ppo.NewLearner(cfg.Config, r.model.Params)
	if err != nil {
		return err
	}
	collector, err := rollout.NewCollector(r.cfg.NewEnv)
	if err != nil {
		return err
	}
	chance := rng.New(r.cfg.Seed, "train/ppo")
	if err := r.warmUp(ctx, learner, collector, chance); err != nil {
		return err
	}
	for i := 1; i <= cfg.Iterations; i++ {
		episodes, err := r.collect(ctx, collector, "ppo"+strconv.Itoa(i))
		if err != nil {
			return err
		}
		m, err := learner.Update(ctx, episodes, ppo.Progress(float64(i-1)/float64(cfg.Iterations)), chance)
		if err != nil {
			return err
		}
		if err := r.improve(ctx, i, m, episodes); err != nil {
			return err
		}
		r.progress(StagePPO, i, cfg.Iterations)
	}
	return nil
}

// warmUp fits the critic to what the policy achieves before the policy learns
// from it: a critic from scratch would undo the cloning.
func (r *run) warmUp(ctx context.Context, learner *ppo.Learner, collector *rollout.Collector, chance *rand.Rand) error {
	episodes, err := r.collect(ctx, collector, "critic")
	if err != nil {
		return err
	}
	learner.Calibrate(episodes)
	explained, err := learner.FitCritic(ctx, episodes, r.cfg.PPO.CriticEpochs, r.cfg.PPO.CriticEnough, chance)
	if err != nil {
		return err
	}
	warm := struct {
		ExplainedVariance float64 `json:"explained_variance"`
		RewardScale       float64 `json:"reward_scale"`
	}{explained, learner.Scale()}
	if err := r.dir.log(line{Stage: StageCritic, Step: 1, Metrics: warm}); err != nil {
		return err
	}
	r.progress(StageCritic, 1, 1)
	return nil
}

// collect plays the next training episodes, each several times in a row.
func (r *run) collect(ctx context.Context, c *rollout.Collector, stream string) ([]rollout.Episode, error) {
	var seeds []uint64
	for _, s := range r.nextSeeds(r.cfg.PPO.Groups) {
		seeds = append(seeds, slices.Repeat([]uint64{s}, r.cfg.PPO.PerGroup)...)
	}
	return c.Collect(ctx, rollout.Config{Seed: r.cfg.Seed, Stream: stream, Keep: r.cfg.PPO.Keep}, r.model.Params, seeds)
}

// improve records iteration i and validates where it is its turn.
func (r *run) improve(ctx context.Context, i int, m ppo.Metrics, episodes []rollout.Episode) error {
	out := improved{Metrics: m}
	picks := 0
	for k := range episodes {
		out.Return += episodes[k].Return / float64(len(episodes))
		out.Played += len(episodes[k].Rounds)
		picks += episodes[k].Picks
	}
	out.Picks = float64(picks) / float64(max(1, out.Played))
	if i%r.cfg.PPO.ValidateEvery != 0 && i != r.cfg.PPO.Iterations {
		return r.dir.log(line{Stage: StagePPO, Step: i, Metrics: out})
	}
	score, err := r.validate(ctx, StagePPO, i, out)
	if err != nil {
		return err
	}
	if !r.reinforced {
		r.result.PPO, r.reinforced = score, true
	}
	r.result.PPO = min(r.result.PPO, score)
	return nil
}

// sharpen multiplies all scores by factor: the greedy policy stays what it is
// and the one that samples comes closer to it.
func (r *run) sharpen(factor float64) {
	for _, i := range []int{nn.ScoreOutputWeight, nn.ScoreLinearWeight} {
		data := r.model.Params.Tensors[i].Data
		for k := range data {
			data[k] *= float32(factor)
		}
	}
}
