package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// How much is played to characterise a model. States of one episode are much alike:
// what counts are the episodes.
const (
	characterEpisodes = 48
	characterStates   = 4000
	firstShare        = 0.02 // of the first episode's states, before it is known how long episodes are
)

// Characterise plays m in environments made by newEnv, one episode per seed, and
// keeps with it what it met (neural.Describe). seed is that of the actions.
func Characterise(ctx context.Context, m *models.Model, newEnv func() (env.Env, error), seeds []uint64, seed uint64) error {
	if len(seeds) == 0 {
		return errors.New("train: characterise: no seeds")
	}
	collector, err := rollout.NewCollector(newEnv)
	if err != nil {
		return err
	}
	play := func(stream string, keep float64, seeds []uint64) ([]rollout.Episode, error) {
		return collector.Collect(ctx, rollout.Config{Seed: seed, Stream: "characterise/" + stream, Keep: keep}, m.Params, seeds)
	}
	first, err := play("length", firstShare, seeds[:1])
	if err != nil {
		return err
	}
	keep := min(1, characterStates/float64(len(first[0].Rounds)*len(seeds)))
	episodes, err := play("states", keep, seeds)
	if err != nil {
		return err
	}
	var observations []*env.Observation
	for i := range episodes {
		for k := range episodes[i].Rounds {
			if r := &episodes[i].Rounds[k]; r.Kept {
				observations = append(observations, &r.Observation)
			}
		}
	}
	return neural.Describe(m, observations)
}

// characterise characterises the kept model on training episodes that are spread
// over all, and saves it again.
func (r *run) characterise(ctx context.Context) error {
	m, err := models.Load(filepath.Join(r.cfg.Dir, ModelDir))
	if err != nil {
		return fmt.Errorf("train: characterise: %w", err)
	}
	n := min(characterEpisodes, len(r.cfg.TrainSeeds))
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = r.cfg.TrainSeeds[i*len(r.cfg.TrainSeeds)/n]
	}
	if err := Characterise(ctx, m, r.cfg.NewEnv, seeds, r.cfg.Seed); err != nil {
		return fmt.Errorf("train: characterise: %w", err)
	}
	return r.dir.best(m)
}
