package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/train/scenario"
	"github.com/yardmaster/yardmaster/train/tune"
)

type trainFlags struct {
	scenario scenario.Scenario
	out      string
}

func newTrain() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:  "train --trace jobs.parquet --out run",
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
	scenarioFlags(c.Flags(), &flags.scenario)
	c.Flags().StringVar(&flags.out, "out", "", "run directory to write")
	return c
}

func runTrain(ctx context.Context, stdout, stderr io.Writer, flags trainFlags) error {
	l, err := scenario.Load(flags.scenario)
	if err != nil {
		return err
	}
	if err := writeScenario(flags.out, l.Scenario); err != nil {
		return err
	}
	return trainConfiguration(ctx, stdout, stderr, flags, l)
}

// writeScenario starts a run directory with its scenario.
func writeScenario(dir string, s scenario.Scenario) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(filepath.Join(dir, scenarioFile), append(data, '\n'), 0o644)
}

// trainConfiguration trains the policy that configures the scheduler.
func trainConfiguration(ctx context.Context, stdout, stderr io.Writer, flags trainFlags, l *scenario.Loaded) error {
	cfg := tune.Config{Setting: tuneSetting(l), Dir: flags.out, Provenance: map[string]string{"trace_hash": l.TraceHash}}
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
