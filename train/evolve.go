package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/es"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// evolved are the metrics of a generation.
type evolved struct {
	Spread float64 `json:"spread"` // root mean square difference of log costs within pairs
	Free   int     `json:"free"`   // weights that move
}

// evolution is the stage of evolution strategies, from the best policy so far. The
// coordinates are the weights of the scorer's linear part over Prior.Scale, so
// that a step means the same whatever the scale of the logits.
type evolution struct {
	*run
	search *es.Search
	chance *rand.PCG
	fixed  []bool // by coordinate: it does not move
}

// Sections of a checkpoint that are evolution's.
const (
	searchSection = "es.search"
	fixedSection  = "es.fixed"
	chanceSection = "es.chance"
)

func (w *evolution) begin(ctx context.Context) (err error) {
	w.rewind()
	if w.fixed, err = w.constantColumns(ctx); err != nil {
		return err
	}
	return w.newSearch()
}

func (w *evolution) newSearch() (err error) {
	w.chance = rng.Source(w.cfg.Seed, "train/es")
	w.search, err = es.New(w.cfg.ES.Config, w.linear(), w.fixed, rand.New(w.chance))
	return err
}

func (w *evolution) save(s checkpoint.Sections) error {
	return errors.Join(s.PutJSON(searchSection, w.search.State()), s.PutJSON(fixedSection, w.fixed), s.Put(chanceSection, w.chance))
}

func (w *evolution) restore(s checkpoint.Sections) error {
	var state es.State
	if err := errors.Join(s.JSON(searchSection, &state), s.JSON(fixedSection, &w.fixed)); err != nil {
		return err
	}
	if err := w.newSearch(); err != nil {
		return err
	}
	return errors.Join(w.search.Restore(state), s.Restore(chanceSection, w.chance))
}

// step is one generation.
func (w *evolution) step(ctx context.Context, g int) error {
	spread, err := w.generation(ctx, w.search)
	if err != nil {
		return err
	}
	w.setLinear(w.model, w.search.Point())
	metrics := evolved{Spread: spread}
	for i := range w.fixed {
		if !w.fixed[i] {
			metrics.Free++
		}
	}
	if g%w.cfg.ES.ValidateEvery == 0 || g == w.cfg.ES.Generations {
		return w.validate(ctx, StageES, g, metrics)
	}
	return w.dir.log(line{Stage: StageES, Step: g, Metrics: metrics})
}

// generation evaluates the candidates of one generation, all on the same
// episodes, and moves the search.
func (r *run) generation(ctx context.Context, search *es.Search) (spread float64, err error) {
	var candidates []*models.Model
	for _, point := range search.Ask() {
		m := r.model.Clone()
		r.setLinear(m, point)
		candidates = append(candidates, m)
	}
	seeds := r.nextSeeds(r.cfg.ES.Episodes)
	costs, err := r.cfg.Costs(ctx, candidates, seeds)
	if err != nil {
		return 0, err
	}
	for i := range min(len(candidates), len(costs)) {
		if err := unusable(candidates[i], seeds, costs[i]); err != nil {
			return 0, fmt.Errorf("candidate %d of %d: %w", i+1, len(candidates), err)
		}
	}
	return search.Tell(costs)
}

// unusable returns an error, with the candidate, where evolution can do nothing with its
// costs.
func unusable(m *models.Model, seeds []uint64, costs []float64) error {
	for i, cost := range costs {
		if (!(cost > 0) || math.IsInf(cost, 1)) && len(costs) == len(seeds) {
			return &checkpoint.BatchError{
				Batch: checkpoint.Batch{Parameters: m.Params.Flat, Seeds: seeds, Costs: costs},
				Err:   fmt.Errorf("cost of training episode %d is %v, want finite and > 0", seeds[i], cost),
			}
		}
	}
	return nil
}

// linear returns the weights of the linear part in units of the prior's scale.
func (r *run) linear() []float64 {
	weights := r.model.Params.Tensors[nn.ScoreLinearWeight].Data
	point := make([]float64, len(weights))
	for i, w := range weights {
		point[i] = float64(w) / r.cfg.Prior.Scale
	}
	return point
}

func (r *run) setLinear(m *models.Model, point []float64) {
	weights := m.Params.Tensors[nn.ScoreLinearWeight].Data
	for i, x := range point {
		weights[i] = float32(x * r.cfg.Prior.Scale)
	}
}

// constantColumns plays a training episode and reports which columns are the same
// for all candidates of it, stop aside. Costs cannot tell what such a column is
// worth, so that its weight would only wander.
func (r *run) constantColumns(ctx context.Context) ([]bool, error) {
	rounds, err := r.observe(ctx, r.nextSeeds(1))
	if err != nil {
		return nil, err
	}
	columns := len(r.linear())
	fixed := make([]bool, columns)
	for i := range fixed {
		fixed[i] = true
	}
	for k := range rounds {
		o := &rounds[k].Observation
		for row := 2; row < o.N(); row++ { // rows 0 and 1: stop, and the first to compare with
			for i := range columns {
				fixed[i] = fixed[i] && o.Candidates[row*columns+i] == o.Candidates[columns+i]
			}
		}
	}
	return fixed, nil
}

// fewRounds is how many observations of an episode are too few to tell by which
// columns are constant.
const fewRounds = 20

// observe plays one training episode and returns the rounds whose observations
// were recorded: a small share of a long episode, all of a short one.
func (r *run) observe(ctx context.Context, seed []uint64) ([]rollout.Round, error) {
	collector, err := rollout.NewCollector(r.cfg.NewEnv)
	if err != nil {
		return nil, err
	}
	var rounds []rollout.Round
	for _, keep := range []float64{0.05, 1} {
		episodes, err := collector.Collect(ctx, rollout.Config{Seed: r.cfg.Seed, Stream: "es/columns", Keep: keep}, r.model.Params, seed)
		if err != nil {
			return nil, err
		}
		rounds = slices.DeleteFunc(episodes[0].Rounds, func(k rollout.Round) bool { return !k.Kept })
		if len(rounds) >= fewRounds {
			break
		}
	}
	return rounds, nil
}
