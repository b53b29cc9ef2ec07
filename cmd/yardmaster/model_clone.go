package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/relearn"
)

// cloneFlags say what is cloned, from whom.
type cloneFlags struct {
	decisions []string
	from      string
	init      string
	out       string
	bc        bc.Config
	seed      uint64
	json      *bool
}

func newModelClone() *cobra.Command {
	var flags cloneFlags
	c := &cobra.Command{
		Use:   "clone --decisions LOG --init DIR --out DIR",
		Short: "Learn from the decisions that a service logged",
		Long: `Learn from the decisions that a service logged (serve --decision-log-dir): start
from the model of --init and fit it to what was decided on the recorded states:
  published   what the clusters were told
  program     what the linear program said
  learned     what the learned policy said
or to what any policy of yardmaster agents, or lp:srpt, … decides on them. A
fifth of the record, in stretches, is held out and chooses the epoch. The result has statistics of
the states it learned from and golden inputs, as a trained model has.`,
		Example: "  yardmaster model clone --decisions log/decisions-20261201T031920.166029365Z.parquet --from lp:srpt --init run --out cloned\n" +
			"  yardmaster model add cloned --name demo --models models",
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"decisions", "init", "out"} {
				if err := requireFlag(c, name); err != nil {
					return err
				}
			}
			return flags.run(c)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&flags.decisions, "decisions", nil, "decision logs of a service, in order of time")
	f.StringVar(&flags.from, "from", "program", "who is imitated: published, program, learned, or a policy")
	f.StringVar(&flags.init, "init", "", "model folder or run directory to start from")
	f.StringVar(&flags.out, "out", "", "model folder to write, which must not hold a model")
	f.IntVar(&flags.bc.Epochs, "epochs", 8, "passes over the states")
	f.Float64Var(&flags.bc.Rate, "rate", 3e-3, "learning rate of the first pass")
	f.Uint64Var(&flags.seed, "seed", 1, "of the order in which states are learned")
	flags.json = jsonFlag(c)
	return c
}

func (f *cloneFlags) run(c *cobra.Command) error {
	if _, err := modelFolder(f.out); err == nil {
		return usageError{fmt.Errorf("--out %s holds a model already", f.out)}
	}
	dir, err := modelFolder(f.init)
	if err != nil {
		return err
	}
	m, err := models.Load(dir)
	if err != nil {
		return err
	}
	r, err := readDecisions(f.decisions)
	if err != nil {
		return err
	}
	cfg := relearn.Config{Model: m, States: r.states, BC: f.bc, Seed: f.seed}
	if cfg.Allocations, err = f.teacher(c, r); err != nil {
		return err
	}
	bar := newProgress(c.ErrOrStderr(), f.bc.Epochs, "learning")
	cfg.Progress = func(epoch, _ int) { _ = bar.Set(epoch) }
	learned, result, err := relearn.Run(c.Context(), cfg)
	_ = bar.Finish()
	if err != nil {
		return err
	}
	p := learned.Manifest.Provenance
	p["cloned_from"], p["cloned_decisions"], p["cloned_init"] = f.from, strings.Join(f.decisions, ","), m.Manifest.SHA256
	if err := models.Save(f.out, learned); err != nil {
		return err
	}
	if *f.json {
		return writeJSON(c.OutOrStdout(), result)
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "learned from %d states (%d left out); on those held out %.1f %% of the picks were like %s, now %.1f %%; loss %.4f, now %.4f; kept epoch %d\n",
		result.Demonstrations, result.Skipped, 100*result.Before.Accuracy, f.from, 100*result.After.Accuracy, result.Before.Loss, result.After.Loss, result.Epoch)
	return err
}

// teacher returns what is imitated on each state.
func (f *cloneFlags) teacher(c *cobra.Command, r *recorded) ([]env.Allocation, error) {
	switch f.from {
	case "published":
		return r.published, nil
	case "program":
		return r.programs, nil
	case "learned":
		return r.learned, nil
	}
	p, err := newPolicy(f.from, "")
	if err != nil {
		return nil, err
	}
	bar := newProgress(c.ErrOrStderr(), len(r.states), "asking "+f.from)
	defer func() { _ = bar.Finish() }()
	all := make([]env.Allocation, len(r.states))
	for i, s := range r.states {
		if all[i], err = p.Decide(c.Context(), s); err != nil {
			return nil, errors.Join(fmt.Errorf("state %d: %s", i, f.from), err)
		}
		_ = bar.Add(1)
	}
	return all, nil
}
