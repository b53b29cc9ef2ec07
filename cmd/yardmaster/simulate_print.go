package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/yardmaster/yardmaster/env/timeline"
)

// figure is a named value of the table.
type figure struct{ name, value string }

// figures returns what the table and the timeline show.
func (r *simulated) figures() []figure {
	s := &r.Summary
	hours := func(seconds float64) string { return fmt.Sprintf("%.2f h", seconds/3600) }
	all := []figure{
		{"jobs finished", fmt.Sprintf("%d of %d", s.Jobs-s.Failed-s.Cancelled, r.Submitted)},
		{"mean JCT", hours(s.MeanJCT)},
		{"median JCT", hours(s.MedianJCT)},
		{"p99 JCT", hours(s.P99JCT)},
		{"mean delay", hours(s.MeanDelay)},
		{"makespan", hours(s.Makespan)},
		{"utilization", fmt.Sprintf("%.1f %%", 100*s.Utilization)},
		{"restarts", fmt.Sprint(s.Restarts)},
		{"mean ρ", fmt.Sprintf("%.2f", s.MeanRho)},
		{"worst ρ", fmt.Sprintf("%.2f", s.MaxRho)},
		{"cost", fmt.Sprintf("$ %.0f", s.Cost)},
		{"decisions", fmt.Sprint(r.Rounds)},
	}
	for _, f := range []struct {
		name  string
		count int
	}{{"late", s.Late}, {"failed", s.Failed}, {"cancelled", s.Cancelled}, {"interruptions", s.Interruptions}} {
		if f.count > 0 {
			all = append(all, figure{f.name, fmt.Sprint(f.count)})
		}
	}
	return all
}

func (r *simulated) print(w io.Writer) error {
	fmt.Fprintf(w, "%s on %s, %d GPUs (%s)\n", r.Policy, r.Trace, r.GPUs, r.Cluster)
	if r.Truncated {
		fmt.Fprintf(w, "stopped by --max-rounds: %d jobs are unfinished and in no figure\n", r.Submitted-r.Summary.Jobs)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, f := range r.figures() {
		fmt.Fprintf(t, "%s\t%s\t\n", f.name, f.value)
	}
	if err := t.Flush(); err != nil || r.By == "" {
		return err
	}
	g := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(g, "\n%s\tjobs\tGPU-hours\tmean JCT h\tmedian h\tp99 h\tmean delay h\t\n", r.By)
	for _, x := range r.Groups {
		fmt.Fprintf(g, "%s\t%d\t%.1f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", cmp.Or(x.Name, "unknown"), x.Jobs, x.GPUHours, x.MeanJCT/3600, x.MedianJCT/3600, x.P99JCT/3600, x.MeanDelay/3600)
	}
	return g.Flush()
}

// chart describes the timeline.
func (r *simulated) chart() timeline.Config {
	cfg := timeline.Config{Title: fmt.Sprintf("%s on %s, %s", r.Policy, filepath.Base(r.Trace), r.Cluster)}
	for _, f := range r.figures() {
		cfg.Facts = append(cfg.Facts, timeline.Fact{Name: f.name, Value: f.value})
	}
	return cfg
}
