package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
)

func newTrace() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Generate, import and describe traces (Parquet jobs tables)",
	}
	c.AddCommand(newTraceSynth(), newTraceImport(), newTraceDescribe())
	return c
}

func newTraceSynth() *cobra.Command {
	var cfg synth.Config
	var out string
	c := &cobra.Command{
		Use:   "synth --out jobs.parquet",
		Short: "Generate a trace",
		Long: `Generate a trace. The preset gavel follows the generator of Gavel (OSDI 2020):
1, 2, 4 or 8 GPUs with 70, 10, 15 and 5 %, durations of 30 minutes to 7 days, 26
types of job, Poisson arrivals. Equal flags give equal files.`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := requireFlag(c, "out"); err != nil {
				return err
			}
			jobs, err := synth.Generate(cfg)
			if err != nil {
				return err
			}
			if err := datasets.Write(out, jobs); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "wrote %d jobs to %s\n", len(jobs.Rows), out)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&out, "out", "", "Parquet file to write")
	f.StringVar(&cfg.Preset, "preset", synth.PresetGavel, "what to generate")
	f.IntVar(&cfg.Jobs, "jobs", 20000, "number of jobs")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of everything that is drawn")
	f.DurationVar(&cfg.InterArrival, "inter-arrival", 15*time.Minute, "mean time between arrivals")
	f.Float64Var(&cfg.Diurnal, "diurnal", 0, "amplitude of the daily cycle of arrivals, 0 to 1")
	f.DurationVar(&cfg.MaxDuration, "max-duration", 0, "leave out longer jobs (default keep all)")
	f.IntVar(&cfg.MaxGPUs, "max-gpus", 0, "leave out larger jobs (default keep all)")
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
