package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

type tuneFlags struct {
	setting     settingFlags
	policies    []string
	strategies  string
	objective   string
	episodes    int
	evaluations int
	out         string
	json        bool
}

func newTune() *cobra.Command {
	var flags tuneFlags
	c := &cobra.Command{
		Use:     "tune --trace jobs.parquet --out tuned.yaml",
		Aliases: []string{"tune-heuristics"},
		Short:   "Fit the numbers of the heuristics to a trace",
		Long: `Fit the two to six numbers of the tunable heuristics on the validation part of a
trace: the baselines that a learned policy has to beat. All candidates play the
same episodes; the default is among them, so the result is never worse there.
Half a minute for each policy is usual.

  yardmaster tune --trace jobs.parquet --load 1.1 --out tuned.yaml
  yardmaster bench --trace jobs.parquet --load 1.1 --policies density,density@tuned.yaml

Policies: ` + strings.Join(heuristic.Tunable(), ", ") + `.
The file holds the numbers and what they were tuned on; it can be edited.
bench, simulate and solve take its policies as NAME@FILE.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			return runTune(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), flags)
		},
	}
	f := c.Flags()
	flags.setting.add(f)
	f.StringSliceVar(&flags.policies, "policies", nil, "what to tune (default all that can be)")
	f.StringVar(&flags.strategies, "strategies", string(scenario.All), "what the scheduler may choose among, see bench --help")
	f.StringVar(&flags.objective, "minimise", "jct", objectiveHelp())
	f.IntVar(&flags.episodes, "episodes", 6, "validation episodes that every candidate plays")
	f.IntVar(&flags.evaluations, "evaluations", 96, "candidates tried for each policy")
	f.StringVar(&flags.out, "out", "", "file to write, in YAML")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	return c
}

func objectiveHelp() string {
	lines := make([]string, len(tune.Objectives))
	for i, o := range tune.Objectives {
		lines[i] = o.Name + ": " + o.About
	}
	return "what to make small: " + strings.Join(lines, "; ")
}

func runTune(ctx context.Context, stdout, stderr io.Writer, flags tuneFlags) error {
	names := flags.policies
	if len(names) == 0 {
		names = heuristic.Tunable()
	}
	for _, name := range names {
		if heuristic.Ranges(name) == nil {
			return usageError{fmt.Errorf("--policies: %s has no numbers to tune, want some of %s", name, strings.Join(heuristic.Tunable(), ", "))}
		}
	}
	if err := eachOnce("--policies", names); err != nil {
		return err
	}
	if err := writable("--out", flags.out); err != nil {
		return err
	}
	objective, err := tune.ObjectiveNamed(flags.objective)
	if err != nil {
		return usageError{err}
	}
	sets, err := parseStrategies([]string{flags.strategies})
	if err != nil {
		return err
	}
	l, err := flags.setting.load(stderr, scenario.Options{Strategies: sets})
	if err != nil {
		return err
	}
	on, err := l.SimOf(scenario.Validation, sets[0])
	if err != nil {
		return err
	}
	episodes, err := l.Seeds(scenario.Validation, flags.episodes)
	if err != nil {
		return err
	}
	tuned := &tune.Tuned{Provenance: tunedProvenance(l, flags)}
	bar := newProgress(stderr, len(names)*flags.evaluations, "playing candidates")
	var all []*tune.Fitted
	for i, name := range names {
		f, err := tune.Heuristic(ctx, tune.HeuristicConfig{
			Scheduler: name, Sim: on, Episodes: episodes,
			Objective: objective, Evaluations: flags.evaluations, Seed: l.Scenario.Seed,
			Progress: func(done, total int) { _ = bar.Set(i*total + done) },
		})
		if err != nil {
			return err
		}
		all = append(all, f)
		tuned.Add(f)
	}
	_ = bar.Finish()
	return flags.report(stdout, tuned, all)
}

// report writes the file of --out and prints what was found, even where that failed.
func (flags *tuneFlags) report(stdout io.Writer, tuned *tune.Tuned, all []*tune.Fitted) error {
	var saved error
	if flags.out != "" {
		saved = writeFile(flags.out, tuned.Write)
	}
	if flags.json {
		return errors.Join(writeJSON(stdout, tuned), saved)
	}
	return errors.Join(renderTuned(stdout, all, *flags), saved)
}

func tunedProvenance(l *scenario.Loaded, flags tuneFlags) tune.Provenance {
	s := &l.Scenario
	return tune.Provenance{
		Trace: s.Trace, TraceHash: l.TraceHash, Catalogue: l.Catalogue.Hash(), Cluster: s.Cluster, GPUsPerNode: s.GPUsPerNode, Load: s.Load, Jobs: s.Jobs, Models: s.Models, Strategies: flags.strategies,
		Round: s.Round.String(), Knowledge: s.Knowledge.String(), Part: scenario.Validation.String(), Episodes: flags.episodes,
		Objective: flags.objective, Seed: s.Seed, Version: version, Revision: revision(),
	}
}

// renderTuned writes a line for each policy: the means of the objective over the
// episodes, in hours where it is a time, and the ratio with its interval.
func renderTuned(w io.Writer, all []*tune.Fitted, flags tuneFlags) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	unit, scale := " h", 3600.0
	if flags.objective == "rho" {
		unit, scale = "", 1
	}
	fmt.Fprintf(t, "policy\tdefault%s\ttuned%s\tratio\t95 %%\ttried\tknobs\t\n", unit, unit)
	for _, f := range all {
		ratios := make([]float64, len(f.Tuned))
		before, after := 0.0, 0.0
		for i := range ratios {
			ratios[i] = f.Tuned[i] / f.Default[i]
			before += f.Default[i] / float64(len(ratios))
			after += f.Tuned[i] / float64(len(ratios))
		}
		name := f.Configuration.Scheduler
		b := eval.Bootstrap(ratios, rng.New(0, "tune/"+name))
		var knobs []string
		for _, k := range f.Configuration.Knobs {
			knobs = append(knobs, fmt.Sprintf("%s %g", k.Name, k.Values[0]))
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f–%.3f\t%d\t%s\t\n", name, before/scale, after/scale, b.Mean, b.Low, b.High, f.Evaluations, strings.Join(knobs, ", "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s on the %d episodes that the numbers were chosen on: compare on others (bench) before you believe a ratio\n", flags.objective, flags.episodes)
	return err
}
