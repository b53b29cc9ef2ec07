package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/importers/philly"
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

// importers read the public formats; a new one is a line here and a package.
var importers = map[string]func(r io.Reader, name string) (*datasets.Jobs, importReport, error){
	"philly": func(r io.Reader, name string) (*datasets.Jobs, importReport, error) {
		jobs, report, err := philly.Import(r, name)
		return jobs, importReport{report.Report, report.Warnings}, err
	},
}

type importReport struct {
	datasets.Report
	Warnings []datasets.Count `json:"warnings,omitempty"`
}

func newTraceImport() *cobra.Command {
	var from, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import --from philly IN --out jobs.parquet",
		Short: "Import a public trace",
		Long: `Import a public trace into a Parquet jobs table, with an account of every row.
IN may be compressed with gzip or zstd; - is standard input. Formats:

  philly   Microsoft Philly as CSV: timestamp,duration,num_gpus,gpu_time,cluster`,
		Args: exactArgs("IN"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := requireFlag(c, "out"); err != nil {
				return err
			}
			read, ok := importers[from]
			if !ok {
				return usageError{fmt.Errorf("--from is %q, want philly", from)}
			}
			report, err := importTrace(read, args[0], out)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), report)
			}
			return printImport(c.OutOrStdout(), report, out)
		},
	}
	c.Flags().StringVar(&from, "from", "philly", "format of IN")
	c.Flags().StringVar(&out, "out", "", "Parquet file to write")
	c.Flags().BoolVar(&asJSON, "json", false, "print the account as JSON")
	return c
}

func importTrace(read func(io.Reader, string) (*datasets.Jobs, importReport, error), in, out string) (importReport, error) {
	var r io.Reader = os.Stdin
	if in != "-" {
		f, err := os.Open(in)
		if err != nil {
			return importReport{}, err
		}
		defer f.Close()
		r = f
	}
	jobs, report, err := read(bufio.NewReader(r), in)
	if err != nil {
		return report, err
	}
	return report, datasets.Write(out, jobs)
}

func printImport(w io.Writer, report importReport, out string) error {
	var b strings.Builder
	fmt.Fprintln(&b, report.Report)
	for _, warning := range report.Warnings {
		fmt.Fprintf(&b, "warning: %d rows: %s\n", warning.Rows, warning.Reason)
	}
	fmt.Fprintf(&b, "wrote %d jobs to %s\n", report.Kept, out)
	_, err := io.WriteString(w, b.String())
	return err
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
