package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/datasets/synth"
)

// fitOptions are the flags of trace fit.
type fitOptions struct {
	out              string
	window           string
	holdout, naive   string
	seeds            int
	arrivals, forJob string
	streams          int
	asJSON           bool
}

func newTraceFit() *cobra.Command {
	var o fitOptions
	c := &cobra.Command{
		Use:   "fit JOBS --out workload.yaml",
		Short: "Fit a generative model to a trace",
		Long: `Fit a generative model to a trace and write it as a workload file, from which
"trace synth --workload" draws any number of futures: who submits, when (time of
day, day of week, bursts), and what (GPUs, duration, model), tenant by tenant.
datasets/synth/README.md says how. The file has some hundred kilobytes at most and
holds no jobs, only distributions; equal tables give equal files.

What is old counts less. How much less is chosen by forecasting the last weeks of
the window from those before them (half-lives of the times of submission, and of
sizes and durations); --arrivals-half-life and --jobs-half-life set them.

--holdout keeps a window out of the fit and says how what is generated compares
with it: Kolmogorov-Smirnov distances of inter-arrival times, durations and sizes,
hours of the day, tenants, and burstiness, over several seeds. Beside it stands the
naive forecast: the part of the trace before the window, as it is. A model is worth
its while where it is closer than that.

Windows are FROM..TO, where either end may be left out and TO is excluded: instants
(2017-11-01, 2017-11-01 12:00, 2017-11-01T12:00:00-07:00), in the zone of the trace
where they say no other, or times since its epoch (72h, 14d).`,
		Example: `  yardmaster trace fit jobs.parquet --out workload.yaml
  yardmaster trace fit philly.parquet --out workload.yaml --holdout 2017-12-01.. --naive 2017-11-01..2017-12-01`,
		Args: exactArgs("JOBS"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "workload file to write")
	f.StringVar(&o.window, "window", "", "jobs to fit, by submission (default all, or those before --holdout)")
	f.StringVar(&o.holdout, "holdout", "", "window to keep out of the fit and compare with")
	f.StringVar(&o.naive, "naive", "", "baseline of the comparison (default as long as --holdout, right before it)")
	f.IntVar(&o.seeds, "seeds", 20, "tables to generate for the comparison")
	f.StringVar(&o.arrivals, "arrivals-half-life", "auto", "forgetting of the times of submission: auto, never or a duration such as 168h")
	f.StringVar(&o.forJob, "jobs-half-life", "auto", "forgetting of sizes and durations: likewise")
	f.IntVar(&o.streams, "streams", 12, "tenants that are modelled one by one, at most; the others are taken together")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return c
}

// fitReport is what trace fit prints.
type fitReport struct {
	Out     string           `json:"out"`
	Source  synth.Provenance `json:"source"`
	Streams int              `json:"streams"`
	Bytes   int              `json:"bytes"`
	Holdout *synth.Holdout   `json:"holdout,omitempty"`
}

func (o *fitOptions) run(c *cobra.Command, path string) error {
	if err := errors.Join(requireFlag(c, "out"), writable("--out", o.out)); err != nil {
		return err
	}
	if o.naive != "" && o.holdout == "" {
		return usageError{errors.New("--naive is the baseline of --holdout, which is not given")}
	}
	table, err := readJobs(path, c.InOrStdin())
	if err != nil {
		return err
	}
	model, judged, err := o.fit(c, table)
	if err != nil {
		return err
	}
	data := model.Encode()
	err = writeFile(o.out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	report := fitReport{Out: o.out, Source: model.Source, Streams: len(model.Streams), Bytes: len(data), Holdout: judged}
	if o.asJSON {
		return writeJSON(c.OutOrStdout(), report)
	}
	return report.print(c.OutOrStdout())
}

// fit returns the model and, with --holdout, how it did.
func (o *fitOptions) fit(c *cobra.Command, table *datasets.Jobs) (*synth.Model, *synth.Holdout, error) {
	cfg := synth.ModelConfig{Streams: o.streams}
	if o.streams < 1 {
		return nil, nil, usageError{fmt.Errorf("--streams is %d, want at least 1", o.streams)}
	}
	var err error
	if cfg.ArrivalsHalfLife, err = parseHalfLife("arrivals-half-life", o.arrivals); err != nil {
		return nil, nil, err
	}
	if cfg.JobsHalfLife, err = parseHalfLife("jobs-half-life", o.forJob); err != nil {
		return nil, nil, err
	}
	if o.window != "" {
		if cfg.From, cfg.To, err = parseWindow("window", o.window, table); err != nil {
			return nil, nil, err
		}
	}
	if o.holdout == "" {
		m, err := synth.FitModel(table, cfg)
		return m, nil, err
	}
	h := synth.HoldoutConfig{Model: cfg, Seeds: o.seeds}
	if o.seeds < 1 {
		return nil, nil, usageError{fmt.Errorf("--seeds is %d, want at least 1", o.seeds)}
	}
	if h.From, h.To, err = parseWindow("holdout", o.holdout, table); err != nil {
		return nil, nil, err
	}
	if o.naive != "" {
		if h.NaiveFrom, h.NaiveTo, err = parseWindow("naive", o.naive, table); err != nil {
			return nil, nil, err
		}
	}
	bar := newProgress(c.ErrOrStderr(), o.seeds, "generating")
	defer func() { _ = bar.Finish() }()
	h.Step = func() error {
		_ = bar.Add(1) // a bar that cannot be drawn is no reason to stop
		return c.Context().Err()
	}
	m, judged, err := synth.FitHoldout(table, h)
	return m, &judged, err
}

func (r *fitReport) print(w io.Writer) error {
	var b strings.Builder
	days := func(x float64) string {
		if x == 0 {
			return "never"
		}
		return fmt.Sprintf("by half in %g days", x)
	}
	fmt.Fprintf(&b, "fitted %d jobs from %s to %s in %d streams\n", r.Source.Jobs, r.Source.From, r.Source.To, r.Streams)
	fmt.Fprintf(&b, "times of submission are forgotten %s, sizes and durations %s\n", days(r.Source.ArrivalsHalfLife), days(r.Source.JobsHalfLife))
	if r.Holdout != nil {
		b.WriteString("\n" + r.Holdout.String() + "\n")
	}
	fmt.Fprintf(&b, "wrote %s, %d bytes\n", r.Out, r.Bytes)
	_, err := io.WriteString(w, b.String())
	return err
}

// parseHalfLife reads auto (0), never (-1) or a duration.
func parseHalfLife(flag, s string) (time.Duration, error) {
	switch s {
	case "auto":
		return 0, nil
	case "never":
		return -1, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, usageError{fmt.Errorf("--%s is %q, want auto, never or a duration > 0 such as 168h", flag, s)}
	}
	return d, nil
}

// parseWindow reads FROM..TO as times since the epoch of a table.
func parseWindow(flag, s string, table *datasets.Jobs) (from, to time.Duration, err error) {
	low, high, found := strings.Cut(s, "..")
	bad := func(why string) (time.Duration, time.Duration, error) {
		return 0, 0, usageError{fmt.Errorf("--%s is %q: %s", flag, s, why)}
	}
	if !found {
		return bad("want FROM..TO")
	}
	first, last := table.Rows[0].Submit, table.Rows[len(table.Rows)-1].Submit+1
	from, to = first, last
	if low != "" {
		if from, err = table.Moment(low); err != nil {
			return bad(err.Error())
		}
	}
	if high != "" {
		if to, err = table.Moment(high); err != nil {
			return bad(err.Error())
		}
	}
	// Recording began and ended where it did: silence beyond is none of the trace.
	from, to = max(from, first), min(to, last)
	if from >= to {
		return bad("it holds no time between the first and the last submission of " + table.Name)
	}
	return from, to, nil
}
