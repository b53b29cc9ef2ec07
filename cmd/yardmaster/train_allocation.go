package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// allocation trains the policy that allocates GPUs, or goes on with that.
func (r *trainRun) allocation(ctx context.Context) (*train.Result, error) {
	var rounds atomic.Int64
	cfg, err := r.config(ctx, &rounds)
	if err != nil {
		return nil, err
	}
	p := newTrainProgress(r, &rounds)
	cfg.Progress, cfg.Warn = p.step, p.warn
	stop := p.start()
	cfg.Resume = r.resume
	result, err := train.Run(ctx, cfg)
	if r.resume && errors.Is(err, train.ErrNothingToResume) { // it was stopped before its first checkpoint
		cfg.Resume = false
		result, err = train.Run(ctx, cfg)
	}
	return result, errors.Join(err, stop())
}

// printAllocation says what each stage came to.
func (r *trainRun) printAllocation(result *train.Result) error {
	l := r.loaded
	figure := "mean JCT"
	if o := l.Scenario.Switches.Objective; o != sim.JCT {
		figure = "mean " + o.String()
	}
	_, err := fmt.Fprintf(r.stdout, "allocation: %s on %d validation episodes: at the start %s, cloning %s %s, evolution %s, PPO %s; kept: %s %d\n",
		figure, r.file.Validation.Episodes, printCost(l, result.Init), r.file.Teacher, printCost(l, result.BC), printCost(l, result.ES), printCost(l, result.PPO), result.Kept.Stage, result.Kept.Step)
	return err
}

// printCost formats one of meanCosts for people.
func printCost(l *scenario.Loaded, cost float64) string {
	if l.Scenario.Switches.Objective == sim.Misses {
		return fmt.Sprintf("%.3f", cost/3600)
	}
	return fmt.Sprintf("%.2f h", cost/3600)
}

// config returns what is trained; rounds counts those that are simulated.
func (r *trainRun) config(ctx context.Context, rounds *atomic.Int64) (train.Config, error) {
	l := r.loaded
	teacher, err := policies().New(r.file.Teacher)
	if err != nil {
		return train.Config{}, usageError{err}
	}
	seeds, err := l.Seeds(scenario.Validation, r.file.Validation.Episodes)
	if err != nil {
		return train.Config{}, err
	}
	cfg := train.Config{
		Dir: r.dir,
		NewEnv: func() (env.Env, error) {
			// The same episodes and the same best policies as with the objective JCT,
			// but what a decision costs shows in the reward of its round.
			return l.NewEnv(func(cfg sim.Config) (env.Env, error) {
				if cfg.Objective == sim.JCT {
					cfg.Objective = sim.Delay
				}
				e, err := environments().Make(sim.JobStrategyID, cfg)
				return counting(e, rounds), err
			})
		},
		Teacher: teacher,
		Validate: func(ctx context.Context, m *models.Model) (float64, error) {
			always := func(uint64) (sim.Config, error) { return l.Sim(scenario.Validation), nil }
			costs, err := meanCosts(ctx, always, []*models.Model{m}, seeds, rounds)
			if err != nil {
				return 0, err
			}
			return mean(costs[0]), nil
		},
		Costs: func(ctx context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error) {
			return meanCosts(ctx, l.Episode, ms, seeds, rounds)
		},
		Provenance: provenance(l),
	}
	cfg.Provenance["teacher"] = r.file.Teacher
	r.file.Train(&cfg)
	// A filter plays every episode that it looks at: no more than the run will use.
	n := r.file.Training.Episodes
	if l.Scenario.Vary.Filter != (scenario.Vary{}).Filter {
		n = min(n, cfg.Episodes())
	}
	cfg.TrainSeeds, err = l.TrainSeeds(ctx, n, nil)
	return cfg, err
}

// provenance is what models are told of where they come from. The trace is its
// file's name without folders and the hash of its rows, GPU types and models of the
// user's are the hash of their files: the same run elsewhere makes the same model.
func provenance(l *scenario.Loaded) map[string]string {
	p := map[string]string{"trace": filepath.Base(l.Scenario.Trace), "trace_hash": l.TraceHash, "yardmaster": version, "revision": revision()}
	if hash := l.Catalogue.Hash(); hash != "" {
		p["catalogue_hash"] = hash
	}
	return p
}

// environments returns the registered environments.
func environments() *env.Registry[sim.Config] {
	var r env.Registry[sim.Config]
	sim.RegisterJobStrategy(&r)
	return &r
}

// countingEnv counts the rounds of an environment.
type countingEnv struct {
	*sim.JobStrategy
	rounds *atomic.Int64
}

// counting wraps e, if it is one whose rounds can be told.
func counting(e env.Env, rounds *atomic.Int64) env.Env {
	if j, ok := e.(*sim.JobStrategy); ok {
		return &countingEnv{j, rounds}
	}
	return e
}

// Step implements [env.Env].
func (e *countingEnv) Step(a env.Action) (env.TimeStep, error) {
	ts, err := e.JobStrategy.Step(a)
	if ts.Elapsed > 0 {
		e.rounds.Add(1)
	}
	return ts, err
}

// tieBreak is the weight of the mean JCT beside another objective: so
// little that it decides between policies that are otherwise alike, and enough
// that no cost is 0, of which evolution strategies cannot take ratios.
const tieBreak = 1e-3

// meanCosts plays every seed, in the simulator that episode says, with every model and
// returns the mean JCTs in seconds, or, with another objective, 3600 times what it counts for each job, and a little
// of them; shape [models][seeds]. It adds the rounds that it played to rounds.
func meanCosts(ctx context.Context, episode func(seed uint64) (sim.Config, error), ms []*models.Model, seeds []uint64, rounds *atomic.Int64) ([][]float64, error) {
	var all []eval.Contestant
	for i, m := range ms {
		p, err := neural.NewPolicy(m)
		if err != nil {
			return nil, err
		}
		all = append(all, eval.Contestant{Name: strconv.Itoa(i), Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
			cfg, err := episode(seed)
			if err != nil {
				return eval.Episode{}, err
			}
			e, err := eval.Play(ctx, cfg, p, seed)
			rounds.Add(e.Schedule.Rounds)
			return e, err
		}})
	}
	episodes, err := eval.PlayAll(ctx, eval.Config{Contestants: all, Seeds: seeds})
	if err != nil {
		return nil, err
	}
	costs := make([][]float64, len(ms))
	for i := range episodes {
		for k := range episodes[i] {
			summary, err := episodes[i][k].Schedule.Summarize()
			if err != nil {
				return nil, err
			}
			cost := summary.MeanJCT
			cfg, err := episode(seeds[k])
			if err != nil {
				return nil, err
			}
			if cfg.Objective != sim.JCT {
				cost = -3600*episodes[i][k].Reward/float64(summary.Jobs) + tieBreak*summary.MeanJCT
			}
			costs[i] = append(costs[i], cost)
		}
	}
	return costs, nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
