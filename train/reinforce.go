package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// improved are the metrics of an iteration of PPO.
type improved struct {
	ppo.Metrics
	Return float64 `json:"return"` // mean over the episodes played, in the environment's rewards
	Played int     `json:"played"` // rounds played
	Picks  float64 `json:"picks"`  // mean per round
}

// reinforcement is the stages of the critic and of PPO, from the best policy so far.
type reinforcement struct {
	*run
	learner   *ppo.Learner
	collector *rollout.Collector
	chance    *rand.PCG
	leash     *nn.Params // of the policy that the leash pulls to
}

// Sections of a checkpoint that are reinforcement's, beside the learner's.
const (
	leashSection  = "ppo.leash"
	updateSection = "ppo.chance"
)

func (w *reinforcement) begin(context.Context) error {
	w.rewind()
	w.sharpen(w.cfg.PPO.Sharpen)
	w.leash = w.model.Params.Clone()
	return w.newLearner()
}

// newLearner makes a learner, whose leash pulls to the parameters as they are.
func (w *reinforcement) newLearner() (err error) {
	w.chance = rng.Source(w.cfg.Seed, "train/ppo")
	if w.learner, err = ppo.NewLearner(w.cfg.PPO.Config, w.model.Params); err != nil {
		return err
	}
	w.collector, err = rollout.NewCollector(w.cfg.NewEnv)
	return err
}

func (w *reinforcement) save(s checkpoint.Sections) error {
	s.PutFloat32(leashSection, w.leash.Flat)
	if err := s.Put(updateSection, w.chance); err != nil {
		return err
	}
	return w.learner.Save(s)
}

func (w *reinforcement) restore(s checkpoint.Sections) error {
	now := w.model.Params.Clone()
	w.leash = now.Clone()
	if err := s.Float32(leashSection, w.leash.Flat); err != nil {
		return err
	}
	copy(w.model.Params.Flat, w.leash.Flat)
	if err := w.newLearner(); err != nil {
		return err
	}
	copy(w.model.Params.Flat, now.Flat)
	if err := s.Restore(updateSection, w.chance); err != nil {
		return err
	}
	return w.learner.Restore(s)
}

// step is the warm-up of the critic, then one iteration after the other.
func (w *reinforcement) step(ctx context.Context, i int) error {
	if i == 1 {
		return w.warmUp(ctx)
	}
	i--
	episodes, err := w.collect(ctx, "ppo"+strconv.Itoa(i))
	if err != nil {
		return err
	}
	done := ppo.Progress(float64(i-1) / float64(w.cfg.PPO.Iterations))
	m, err := w.learner.Update(ctx, episodes, done, rand.New(w.chance))
	if err != nil {
		return err
	}
	return w.improve(ctx, i, m, episodes)
}

// warmUp fits the critic to what the policy achieves before the policy learns
// from it: a critic from scratch would undo the cloning.
func (w *reinforcement) warmUp(ctx context.Context) error {
	episodes, err := w.collect(ctx, "critic")
	if err != nil {
		return err
	}
	w.learner.Calibrate(episodes)
	explained, err := w.learner.FitCritic(ctx, episodes, w.cfg.PPO.CriticEpochs, w.cfg.PPO.CriticEnough, rand.New(w.chance))
	if err != nil {
		return err
	}
	warm := struct {
		ExplainedVariance float64 `json:"explained_variance"`
		RewardScale       float64 `json:"reward_scale"`
	}{explained, w.learner.Scale()}
	return w.dir.log(line{Stage: StageCritic, Step: 1, Metrics: warm})
}

// collect plays the next training episodes, each several times in a row.
func (w *reinforcement) collect(ctx context.Context, stream string) ([]rollout.Episode, error) {
	var seeds []uint64
	for _, s := range w.nextSeeds(w.cfg.PPO.Groups) {
		seeds = append(seeds, slices.Repeat([]uint64{s}, w.cfg.PPO.PerGroup)...)
	}
	return w.collector.Collect(ctx, rollout.Config{Seed: w.cfg.Seed, Stream: stream, Keep: w.cfg.PPO.Keep}, w.model.Params, seeds)
}

// improve records iteration i and validates where it is its turn.
func (w *reinforcement) improve(ctx context.Context, i int, m ppo.Metrics, episodes []rollout.Episode) error {
	out := improved{Metrics: m}
	picks := 0
	for k := range episodes {
		out.Return += episodes[k].Return / float64(len(episodes))
		out.Played += len(episodes[k].Rounds)
		picks += episodes[k].Picks
	}
	out.Picks = float64(picks) / float64(max(1, out.Played))
	if i%w.cfg.PPO.ValidateEvery != 0 && i != w.cfg.PPO.Iterations {
		return w.dir.log(line{Stage: StagePPO, Step: i, Metrics: out})
	}
	return w.validate(ctx, StagePPO, i, out)
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
