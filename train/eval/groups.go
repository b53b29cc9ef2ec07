package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/yardmaster/yardmaster/env/metrics"
	"github.com/yardmaster/yardmaster/env/rng"
)

// groupsOf splits the jobs of the episodes by name, in ascending order.
func groupsOf(policy string, episodes []Episode, of func(id int64) string) []Group {
	perSeed := make(map[string][]metrics.Group)
	for i := range episodes {
		for _, g := range episodes[i].Schedule.Groups(of) {
			perSeed[g.Name] = append(perSeed[g.Name], g)
		}
	}
	var all []Group
	for _, name := range slices.Sorted(maps.Keys(perSeed)) {
		seeds := perSeed[name]
		g := Group{Name: name, Seeds: len(seeds)}
		over := func(figure string, value func(*metrics.Group) float64) Interval {
			values := make([]float64, len(seeds))
			for i := range seeds {
				values[i] = value(&seeds[i])
			}
			return Bootstrap(values, rng.New(0, "eval/"+policy+"/"+figure+" of "+name))
		}
		for i := range seeds {
			g.Jobs += seeds[i].Jobs
			g.GPUHours += seeds[i].GPUHours
		}
		g.MeanJCT = over("mean JCT", func(g *metrics.Group) float64 { return g.MeanJCT })
		g.P99JCT = over("p99 JCT", func(g *metrics.Group) float64 { return g.P99JCT })
		g.Delay = over("delay", func(g *metrics.Group) float64 { return g.MeanDelay })
		all = append(all, g)
	}
	return all
}

// RenderGroups writes the groups of t as a table for people, with their 95 % bootstrap
// intervals; nothing where jobs were not split. Times are in hours.
func (t *Table) RenderGroups(w io.Writer) error {
	if t.By == "" {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\npolicy\t%s\tjobs\tGPU-hours\tmean JCT h\t\tp99 h\t\tmean delay h\t\t\n", t.By)
	for i := range t.Rows {
		for _, g := range t.Rows[i].Groups {
			fmt.Fprintf(tw, "%s\t%s\t%d\t%.1f", t.Rows[i].Policy, cmp.Or(g.Name, "unknown"), g.Jobs, g.GPUHours)
			for _, x := range []Interval{hours(g.MeanJCT), hours(g.P99JCT), hours(g.Delay)} {
				fmt.Fprintf(tw, "\t%.2f\t%.2f–%.2f", x.Mean, x.Low, x.High)
			}
			fmt.Fprint(tw, "\t\n")
		}
	}
	return tw.Flush()
}
