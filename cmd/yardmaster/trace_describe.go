package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newTraceDescribe() *cobra.Command {
	var cluster clusterFlags
	c := &cobra.Command{
		Use:   "describe JOBS",
		Short: "Describe a trace: counts, sizes, durations, arrivals, tenants, load",
		Long: `Describe a trace: where it comes from, percentiles of sizes, durations and times
between submissions, arrivals over time, by weekday and by hour of the day in the
trace's zone, histograms of sizes and durations by jobs and by GPU-hours, and the
tenants, models and statuses with the most jobs. With --cluster also the load on
it. JOBS is Parquet or CSV, - is CSV from standard input. Of a log of decisions
(serve --decision-log-dir): who made them, how often the learned policy agreed, and
its regret.`,
		Example: "  yardmaster trace describe jobs.parquet --cluster V100=64,P100=64",
		Args:    exactArgs("JOBS"),
	}
	cluster.add(c.Flags())
	asJSON := jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if isDecisions(args[0]) {
			return describeDecisions(c.OutOrStdout(), args[0], *asJSON)
		}
		jobs, err := readJobs(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		d := jobs.Describe()
		if cluster.spec != "" {
			performance, cfg, err := cluster.resolve(nil)
			if err != nil {
				return err
			}
			if err := d.AddLoad(jobs, performance, cfg); err != nil {
				return err
			}
		}
		if *asJSON {
			return writeJSON(c.OutOrStdout(), d)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), d)
		return err
	}
	return c
}
