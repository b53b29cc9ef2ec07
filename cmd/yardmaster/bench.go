package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// learned names the policy of the run directory among the contestants.
const learned = "learned"

type benchFlags struct {
	setting    settingFlags
	policies   []string
	strategies []string
	// reference is the policy that the others are compared with.
	reference string
	seeds     int
	by        string   // a column of the trace
	decisions []string // logs of a service, instead of episodes
	json      bool
	out       string
}

func newBench() *cobra.Command {
	var flags benchFlags
	c := &cobra.Command{
		Use:   "bench --run run | --trace jobs.parquet",
		Short: "Compare the learned policies with heuristics and linear programs",
		Long: `Compare policies on held-out jobs: windows of the test part of the trace of a
run or of --trace, which training and tuning have not seen. Every policy plays the
same episodes and knows as much as the others. Names:

` + wrapped(policyNames()) + `

NAME@FILE takes the numbers of a file of yardmaster tune. Of a run there are also
learned, its policy, and tiresias/default, tiresias/searched and tiresias/learned:
Tiresias under its published configuration, under one searched on generated
futures every hour, and under the learned configuration.

--strategies says what is decided together with the schedule and what before it,
and compares that on the jobs that can run in every case:
  all                    GPU type, number of GPUs and plan: job-strategy pairs
  rigid                  the type; the requested GPUs, the best plan for both
  data-parallel          the type; the requested GPUs, data-parallel
  data-parallel-elastic  type and number of GPUs, data-parallel
  best-first             nothing: what is fastest for the requested GPUs was
                         chosen before
  spread-first           nothing: the type was drawn in proportion to what it can
                         do, the plan is the best there
A row is then called SET/POLICY:
  yardmaster bench --trace jobs.parquet --cluster A800=32,V100=32,RTX3090=32 --gpus-per-node 8 \
    --models BERT-large,GPT-2,T5-large,LLaMA-7B,ViT-base --strategies all,data-parallel,best-first \
    --policies two-stage-elastic,lp:srpt --reference all/two-stage-elastic

--by splits the jobs by a column of the trace that no policy is told, as how they
ended there: yardmaster bench --trace philly.parquet --by status.

With --decisions policies are asked what they would have decided on the states that
a service logged, and compared by the value of their allocations beside that of a
linear program (--reference, lp:throughput by default):
  yardmaster bench --decisions log/decisions-20261201T031920.166029365Z.parquet --run run`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(eachOnce("--policies", flags.policies), writable("--out", flags.out)); err != nil {
				return err
			}
			if len(flags.decisions) > 0 {
				return benchDecisions(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
			}
			return bench(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	flags.setting.add(f)
	f.StringSliceVar(&flags.policies, "policies", nil, "what to compare (default everything but random)")
	f.StringSliceVar(&flags.strategies, "strategies", nil, "play each policy with each of these sets of strategies (see above)")
	f.StringVar(&flags.reference, "reference", "", "policy that the others are compared with, seed by seed (default learned where it takes part)")
	f.IntVar(&flags.seeds, "seeds", 10, "episodes; each is a window of the test part that shares no job with another")
	f.StringVar(&flags.by, "by", "", byHelp)
	f.StringSliceVar(&flags.decisions, "decisions", nil, "decision logs of a service: compare policies on the states in them")
	f.BoolVar(&flags.json, "json", false, "print JSON, with the summary of every episode")
	f.StringVar(&flags.out, "out", "", "also write the JSON to this file")
	return c
}

func policyNames() []string {
	var names []string
	for _, e := range policies().Entries() {
		names = append(names, e.Name)
	}
	return names
}

func bench(ctx context.Context, stdout, stderr io.Writer, flags benchFlags) error {
	if flags.seeds < 1 {
		return usageError{fmt.Errorf("--seeds is %d, want at least 1", flags.seeds)}
	}
	if err := checkBy(flags.by); err != nil {
		return err
	}
	sets, err := parseStrategies(flags.strategies)
	if err != nil {
		return err
	}
	l, err := flags.setting.load(stderr, scenario.Options{Strategies: sets, By: flags.by})
	if err != nil {
		return err
	}
	seeds, err := l.Seeds(scenario.Test, flags.seeds)
	if err != nil {
		return err
	}
	all, err := contestants(flags, l, sets)
	if err != nil {
		return err
	}
	cfg := eval.Config{Contestants: all, Seeds: seeds, Reference: flags.reference, By: flags.by, Of: l.By}
	if o := l.Scenario.Switches.Objective; o != sim.JCT {
		cfg.Objective = o.String()
	}
	if cfg.Reference == "" && slices.ContainsFunc(all, func(c eval.Contestant) bool { return c.Name == learned }) {
		cfg.Reference = learned
	}
	if name := cfg.Reference; name != "" && !slices.ContainsFunc(all, func(c eval.Contestant) bool { return c.Name == name }) {
		return usageError{fmt.Errorf("--reference %s is not among the policies", name)}
	}
	bar := newProgress(stderr, len(all)*len(seeds), "playing episodes")
	cfg.Progress = func(done, _ int) { _ = bar.Set(done) }
	table, err := eval.Compare(ctx, cfg)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	return flags.report(stdout, table, l)
}

// report writes the file of --out and prints the table, even where that failed: it may
// have taken hours.
func (flags *benchFlags) report(stdout io.Writer, table *eval.Table, l *scenario.Loaded) error {
	var saved error
	if flags.out != "" {
		saved = writeResult(flags.out, table)
	}
	return errors.Join(flags.print(stdout, table, l), saved)
}

func (flags *benchFlags) print(stdout io.Writer, table *eval.Table, l *scenario.Loaded) error {
	if flags.json {
		return writeJSON(stdout, table)
	}
	if len(flags.strategies) > 0 {
		if err := renderStrategies(stdout, table, l); err != nil {
			return err
		}
		return table.RenderGroups(stdout)
	}
	return table.Render(stdout)
}

// writeResult writes a result as JSON to a file.
func writeResult(path string, result any) error {
	return writeFile(path, func(w io.Writer) error { return writeJSON(w, result) })
}

// eachOnce refuses a list in which something is named twice: it would be played twice, and
// its results written over each other.
func eachOnce(flag string, names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return usageError{fmt.Errorf("%s: %s is named twice, want each once", flag, name)}
		}
	}
	return nil
}

// contestants returns the policies named by the flags, by default all; with sets
// of strategies each policy once for each set.
func contestants(flags benchFlags, l *scenario.Loaded, sets []scenario.Strategies) ([]eval.Contestant, error) {
	if len(sets) > 0 {
		return strategyContestants(flags, l, sets)
	}
	names := flags.policies
	if len(names) == 0 {
		names = slices.DeleteFunc(policyNames(), func(name string) bool { return name == "random" || name == "tiresias" })
		if flags.setting.run != "" {
			names = append(names, learned)
			names = append(names, configurationRows...)
		}
	}
	var all []eval.Contestant
	for _, name := range names {
		c, err := contestant(name, flags.setting.run, l)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func contestant(name, run string, l *scenario.Loaded) (eval.Contestant, error) {
	if slices.Contains(configurationRows, name) {
		return configurationContestant(name, run, l)
	}
	p, err := newPolicy(name, run)
	if err != nil {
		return eval.Contestant{}, err
	}
	return player(name, l.Sim(scenario.Test), p), nil
}

// player is a policy that plays the episodes of cfg.
func player(name string, cfg sim.Config, p agent.Policy) eval.Contestant {
	return eval.Contestant{Name: name, Play: func(ctx context.Context, seed uint64) (eval.Episode, error) {
		return eval.Play(ctx, cfg, p, seed)
	}}
}

// newPolicy returns the policy with this name; learned is that of the run,
// NAME@FILE one with tuned numbers.
func newPolicy(name, run string) (agent.Policy, error) {
	if p, found, err := tunedPolicy(name); found {
		return p, err
	}
	if name == learned && run == "" {
		return nil, usageError{errors.New("learned is the policy of a run: give --run")}
	}
	if name != learned {
		p, err := policies().New(name)
		if err != nil {
			return nil, usageError{err}
		}
		return p, nil
	}
	m, err := models.Load(filepath.Join(run, "model"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no model yet (finish yardmaster train --out %s, or leave learned out of --policies): %w", run, run, err)
	}
	if err != nil {
		return nil, err
	}
	return neural.NewPolicy(m)
}
