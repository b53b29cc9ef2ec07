package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

func newTraceScale() *cobra.Command {
	var load, factor float64
	var cluster clusterFlags
	c := &cobra.Command{
		Use:   "scale JOBS (--load X --cluster SPEC | --factor F) --out OUT",
		Short: "Stretch or shrink the times between submissions to reach a load",
		Long: `Multiply the times between submissions by one factor: by --factor, or by the one
with which the work offered is --load times the capacity of --cluster, counted
as in yardmaster train. Quiet and busy times stay quiet and busy. The first job
stays where it is, and jobs keep the time to their deadlines.`,
		Example: `  yardmaster trace scale jobs.parquet --load 0.9 --cluster V100=16,P100=16,K80=16 --out busy.parquet
  yardmaster trace scale jobs.parquet --factor 0.5 --out twice-as-fast.parquet`,
		Args: exactArgs("JOBS"),
	}
	out, asJSON := outFlag(c), jsonFlag(c)
	c.Flags().Float64Var(&load, "load", 0, "work offered over the capacity of --cluster")
	c.Flags().Float64Var(&factor, "factor", 0, "by which times between submissions are multiplied")
	cluster.add(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := requireOut(c); err != nil {
			return err
		}
		byLoad := c.Flags().Changed("load")
		switch {
		case byLoad == c.Flags().Changed("factor"):
			return usageError{errors.New("give either --load or --factor")}
		case byLoad && cluster.spec == "":
			return usageError{errors.New("--cluster is missing: a load is that of a cluster")}
		}
		jobs, err := readJobs(args[0], c.InOrStdin())
		if err != nil {
			return err
		}
		if !byLoad {
			scaled, err := jobs.Scale(factor)
			if err != nil {
				return err
			}
			return saveChange(c, *asJSON, scaled, change{Out: *out, message: spans(jobs, scaled)})
		}
		performance, cfg, err := cluster.resolve(nil)
		if err != nil {
			return err
		}
		scaled, _, err := jobs.ScaleToLoad(load, performance, cfg)
		if err != nil {
			return err
		}
		return saveChange(c, *asJSON, scaled, change{Out: *out, message: spans(jobs, scaled)})
	}
	return c
}

// spans says how long a trace was and is.
func spans(before, after *datasets.Jobs) string {
	span := func(j *datasets.Jobs) float64 { return (j.Rows[len(j.Rows)-1].Submit - j.Rows[0].Submit).Hours() / 24 }
	return fmt.Sprintf("submitted over %.2f days, before %.2f", span(after), span(before))
}
