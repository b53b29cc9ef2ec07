package eval

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Render writes t as a table for people: a line with the means over the seeds,
// below it their 95 % bootstrap intervals. Times are in hours.
func (t *Table) Render(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "policy\tmean JCT h\tmedian h\tp99 h\tmakespan h\tmean ρ\tmax ρ\tutilization\trestarts\tµs/decision")
	if t.Objective != "" {
		fmt.Fprintf(tw, "\t%s / job", t.Objective)
	}
	if t.Reference != "" {
		fmt.Fprintf(tw, "\t%s / it\twon", t.Reference)
	}
	fmt.Fprintln(tw, "\t")
	for i := range t.Rows {
		t.Rows[i].render(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%d seeds; second lines: 95 %% bootstrap intervals over them%s\n", len(t.Seeds), t.footnote()); err != nil {
		return err
	}
	return t.RenderGroups(w)
}

func (t *Table) footnote() string {
	if t.Reference == "" {
		return ""
	}
	return fmt.Sprintf("; %s / it: mean JCT of %s as a ratio of the row's, paired by seed; won: seeds on which it is lower", t.Reference, t.Reference)
}

// cell is one column of a row.
type cell struct {
	Interval
	digits int
}

func (r *Row) render(w io.Writer) {
	cells := []cell{
		{hours(r.MeanJCT), 2},
		{hours(r.MedianJCT), 2},
		{hours(r.P99JCT), 1},
		{hours(r.Makespan), 1},
		{r.MeanRho, 2},
		{r.MaxRho, 1},
		{r.Utilization, 3},
		{r.Restarts, 0},
	}
	fmt.Fprint(w, r.Policy)
	for _, c := range cells {
		fmt.Fprintf(w, "\t%.*f", c.digits, c.Mean)
	}
	fmt.Fprintf(w, "\t%.0f", r.DecisionMicros)
	if r.Cost != nil {
		fmt.Fprintf(w, "\t%.3f", r.Cost.Mean)
	}
	if r.Versus != nil {
		fmt.Fprintf(w, "\t%.3f\t%d/%d", r.Versus.Ratio.Mean, r.Versus.Wins, len(r.Summaries))
	}
	fmt.Fprint(w, "\t\n")
	for _, c := range cells {
		fmt.Fprintf(w, "\t%.*f–%.*f", c.digits, c.Low, c.digits, c.High)
	}
	fmt.Fprint(w, "\t")
	if r.Cost != nil {
		fmt.Fprintf(w, "\t%.3f–%.3f", r.Cost.Low, r.Cost.High)
	}
	if r.Versus != nil {
		fmt.Fprintf(w, "\t%.3f–%.3f\t", r.Versus.Ratio.Low, r.Versus.Ratio.High)
	}
	fmt.Fprint(w, "\t\n")
}

func hours(i Interval) Interval {
	const hour = 3600
	return Interval{i.Mean / hour, i.Low / hour, i.High / hour}
}
