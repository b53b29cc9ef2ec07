package metrics

import (
	"maps"
	"slices"
)

// Group holds figures of the jobs that have something in common. Times are in seconds.
type Group struct {
	Name      string  `json:"name"`
	Jobs      int     `json:"jobs"` // that left
	MeanJCT   float64 `json:"mean_jct_s"`
	MedianJCT float64 `json:"median_jct_s"`
	P99JCT    float64 `json:"p99_jct_s"`
	MeanDelay float64 `json:"mean_delay_s"` // mean of JCT − Ideal
	GPUHours  float64 `json:"gpu_hours"`    // held, restarts included
}

// Groups splits the jobs of s by a name that of gives to their IDs. The groups are
// ordered by name; their Jobs sum to those of s.
func (s *Schedule) Groups(of func(id int64) string) []Group {
	members := make(map[string][]*Job)
	for i := range s.Jobs {
		name := of(s.Jobs[i].ID)
		members[name] = append(members[name], &s.Jobs[i])
	}
	var groups []Group
	for _, name := range slices.Sorted(maps.Keys(members)) {
		groups = append(groups, summarizeGroup(name, members[name]))
	}
	return groups
}

func summarizeGroup(name string, jobs []*Job) Group {
	g := Group{Name: name, Jobs: len(jobs)}
	jct := make([]float64, len(jobs))
	for i, j := range jobs {
		jct[i] = j.JCT().Seconds()
		g.MeanJCT += jct[i] / float64(len(jobs))
		g.MeanDelay += (j.JCT() - j.Ideal).Seconds() / float64(len(jobs))
		g.GPUHours += j.Service / 3600
	}
	slices.Sort(jct)
	g.MedianJCT, g.P99JCT = Quantile(jct, 0.5), Quantile(jct, 0.99)
	return g
}
