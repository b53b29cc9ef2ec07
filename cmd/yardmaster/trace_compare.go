package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
)

func newTraceCompare() *cobra.Command {
	var windows [2]string
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Say how far two traces are apart",
		Long: `Compare two traces, or two windows of one: Kolmogorov-Smirnov (KS) distances of
the times between submissions, of durations and of sizes; total variation (TV)
distances of hours of the day and of tenants; and how bursty each one is:

  hourly dispersion        variance of the hourly counts over their mean
  inter-arrival CV         deviation over mean of the times between submissions
  hourly autocorr.         correlation of successive hourly counts
  inter-arrival autocorr.  of successive times, as normal scores
  duration autocorr.       of the durations of successive jobs, as normal scores

Distances are 0 for equal traces and at most 1; a Poisson process of constant rate
has dispersion and CV 1 and no correlations. Windows are FROM..TO as in "trace fit".`,
		Example: `  yardmaster trace compare recorded.parquet generated.parquet
  yardmaster trace compare t.parquet t.parquet --a 2017-11-01..2017-12-01 --b 2017-12-01..`,
		Args: exactArgs("A", "B"),
		RunE: func(c *cobra.Command, args []string) error {
			var tables [2]*datasets.Jobs
			for i := range tables {
				table, err := readJobs(args[i], c.InOrStdin())
				if err != nil {
					return err
				}
				if windows[i] != "" {
					from, to, err := parseWindow(string(rune('a'+i)), windows[i], table)
					if err != nil {
						return err
					}
					table = synth.Between(table, from, to)
				}
				tables[i] = table
			}
			found, err := synth.Compare(tables[0], tables[1])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), found)
			}
			_, err = fmt.Fprint(c.OutOrStdout(), found)
			return err
		},
	}
	c.Flags().StringVar(&windows[0], "a", "", "window of A (default all of it)")
	c.Flags().StringVar(&windows[1], "b", "", "window of B (default all of it)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
