package datasets

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String returns d as text for a terminal of 100 columns: what the table is,
// percentiles, then histograms.
func (d Description) String() string {
	p := printer{jobs: float64(d.Jobs), hours: d.GPUHours}
	p.line("%s: %s jobs%s", orElse(d.Name, "table"), thousands(d.Jobs), d.overSpan())
	p.line("")
	p.provenance(&d)
	if d.Jobs == 0 {
		return p.String()
	}
	p.line("")
	p.percentiles(&d)
	if d.Load != nil {
		p.line("")
		p.load(d.Load)
	}
	p.arrivals(&d.Arrivals)
	p.histogram("GPUs", sizeBars(d.Sizes))
	p.histogram("duration", durationBars(d.Durations))
	p.groups("tenant", d.Tenants)
	p.groups("model", d.Models)
	p.groups("status", d.Statuses)
	return p.String()
}

func (d *Description) overSpan() string {
	if d.Jobs == 0 {
		return ""
	}
	return fmt.Sprintf(" in %s, %s per hour", readable(d.Span), short(d.PerHour))
}

// printer builds a description.
type printer struct {
	strings.Builder
	jobs, hours float64 // of the table
}

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// provenance says where the table comes from.
func (p *printer) provenance(d *Description) {
	item := func(name string, values ...string) {
		for _, value := range values {
			if value != "" {
				p.line("  %-10s %s", name, value)
				name = ""
			}
		}
	}
	item("source", d.Source)
	item("licence", d.Licence)
	item("generator", d.Generator)
	if d.RowsIn > 0 && d.RowsIn != int64(d.Jobs) {
		item("rows", thousands(int(d.RowsIn))+" in the source")
	}
	item("filters", d.Filters...)
	item("hash", d.Hash)
	if d.First != "" {
		item("submitted", d.First+" to "+d.Last)
	}
	if d.Jobs == 0 {
		return
	}
	if d.NoDuration < d.Jobs {
		item("service", fmt.Sprintf("%s GPU-hours; the largest 1%% of the jobs bring %.0f%% of them", short(d.GPUHours), 100*d.TopShare))
	}
	var lacks []string
	for _, l := range []struct {
		what string
		rows int
	}{{"model", d.NoModel}, {"duration", d.NoDuration}, {"tenant", d.NoTenant}} {
		if l.rows > 0 {
			lacks = append(lacks, fmt.Sprintf("%s in %s", l.what, p.share(l.rows)))
		}
	}
	item("missing", strings.Join(lacks, ", "))
	var has []string
	for _, h := range []struct {
		what string
		rows int
	}{{"a weight", d.WithWeight}, {"a deadline", d.WithDeadline}} {
		if h.rows > 0 {
			has = append(has, fmt.Sprintf("%s in %s", h.what, p.share(h.rows)))
		}
	}
	item("with", strings.Join(has, ", "))
}

// share returns a number of jobs, and which part of all it is.
func (p *printer) share(jobs int) string {
	if float64(jobs) == p.jobs {
		return "all jobs"
	}
	return fmt.Sprintf("%s jobs (%.1f%%)", thousands(jobs), 100*float64(jobs)/p.jobs)
}

// percentiles prints the table of what has a distribution.
func (p *printer) percentiles(d *Description) {
	p.line("%-10s %9s %9s %9s %9s %9s %9s %9s", "", "min", "p10", "median", "p90", "p99", "max", "mean")
	for _, row := range []struct {
		name  string
		x     Percentiles
		print func(float64) string
	}{
		{"GPUs", d.GPUs, short}, {"duration", d.Duration, shortSeconds}, {"gap", d.Gap, shortSeconds}, {"steps", d.Steps, short},
	} {
		if row.x.N == 0 {
			continue
		}
		p.line("  %-8s %9s %9s %9s %9s %9s %9s %9s", row.name, row.print(row.x.Min), row.print(row.x.P10), row.print(row.x.P50),
			row.print(row.x.P90), row.print(row.x.P99), row.print(row.x.Max), row.print(row.x.Mean))
	}
	if d.Gap.N > 0 {
		p.line("  gaps between submissions vary %.2f times as much as those of a Poisson process (coefficient of variation)", d.GapCV)
	}
}

// load prints what the table brings to a cluster.
func (p *printer) load(l *ClusterLoad) {
	p.line("load on %s (%d GPUs)", l.Cluster, l.GPUs)
	if l.Demand > 0 {
		p.line("  %-10s %.3f  GPU-hours asked for over GPU-hours there are, types alike", "demand", l.Demand)
	}
	if l.Problem != "" {
		p.line("  %-10s unknown: %s", "offered", l.Problem)
		return
	}
	p.line("  %-10s %.3f  work over capacity, as yardmaster train --load and trace scale --load count it", "offered", l.Offered)
	if l.Runnable.Kept < l.Runnable.Read {
		p.line("  %-10s %s", "of", l.Runnable)
	}
}

// arrivals prints when jobs are submitted.
func (p *printer) arrivals(a *Arrivals) {
	if a.Span == 0 {
		return
	}
	most := float64(slices.Max(a.Timeline))
	var spark strings.Builder
	for _, n := range a.Timeline {
		spark.WriteString(level(float64(n), most))
	}
	p.line("")
	p.line("jobs over time, %s each, at most %s", shortSeconds((a.Span / timelineParts).Seconds()), thousands(int(most)))
	p.line("  %s", spark.String())
	if a.Zone != "" {
		p.line("  %-*s%s", timelineParts-len(time.DateOnly), a.First[:len(time.DateOnly)], a.Last[:len(time.DateOnly)])
		p.byWeekday(a)
	}
	p.byHour(a)
}

// byWeekday prints the rates by day of the week, from Monday.
func (p *printer) byWeekday(a *Arrivals) {
	most := slices.Max(a.WeekdayRate[:])
	var spark strings.Builder
	for day := range 7 {
		weekday := time.Weekday((day + 1) % 7)
		fmt.Fprintf(&spark, "  %.3s %s %s", weekday, level(a.WeekdayRate[weekday], most), short(a.WeekdayRate[weekday]))
	}
	p.line("")
	p.line("jobs per day by day of the week")
	p.line("%s", spark.String())
}

// byHour prints the rates by hour of the day, noon beside midnight.
func (p *printer) byHour(a *Arrivals) {
	most := slices.Max(a.HourRate[:])
	p.line("")
	p.line("jobs per hour by hour of the day%s", map[bool]string{true: ", " + a.Zone, false: " since the start"}[a.Zone != ""])
	for h := range 12 {
		p.line("  %02d %8s %-30s  %02d %8s %s", h, short(a.HourRate[h]), bar(a.HourRate[h], most, 30), h+12, short(a.HourRate[h+12]), bar(a.HourRate[h+12], most, 30))
	}
}

// barOf is one line of a histogram.
type barOf struct {
	name  string
	jobs  int
	hours float64
}

// mostBars is how many sizes get a line each; more are put into powers of two.
const mostBars = 16

func sizeBars(sizes []Size) []barOf {
	var bars []barOf
	low, high := int32(0), int32(0) // of the last bar
	for _, s := range sizes {
		switch {
		case len(sizes) > mostBars && s.GPUs <= high:
			last := &bars[len(bars)-1]
			last.jobs, last.hours = last.jobs+s.Jobs, last.hours+s.GPUHours
			last.name = thousands(int(low)) + "–" + thousands(int(high))
			continue
		case len(sizes) > mostBars:
			high = 1
			for high < s.GPUs {
				high *= 2
			}
			low = high/2 + 1
		}
		bars = append(bars, barOf{thousands(int(s.GPUs)), s.Jobs, s.GPUHours})
	}
	return bars
}

func durationBars(bins []Bin) []barOf {
	var bars []barOf
	for _, b := range bins {
		switch {
		case b.Jobs == 0:
		case b.From == 0:
			bars = append(bars, barOf{"under " + shortSeconds(b.To.Seconds()), b.Jobs, b.GPUHours})
		case b.To > MaxTime:
			bars = append(bars, barOf{"from " + shortSeconds(b.From.Seconds()), b.Jobs, b.GPUHours})
		default:
			bars = append(bars, barOf{shortSeconds(b.From.Seconds()) + "–" + shortSeconds(b.To.Seconds()), b.Jobs, b.GPUHours})
		}
	}
	return bars
}

// histogram prints jobs and GPU-hours side by side.
func (p *printer) histogram(title string, bars []barOf) {
	if len(bars) == 0 {
		return
	}
	most := 0
	for _, b := range bars {
		most = max(most, b.jobs)
	}
	p.line("")
	p.line("%-10s %12s %-31s %15s", title, "jobs", "", "GPU-hours")
	for _, b := range bars {
		p.line("  %8s %12s %5.1f%% %-24s %14s %5.1f%% %s", b.name, thousands(b.jobs), 100*float64(b.jobs)/p.jobs, bar(float64(b.jobs), float64(most), 24),
			short(b.hours), part(b.hours, p.hours), bar(b.hours, p.hours, 24))
	}
}

// groups prints those with the most jobs, the rest together.
func (p *printer) groups(title string, all []Group) {
	const shown = 12
	if len(all) == 0 {
		return
	}
	p.line("")
	p.line("%-24s %21s %25s %12s %10s", title, "jobs", "GPU-hours", "median", "mean GPUs")
	row := func(name string, jobs int, hours float64, median, gpus string) {
		p.line("  %-22s %13s %6.1f%% %17s %6.1f%% %12s %10s", name, thousands(jobs), part(float64(jobs), p.jobs), short(hours), part(hours, p.hours), median, gpus)
	}
	rest, without := Group{}, int(p.jobs)
	for i, g := range all {
		without -= g.Jobs
		if i >= shown {
			rest.Jobs, rest.GPUHours = rest.Jobs+g.Jobs, rest.GPUHours+g.GPUHours
			continue
		}
		median := "unknown"
		if g.MedianS > 0 {
			median = shortSeconds(g.MedianS)
		}
		row(label(g.Name, 22), g.Jobs, g.GPUHours, median, short(g.MeanGPUs))
	}
	if rest.Jobs > 0 {
		row(fmt.Sprintf("%d more", len(all)-shown), rest.Jobs, rest.GPUHours, "", "")
	}
	if without > 0 {
		p.line("  %-22s %13s %6.1f%%", "none", thousands(without), part(float64(without), p.jobs))
	}
}
