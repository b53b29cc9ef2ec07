package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/eval"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// strategyContestants returns each policy once for each set of strategies, under
// the name SET/POLICY.
func strategyContestants(flags benchFlags, l *scenario.Loaded, sets []scenario.Strategies) ([]eval.Contestant, error) {
	if len(flags.policies) == 0 {
		return nil, usageError{errors.New("--strategies needs --policies: which are to play with them?")}
	}
	var all []eval.Contestant
	for _, set := range sets {
		cfg, err := l.SimOf(scenario.Test, set)
		if err != nil {
			return nil, err
		}
		for _, name := range flags.policies {
			if slices.Contains(configurationRows, name) {
				return nil, usageError{fmt.Errorf("--policies: %s is not compared by strategies", name)}
			}
			p, err := newPolicy(name, flags.setting.run)
			if err != nil {
				return nil, err
			}
			all = append(all, player(string(set)+"/"+name, cfg, p))
		}
	}
	return all, nil
}

// renderStrategies writes the figures that strategies change, each with its 95 %
// bootstrap interval, and mean completion time and makespan as ratios of the
// reference's, paired by seed.
func renderStrategies(w io.Writer, t *eval.Table, l *scenario.Loaded) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "strategies/policy\tmean JCT h\t\tmakespan h\t\tutilization\trestarts\t")
	reference := t.Row(t.Reference)
	if reference != nil {
		fmt.Fprint(tw, "JCT / reference\t\tmakespan / reference\t\t")
	}
	fmt.Fprintln(tw)
	interval := func(x eval.Interval, scale float64, digits int) {
		fmt.Fprintf(tw, "\t%.*f\t%.*f–%.*f", digits, x.Mean/scale, digits, x.Low/scale, digits, x.High/scale)
	}
	const hour = 3600
	for i := range t.Rows {
		r := &t.Rows[i]
		fmt.Fprint(tw, r.Policy)
		interval(r.MeanJCT, hour, 2)
		interval(r.Makespan, hour, 1)
		fmt.Fprintf(tw, "\t%.3f\t%.0f", r.Utilization.Mean, r.Restarts.Mean)
		if reference != nil && r != reference {
			interval(ratio(r, reference, "JCT", func(s *metrics.Summary) float64 { return s.MeanJCT }), 1, 3)
			interval(ratio(r, reference, "makespan", func(s *metrics.Summary) float64 { return s.Makespan }), 1, 3)
		}
		fmt.Fprintln(tw, "\t")
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	what := ""
	if reference != nil {
		what = "; ratios to " + t.Reference + ", paired by seed: above 1 the row is worse"
	}
	_, err := fmt.Fprintf(w, "%d windows of %d jobs; ranges: 95 %% bootstrap intervals over them%s\n%d of %d jobs of the trace can run with every set of strategies\n",
		len(t.Seeds), l.Scenario.Jobs, what, l.Report.Kept, l.Report.Read)
	return err
}

// ratio returns the mean over seeds of a figure of r over that of the reference.
func ratio(r, reference *eval.Row, name string, of func(*metrics.Summary) float64) eval.Interval {
	ratios := make([]float64, len(r.Summaries))
	for k := range ratios {
		ratios[k] = of(&r.Summaries[k]) / of(&reference.Summaries[k])
	}
	return eval.Bootstrap(ratios, rng.New(0, "strategies/"+r.Policy+"/"+name))
}
