package scenario

import (
	"context"
	"fmt"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/train/eval"
)

// NewEnv returns an environment that plays the training episodes, with environments
// that newEnv makes of their simulators. It is one of newEnv's where every episode has
// the same simulator, and else makes one for each episode.
func (l *Loaded) NewEnv(newEnv func(sim.Config) (env.Env, error)) (env.Env, error) {
	e, err := newEnv(l.Sim(Train))
	if err != nil || !l.Scenario.Vary.changes() {
		return e, err
	}
	if _, ok := e.(stateful); !ok {
		return nil, fmt.Errorf("scenario: vary: environment %s has no State method", e.Spec().ID)
	}
	return &varied{stateful: e.(stateful), episode: l.Episode, newEnv: newEnv}, nil
}

type stateful interface {
	env.Env
	State() *env.State
}

// varied is an environment with a simulator of its own for every episode.
type varied struct {
	stateful // of the episode
	episode  func(seed uint64) (sim.Config, error)
	newEnv   func(sim.Config) (env.Env, error)
}

// Reset implements env.Env.
func (e *varied) Reset(seed uint64) (env.TimeStep, error) {
	cfg, err := e.episode(seed)
	if err != nil {
		return env.TimeStep{}, err
	}
	next, err := e.newEnv(cfg)
	if err != nil {
		return env.TimeStep{}, err
	}
	e.stateful = next.(stateful) // as the first one was
	return e.stateful.Reset(seed)
}

// attempts bounds how many episodes TrainSeeds looks at for each that it takes.
const attempts = 20

// TrainSeeds returns the seeds of the first n training episodes that Vary.Filter takes, in
// ascending order; without a filter 0 to n-1. It plays FIFO and the shortest remaining
// time first on all cores; the result does not depend on their number. progress, which
// may be nil, is told how many were found.
func (l *Loaded) TrainSeeds(ctx context.Context, n int, progress func(found, n int)) ([]uint64, error) {
	band := l.Scenario.Vary.Filter
	seeds := make([]uint64, 0, n)
	for next := uint64(0); len(seeds) < n; {
		if next >= attempts*uint64(n) {
			return nil, fmt.Errorf("scenario: vary.filter from %v to %v takes %d of the first %d training episodes, want %d: use a wider range or fewer episodes", band[0], band[1], len(seeds), next, n)
		}
		batch := make([]uint64, min(64, n))
		for i := range batch {
			batch[i], next = next, next+1
		}
		ratios, err := l.overShortest(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, x := range ratios {
			if len(seeds) < n && (band == off || x >= band[0] && x <= band[1]) {
				seeds = append(seeds, batch[i])
			}
		}
		if progress != nil {
			progress(len(seeds), n)
		}
	}
	return seeds, nil
}

// overShortest returns the mean completion time of each training episode under FIFO over
// that under the shortest remaining time first; zeros without a filter.
func (l *Loaded) overShortest(ctx context.Context, seeds []uint64) ([]float64, error) {
	ratios := make([]float64, len(seeds))
	if l.Scenario.Vary.Filter == off {
		return ratios, nil
	}
	play := func(name string, p agent.Policy) eval.Contestant {
		return eval.Contestant{Name: name, Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
			cfg, err := l.Episode(seed)
			if err != nil {
				return eval.Episode{}, err
			}
			return eval.Play(ctx, cfg, p, seed)
		}}
	}
	episodes, err := eval.PlayAll(ctx, eval.Config{Seeds: seeds, Contestants: []eval.Contestant{play("fifo", heuristic.FIFO{}), play("srtf", heuristic.SRTF{})}})
	if err != nil {
		return nil, fmt.Errorf("scenario: vary.filter: %w", err)
	}
	for i := range ratios {
		var jct [2]float64
		for k := range jct {
			s, err := episodes[k][i].Schedule.Summarize()
			if err != nil {
				return nil, fmt.Errorf("scenario: vary.filter: training episode %d: %w", seeds[i], err)
			}
			jct[k] = s.MeanJCT
		}
		ratios[i] = jct[0] / jct[1]
	}
	return ratios, nil
}
