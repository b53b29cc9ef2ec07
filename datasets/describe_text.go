package datasets

import (
	"fmt"
	"strings"
	"time"
)

// String returns d as a table for a terminal, a bar chart of sizes and of
// arrivals by hour included.
func (d Description) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	if d.Name != "" {
		line("table", "%s", d.Name)
	}
	for _, s := range []struct{ name, text string }{
		{"source", d.Source}, {"licence", d.Licence}, {"generator", d.Generator}, {"filters", strings.Join(d.Filters, "; ")},
	} {
		if s.text != "" {
			line(s.name, "%s", s.text)
		}
	}
	line("hash", "%s", d.Hash)
	line("jobs", "%d", d.Jobs)
	if d.Jobs == 0 {
		return b.String()
	}
	line("span", "%s, %.2f jobs/h", readable(d.Span), d.PerHour)
	if d.First != "" {
		line("submitted", "%s to %s", d.First, d.Last)
	}
	line("service", "%.1f GPU-hours, the largest 1%% of the jobs bring %.0f%%", d.GPUHours, 100*d.TopShare)
	line("duration s", "%s", d.Duration)
	line("steps", "%s", d.Steps)
	line("missing", "model in %d rows, duration in %d", d.NoModel, d.NoDuration)
	line("models", "%s", topCounts(d.Models))
	line("tenants", "%s", topCounts(d.Tenants))
	line("statuses", "%s", topCounts(d.Statuses))
	d.charts(&b)
	return b.String()
}

func (d *Description) charts(b *strings.Builder) {
	most := 0
	for _, s := range d.Sizes {
		most = max(most, s.Jobs)
	}
	b.WriteString("GPUs            jobs\n")
	for _, s := range d.Sizes {
		fmt.Fprintf(b, "%7d %12d %s\n", s.GPUs, s.Jobs, bar(s.Jobs, most))
	}
	most = 0
	for _, n := range d.ByHour {
		most = max(most, n)
	}
	b.WriteString("hour        arrivals\n")
	for h, n := range d.ByHour {
		fmt.Fprintf(b, "%7d %12d %s\n", h, n, bar(n, most))
	}
}

// String returns "n 12, min 1, p10 …" with four significant digits.
func (p Percentiles) String() string {
	if p.N == 0 {
		return "none"
	}
	return fmt.Sprintf("n %d, min %.4g, p10 %.4g, p50 %.4g, p90 %.4g, p99 %.4g, max %.4g, mean %.4g",
		p.N, p.Min, p.P10, p.P50, p.P90, p.P99, p.Max, p.Mean)
}

// bar returns a bar whose length is to 40 as n is to most; at least one mark
// where n > 0.
func bar(n, most int) string {
	if n == 0 {
		return ""
	}
	return strings.Repeat("#", max(1, 40*n/most))
}

func topCounts(counts []Count) string {
	const shown = 10
	if len(counts) == 0 {
		return "none"
	}
	parts := make([]string, 0, shown+1)
	for i, c := range counts {
		if i == shown {
			parts = append(parts, fmt.Sprintf("and %d more", len(counts)-shown))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %d", c.Reason, c.Rows))
	}
	return strings.Join(parts, ", ")
}

// readable returns d in days and hours where it is long.
func readable(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}
