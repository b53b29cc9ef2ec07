package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

type trainFlags struct {
	scenario    scenario.Scenario
	out         string
	teacher     string
	validations int
	passes      int
	generations int
	iterations  int
	only        string
}

// Parts of a run that can be trained alone.
const (
	onlyAllocation    = "allocation"
	onlyConfiguration = "configuration"
)

func newTrain() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:   "train --trace jobs.parquet --out run",
		Short: "Learn to schedule from a trace",
		Long: `Learn two policies from the first part of a trace, by time of submission:

  the policy that allocates GPUs: it starts as a greedy heuristic, clones the
  teacher (a linear program), and goes on by evolution strategies and by PPO in
  JobStrategy-v0, each from the best policy so far;
  the policy that configures Tiresias every hour: it clones a search on
  generated futures.

After each step the policy is played on validation windows of the second part,
and the best one is kept. The third part is left for the benchmark. Everything
goes into the run directory: the scenario, the configuration with all defaults
filled in, metrics as JSON lines, checkpoints, the models. Ctrl-C keeps the best
model so far.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"trace", "out"} {
				if err := requireFlag(c, name); err != nil {
					return err
				}
			}
			return runTrain(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	scenarioFlags(f, &flags.scenario)
	f.StringVar(&flags.out, "out", "", "run directory to write")
	f.StringVar(&flags.teacher, "teacher", "lp:throughput", "policy to clone first")
	f.IntVar(&flags.validations, "validations", 4, "episodes on which policies are chosen")
	f.IntVar(&flags.passes, "bc-passes", 0, "passes of behaviour cloning (default 5, negative none)")
	f.IntVar(&flags.generations, "es-generations", 0, "generations of evolution strategies (default 8, negative none)")
	f.IntVar(&flags.iterations, "ppo-iterations", 0, "iterations of PPO (default 12, negative none)")
	f.StringVar(&flags.only, "only", "", "train only the allocation or only the configuration policy")
	return c
}

func runTrain(ctx context.Context, stdout, stderr io.Writer, flags trainFlags) error {
	if flags.only != "" && flags.only != onlyAllocation && flags.only != onlyConfiguration {
		return usageError{fmt.Errorf("--only is %q, want %s or %s", flags.only, onlyAllocation, onlyConfiguration)}
	}
	l, err := scenario.Load(flags.scenario)
	if err != nil {
		return err
	}
	if err := printScenario(stdout, l); err != nil {
		return err
	}
	if err := writeScenario(flags.out, l.Scenario); err != nil {
		return err
	}
	if flags.only != onlyConfiguration {
		if err := trainAllocation(ctx, stdout, stderr, flags, l); err != nil {
			return err
		}
	}
	if flags.only != onlyAllocation {
		return trainConfiguration(ctx, stdout, stderr, flags, l)
	}
	return nil
}

func printScenario(w io.Writer, l *scenario.Loaded) error {
	s := &l.Scenario
	_, err := fmt.Fprintf(w, "trace: %s\ncluster: %s in nodes of %d; episodes of %d jobs at load %g; policies know: %v\n",
		l.Report, strings.ReplaceAll(s.Cluster, ",", " "), s.GPUsPerNode, s.Jobs, s.Load, s.Knowledge)
	return err
}

// writeScenario starts a run directory with its scenario. Its files are named as
// seen from the directory, so that the run can be used from any other and moved
// together with its trace.
func writeScenario(dir string, s scenario.Scenario) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, file := range s.Files() {
		if *file, err = filepath.Abs(*file); err != nil {
			return err
		}
		if near, err := filepath.Rel(from, *file); err == nil {
			*file = near
		}
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, scenarioFile), append(data, '\n'), 0o644)
}

func provenance(l *scenario.Loaded) map[string]string {
	return map[string]string{"trace": l.Scenario.Trace, "trace_hash": l.TraceHash, "yardmaster": version, "revision": revision()}
}

// environments returns the registered environments.
func environments() *env.Registry[sim.Config] {
	var r env.Registry[sim.Config]
	sim.RegisterJobStrategy(&r)
	return &r
}

// trainAllocation trains the policy that allocates GPUs.
func trainAllocation(ctx context.Context, stdout, stderr io.Writer, flags trainFlags, l *scenario.Loaded) error {
	cfg, err := flags.allocation(l)
	if err != nil {
		return err
	}
	bar := newProgress(stderr, 1, "training")
	cfg.Progress = func(p train.ProgressInfo) {
		bar.ChangeMax(p.Total)
		bar.Describe(fmt.Sprintf("%s %d/%d, best %s", p.Stage, p.Step, p.Steps, printCost(l, p.Best)))
		_ = bar.Set(p.Done)
	}
	result, err := train.Run(ctx, cfg)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	figure := "mean JCT"
	if o := l.Scenario.Switches.Objective; o != sim.JCT {
		figure = "mean " + o.String()
	}
	_, err = fmt.Fprintf(stdout, "allocation: %s on %d validation episodes: at the start %s, cloning %s %s, evolution %s, PPO %s; kept: %s %d\n",
		figure, flags.validations, printCost(l, result.Init), flags.teacher, printCost(l, result.BC), printCost(l, result.ES), printCost(l, result.PPO), result.Kept.Stage, result.Kept.Step)
	return err
}

// printCost formats one of meanCosts for people.
func printCost(l *scenario.Loaded, cost float64) string {
	if l.Scenario.Switches.Objective == sim.Misses {
		return fmt.Sprintf("%.3f", cost/3600)
	}
	return fmt.Sprintf("%.2f h", cost/3600)
}

func (flags *trainFlags) allocation(l *scenario.Loaded) (train.Config, error) {
	teacher, err := policies().New(flags.teacher)
	if err != nil {
		return train.Config{}, usageError{err}
	}
	seeds, err := l.Seeds(scenario.Validation, flags.validations)
	if err != nil {
		return train.Config{}, err
	}
	cfg := train.Config{
		Dir:  flags.out,
		Seed: l.Scenario.Seed,
		NewEnv: func() (env.Env, error) {
			// The same episodes and the same best policies as with the objective JCT,
			// but what a decision costs shows in the reward of its round.
			cfg := l.Sim(scenario.Train)
			if cfg.Objective == sim.JCT {
				cfg.Objective = sim.Delay
			}
			return environments().Make(sim.JobStrategyID, cfg)
		},
		TrainSeeds: trainSeeds(),
		Teacher:    teacher,
		Validate: func(ctx context.Context, m *models.Model) (float64, error) {
			costs, err := meanCosts(ctx, l.Sim(scenario.Validation), []*models.Model{m}, seeds)
			if err != nil {
				return 0, err
			}
			return mean(costs[0]), nil
		},
		Costs: func(ctx context.Context, ms []*models.Model, seeds []uint64) ([][]float64, error) {
			return meanCosts(ctx, l.Sim(scenario.Train), ms, seeds)
		},
		Provenance: provenance(l),
	}
	cfg.Provenance["teacher"] = flags.teacher
	cfg.BC.Passes, cfg.ES.Generations, cfg.PPO.Iterations = flags.passes, flags.generations, flags.iterations
	return cfg, nil
}

// trainSeeds numbers windows of the training part: more than a run uses, so
// that it rarely sees one twice.
func trainSeeds() []uint64 {
	seeds := make([]uint64, 1000)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}

// tieBreak is the weight of the mean JCT beside another objective: so
// little that it decides between policies that are otherwise alike, and enough
// that no cost is 0, of which evolution strategies cannot take ratios.
const tieBreak = 1e-3

// meanCosts plays every seed with every model and returns the mean JCTs in seconds,
// or, with another objective, 3600 times what it counts for each job, and a little
// of them; shape [models][seeds].
func meanCosts(ctx context.Context, cfg sim.Config, ms []*models.Model, seeds []uint64) ([][]float64, error) {
	var all []eval.Contestant
	for i, m := range ms {
		p, err := neural.NewPolicy(m)
		if err != nil {
			return nil, err
		}
		all = append(all, eval.Contestant{Name: strconv.Itoa(i), Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
			return eval.Play(ctx, cfg, p, seed)
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

// trainConfiguration trains the policy that configures the scheduler.
func trainConfiguration(ctx context.Context, stdout, stderr io.Writer, flags trainFlags, l *scenario.Loaded) error {
	cfg := tune.Config{Setting: tuneSetting(l), Dir: flags.out, Provenance: provenance(l)}
	bar := newProgress(stderr, 1, "searching configurations")
	cfg.Progress = func(done, total int) {
		bar.ChangeMax(total)
		_ = bar.Set(done)
	}
	result, err := tune.Run(ctx, cfg)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	r := result.Regret
	_, err = fmt.Fprintf(stdout, "configuration: cloned the search of %d windows; job-hours above the best on held-out windows: default %.2f, best constant %.2f, searched %.2f, learned %.2f\n",
		result.Lessons, r.Default, r.Constant, r.Searched, r.Learned)
	return err
}
