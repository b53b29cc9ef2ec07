package synth

import (
	"fmt"
	"strings"
)

// String returns the comparison as a table for a terminal.
func (c Comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %10s %10s %10s\n", "", "distance", "A", "B")
	fmt.Fprintf(&b, "%-24s %10s %10d %10d\n", "jobs", "", c.A.Jobs, c.B.Jobs)
	for _, f := range figures {
		x, y := f.of(&c)
		if f.distance {
			fmt.Fprintf(&b, "%-24s %10.4f\n", f.name, x)
			continue
		}
		fmt.Fprintf(&b, "%-24s %10s %10.4g %10.4g\n", f.name, "", x, y)
	}
	return b.String()
}

// String returns the judgement as a table for a terminal.
func (h Holdout) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %9s %9s %9s %18s %8s\n", "", "held out", "naive", "model", "5 % to 95 %", "closer")
	fmt.Fprintf(&b, "%-24s %9d %9d\n", "jobs", h.Window.Jobs, h.Naive.A.Jobs)
	for _, m := range h.Measures {
		window := ""
		if !m.Distance {
			window = fmt.Sprintf("%.4g", m.Window)
		}
		fmt.Fprintf(&b, "%-24s %9s %9.4g %9.4g %8.4g %s %-7.4g %4d/%d\n", m.Name, window, m.Naive, m.Mean, m.Low, "to", m.High, m.Better, h.Seeds)
	}
	return b.String()
}
