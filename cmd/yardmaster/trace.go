package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
)

func newTrace() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Generate, import and describe traces (Parquet jobs tables)",
	}
	c.AddCommand(newTraceSynth(), newTraceFit(), newTraceCompare(), newTraceImport(), newTraceDescribe())
	return c
}

func newTraceDescribe() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "describe jobs.parquet",
		Short: "Describe a trace: counts, sizes, durations, arrivals",
		Args:  exactArgs("jobs.parquet"),
		RunE: func(c *cobra.Command, args []string) error {
			jobs, err := datasets.Read(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), jobs.Describe())
			}
			_, err = fmt.Fprint(c.OutOrStdout(), jobs.Describe())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
