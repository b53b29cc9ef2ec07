package train

import (
	"context"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/es"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// evolved are the metrics of a generation.
type evolved struct {
	Spread float64 `json:"spread"` // root mean square difference of log costs within pairs
	Free   int     `json:"free"`   // weights that move
}

// evolves reports whether the stage of evolution runs.
func (r *run) evolves() bool {
	return r.cfg.Kind == models.JobStrategy && r.cfg.Costs != nil && r.cfg.ES.Generations > 0
}

// evolve is the stage of evolution strategies, from the best policy so far. The
// coordinates are the weights of the scorer's linear part over Prior.Scale, so
// that a step means the same whatever the scale of the logits.
func (r *run) evolve(ctx context.Context) error {
	r.rewind()
	cfg := &r.cfg.ES
	fixed, err := r.constantColumns(ctx)
	if err != nil {
		return err
	}
	search, err := es.New(cfg.Config, r.linear(), fixed, rng.New(r.cfg.Seed, "train/es"))
	if err != nil {
		return err
	}
	free := 0
	for i := range fixed {
		if !fixed[i] {
			free++
		}
	}
	best := math.Inf(1) // of this stage
	for g := 1; g <= cfg.Generations; g++ {
		spread, err := r.generation(ctx, search)
		if err != nil {
			return err
		}
		r.setLinear(r.model, search.Point())
		if g%cfg.ValidateEvery == 0 || g == cfg.Generations {
			score, err := r.validate(ctx, StageES, g, evolved{spread, free})
			if err != nil {
				return err
			}
			best = min(best, score)
			r.result.ES = best
		} else if err := r.dir.log(line{Stage: StageES, Step: g, Metrics: evolved{spread, free}}); err != nil {
			return err
		}
		r.progress(StageES, g, cfg.Generations)
	}
	return nil
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
	costs, err := r.cfg.Costs(ctx, candidates, r.nextSeeds(r.cfg.ES.Episodes))
	if err != nil {
		return 0, err
	}
	return search.Tell(costs)
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
