package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
)

// synthOptions are the flags of trace synth.
type synthOptions struct {
	out      *string
	asJSON   *bool
	rule     synth.Config // preset gavel
	workload string
	horizon  time.Duration
	start    string
	show     bool
}

// gavelFlags are those of the preset gavel alone.
var gavelFlags = []string{"inter-arrival", "diurnal", "max-duration", "max-gpus"}

// defaultJobs is how many jobs are generated where nothing says how many.
const defaultJobs = 20000

func newTraceSynth() *cobra.Command {
	var o synthOptions
	c := &cobra.Command{
		Use:   "synth --out jobs.parquet",
		Short: "Generate a trace from a preset or a fitted workload",
		Long: `Generate a trace: a table of jobs that looks like a workload. Equal flags give
equal files, and a longer table begins with the shorter one.

Presets:
  gavel        Gavel's generator (OSDI 2020): 1, 2, 4 or 8 GPUs with 70, 10, 15
               and 5 %, durations of 30 minutes to 7 days, 26 types of job,
               Poisson arrivals. The flags --inter-arrival, --diurnal,
               --max-duration and --max-gpus are for it alone.
  philly-like  many small jobs in bursts from five tenants, as on Microsoft's
               Philly cluster in 2017. Rows have no model: training and simulation
               draw one.
  llm          few large long jobs, pretraining on 64 to 512 A100, which need a 3D
               plan, and fine-tuning on 8 to 16.

Or your own: "trace fit" makes a workload.yaml from any table, and --workload
draws futures of it. The file is meant to be read and edited; --show prints that
of a preset, with the sources of its figures, to start from.`,
		Example: `  yardmaster trace synth --out gavel.parquet --jobs 5000 --seed 7
  yardmaster trace synth --preset philly-like --horizon 720h --out month.parquet
  yardmaster trace synth --preset llm --show > mine.yaml
  yardmaster trace fit jobs.parquet --out mine.yaml
  yardmaster trace synth --workload mine.yaml --seed 2 --horizon 168h --out week.parquet`,
		Args: exactArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	o.out, o.asJSON = outFlag(c), jsonFlag(c)
	f := c.Flags()
	f.StringVar(&o.rule.Preset, "preset", synth.PresetGavel, "what to generate: "+strings.Join(synth.Presets(), ", "))
	f.StringVar(&o.workload, "workload", "", "workload file to draw from instead of a preset")
	f.IntVar(&o.rule.Jobs, "jobs", 0, fmt.Sprintf("number of jobs (default %d without --horizon)", defaultJobs))
	f.DurationVar(&o.horizon, "horizon", 0, "time that the jobs are submitted in, such as 720h; not for gavel")
	f.StringVar(&o.start, "start", "", "instant of time 0, RFC 3339 (default where the fit ended); not for gavel")
	f.Uint64Var(&o.rule.Seed, "seed", 1, "seed of everything that is drawn")
	f.DurationVar(&o.rule.InterArrival, "inter-arrival", 15*time.Minute, "gavel: mean time between arrivals")
	f.Float64Var(&o.rule.Diurnal, "diurnal", 0, "gavel: amplitude of the daily cycle of arrivals, 0 to 1")
	f.DurationVar(&o.rule.MaxDuration, "max-duration", 0, "gavel: leave out longer jobs (default keep all)")
	f.IntVar(&o.rule.MaxGPUs, "max-gpus", 0, "gavel: leave out larger jobs (default keep all)")
	f.BoolVar(&o.show, "show", false, "print the workload file of the preset and stop")
	return c
}

func (o *synthOptions) run(c *cobra.Command) error {
	if err := o.check(c); err != nil {
		return err
	}
	if o.show {
		data, err := synth.PresetFile(o.rule.Preset)
		if err != nil {
			return usageError{err}
		}
		_, err = c.OutOrStdout().Write(data)
		return err
	}
	if err := requireOut(c); err != nil {
		return err
	}
	jobs, err := o.generate()
	if err != nil {
		return err
	}
	return o.save(c, jobs)
}

// save writes the jobs and says so; beside the jobs themselves that goes to
// standard error.
func (o *synthOptions) save(c *cobra.Command, jobs *datasets.Jobs) error {
	report := c.OutOrStdout()
	if *o.out == "-" {
		report = c.ErrOrStderr()
		if err := datasets.EncodeCSV(c.OutOrStdout(), jobs); err != nil {
			return err
		}
	} else if err := datasets.Save(*o.out, jobs); err != nil {
		return err
	}
	if *o.asJSON {
		return writeJSON(report, struct {
			Out       string `json:"out"`
			Jobs      int    `json:"jobs"`
			Generator string `json:"generator"`
			Seed      uint64 `json:"seed"`
			Hash      string `json:"hash"`
		}{*o.out, len(jobs.Rows), jobs.Meta.Generator, jobs.Meta.Seed, jobs.Hash()})
	}
	_, err := fmt.Fprintf(report, "wrote %d jobs to %s\n", len(jobs.Rows), *o.out)
	return err
}

// check reports flags that do not go together.
func (o *synthOptions) check(c *cobra.Command) error {
	set := func(name string) bool { return c.Flags().Changed(name) }
	if set("workload") && (set("preset") || o.show) {
		return usageError{errors.New("--workload goes with neither --preset nor --show: it is what to draw from")}
	}
	if !slices.Contains(synth.Presets(), o.rule.Preset) {
		return usageError{fmt.Errorf("--preset is %q, want one of %s", o.rule.Preset, strings.Join(synth.Presets(), ", "))}
	}
	if errs := refuseZeros(c.Flags(), "horizon", "inter-arrival"); len(errs) > 0 {
		return usageError{errors.Join(errs...)}
	}
	gavel := o.workload == "" && o.rule.Preset == synth.PresetGavel
	for _, name := range gavelFlags {
		if set(name) && !gavel {
			return usageError{fmt.Errorf("--%s is for the preset gavel; a workload file says it itself, and \"trace slice\" and \"trace scale\" change tables", name)}
		}
	}
	for _, name := range []string{"horizon", "start"} {
		if set(name) && gavel {
			return usageError{fmt.Errorf("--%s is not for the preset gavel: use --jobs and --inter-arrival", name)}
		}
	}
	for _, name := range []string{"jobs", "horizon"} {
		if set(name) && strings.HasPrefix(c.Flag(name).Value.String(), "-") || set(name) && o.rule.Jobs == 0 && name == "jobs" {
			return usageError{fmt.Errorf("--%s is %s, want more than 0", name, c.Flag(name).Value)}
		}
	}
	return nil
}

func (o *synthOptions) generate() (*datasets.Jobs, error) {
	if o.rule.Jobs == 0 && o.horizon == 0 {
		o.rule.Jobs = defaultJobs
	}
	if o.workload == "" && o.rule.Preset == synth.PresetGavel {
		return synth.Generate(o.rule)
	}
	m, err := o.model()
	if err != nil {
		return nil, err
	}
	run := synth.ModelRun{Seed: o.rule.Seed, Jobs: o.rule.Jobs, Horizon: o.horizon}
	if o.start != "" {
		if run.Start, err = time.Parse(time.RFC3339Nano, o.start); err != nil {
			return nil, usageError{fmt.Errorf("--start is %q, want a time as in RFC 3339, such as 2026-01-05T00:00:00Z", o.start)}
		}
	}
	return m.Generate(run)
}

func (o *synthOptions) model() (*synth.Model, error) {
	if o.workload == "" {
		return synth.PresetModel(o.rule.Preset)
	}
	f, err := os.Open(o.workload)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return synth.ReadModel(f, o.workload)
}
