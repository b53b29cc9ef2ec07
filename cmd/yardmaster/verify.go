package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/train/verify"
)

func newVerify() *cobra.Command {
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare with published results",
	}
	c.AddCommand(newVerifyGavel(), newVerifyPollux())
	return c
}

func newVerifyGavel() *cobra.Command {
	var data string
	var asJSON, all bool
	var continuous continuousFlags
	c := &cobra.Command{
		Use:   "gavel --data DIR",
		Short: "Run Gavel's reference runs again and compare",
		Long: `Run every reference run of Gavel's simulator again in compatible mode and compare:
job by job where the job's completion times are known. DIR holds Gavel's traces,
throughputs and reference_runs. Exit code 1 if a run misses its tolerance: 1e-9
where no linear program is involved, else 5 %.

With --continuous Gavel's policies are played at all the loads of its published
figures instead (expected_continuous.csv), two to five minutes: does each
policy that knows GPU types beat the one that does not, by how much, and are the
policies in the published order?`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "data"); err != nil {
				return err
			}
			if err := continuous.check(c.Flags()); err != nil {
				return err
			}
			if continuous.on {
				return verifyContinuous(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), data, continuous, asJSON)
			}
			if _, err := os.Stat(filepath.Join(data, "reference_runs")); err != nil {
				return fmt.Errorf("%s holds no reference runs of Gavel: %w", data, err)
			}
			bar := newProgress(c.ErrOrStderr(), -1, "running Gavel's runs")
			rows, err := verify.Gavel(c.Context(), os.DirFS(data), func(*verify.Row) { _ = bar.Add(1) })
			_ = bar.Finish()
			if err != nil {
				return err
			}
			return errors.Join(printRows(c.OutOrStdout(), rows, asJSON, all), verify.Misses(rows))
		},
	}
	c.Flags().StringVar(&data, "data", "", "folder with Gavel's traces, throughputs and reference_runs")
	c.Flags().BoolVar(&continuous.on, "continuous", false, "compare the order of policies at all loads of the published figures")
	c.Flags().IntVar(&continuous.every, "every", 1, "with --continuous: take every so manieth load")
	c.Flags().Float64Var(&continuous.load, "max-load", 0, "with --continuous: leave out higher loads, jobs per hour (default none)")
	c.Flags().BoolVar(&all, "figures", false, "print every figure of every run")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newVerifyPollux() *cobra.Command {
	var data string
	var asJSON, all bool
	c := &cobra.Command{
		Use:   "pollux --data DIR",
		Short: "Play Tiresias as Pollux' simulator does and compare",
		Long: `Play Tiresias on workload 1 of Pollux' simulator at half the load, on 16 nodes of
four T4, and compare the completion time of every job with the published ones, to
the second. DIR holds workloads-0.5/workload-1.csv. Exit code 1 if one differs.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "data"); err != nil {
				return err
			}
			if _, err := os.Stat(filepath.Join(data, "workloads-0.5")); err != nil {
				return fmt.Errorf("%s holds no workloads of Pollux: %w", data, err)
			}
			rows, err := verify.Pollux(c.Context(), os.DirFS(data))
			if err != nil {
				return err
			}
			return errors.Join(printRows(c.OutOrStdout(), rows, asJSON, all), verify.Misses(rows))
		},
	}
	c.Flags().StringVar(&data, "data", "", "folder with Pollux' workloads")
	c.Flags().BoolVar(&all, "figures", false, "print every figure")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func printRows(w io.Writer, rows []verify.Row, asJSON, all bool) error {
	switch {
	case asJSON:
		return writeJSON(w, verifiedRows(rows))
	case all:
		return verify.WriteFigures(w, rows)
	}
	return verify.Write(w, rows)
}

// verifiedRow is a verify.Row in JSON.
type verifiedRow struct {
	Run     string           `json:"run"`
	Figures []verifiedFigure `json:"figures,omitempty"`
	Skipped string           `json:"skipped,omitempty"`
	Error   string           `json:"error,omitempty"`
}

type verifiedFigure struct {
	Name   string  `json:"name"`
	Ours   float64 `json:"ours"`
	Theirs float64 `json:"theirs"`
	Pass   bool    `json:"pass"`
}

func verifiedRows(rows []verify.Row) []verifiedRow {
	out := make([]verifiedRow, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = verifiedRow{Run: r.Name, Skipped: r.Skipped}
		if r.Err != nil {
			out[i].Error = r.Err.Error()
		}
		for k := range r.Figures {
			f := &r.Figures[k]
			out[i].Figures = append(out[i].Figures, verifiedFigure{f.Name, f.Ours, f.Theirs, f.Pass()})
		}
	}
	return out
}
