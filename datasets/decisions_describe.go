package datasets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// DecisionSummary describes a table of decisions.
type DecisionSummary struct {
	Name     string         `json:"name"`
	Source   string         `json:"source"`
	Rows     int            `json:"rows"`
	First    time.Time      `json:"first"`
	Last     time.Time      `json:"last"`
	Clusters int            `json:"clusters"`
	Jobs     [3]int32       `json:"jobs"` // least, median, most of a state
	ByMode   map[string]int `json:"by_mode"`
	BySource map[string]int `json:"by_source"`
	ByReason map[string]int `json:"by_reason"`
	ByModel  map[string]int `json:"by_model"`
	Failures map[string]int `json:"failures"` // of the learned policy
	// Compared counts the rows with an answer of the learned policy, Agreed those
	// of them in which it is what was published.
	Compared int `json:"compared"`
	Agreed   int `json:"agreed"`
	// Regret is of the rows with both answers: mean, median, 99th percentile, most.
	Regret  [4]float64       `json:"regret"`
	Latency [3]time.Duration `json:"latency_ns"` // of the learned policy: median, 99th percentile, most
	Hash    string           `json:"hash"`
}

// Describe summarises t.
func (t *DecisionTable) Describe() DecisionSummary {
	s := DecisionSummary{
		Name: t.Name, Source: t.Meta.Source, Rows: len(t.Rows), Hash: t.Hash(),
		ByMode: map[string]int{}, BySource: map[string]int{}, ByReason: map[string]int{}, ByModel: map[string]int{}, Failures: map[string]int{},
	}
	clusters := make(map[string]bool)
	var jobs []int32
	var regrets []float64
	var latencies []time.Duration
	for i := range t.Rows {
		r := &t.Rows[i]
		clusters[r.Cluster] = true
		jobs = append(jobs, r.Jobs)
		s.ByMode[r.Mode]++
		s.BySource[r.Source]++
		count(s.ByReason, r.Reason)
		count(s.ByModel, r.Model)
		count(s.Failures, r.Failure)
		if r.Latency > 0 {
			latencies = append(latencies, r.Latency)
		}
		if r.Learned == "" {
			continue
		}
		s.Compared++
		if r.Learned == r.Published {
			s.Agreed++
		}
		if r.Program != "" {
			regrets = append(regrets, r.Regret)
		}
	}
	s.Clusters = len(clusters)
	if len(t.Rows) > 0 {
		s.First, s.Last = t.clock(0), t.clock(len(t.Rows)-1)
		slices.Sort(jobs)
		s.Jobs = [3]int32{jobs[0], jobs[len(jobs)/2], jobs[len(jobs)-1]}
	}
	if n := len(regrets); n > 0 {
		sum := 0.0
		for _, x := range regrets {
			sum += x
		}
		slices.Sort(regrets)
		s.Regret = [4]float64{sum / float64(n), regrets[n/2], regrets[(n-1)*99/100], regrets[n-1]}
	}
	if n := len(latencies); n > 0 {
		slices.Sort(latencies)
		s.Latency = [3]time.Duration{latencies[n/2], latencies[(n-1)*99/100], latencies[n-1]}
	}
	return s
}

// clock returns when the decision in a row was made.
func (t *DecisionTable) clock(row int) time.Time {
	epoch := t.Meta.Epoch
	if epoch.IsZero() {
		epoch = time.Unix(0, 0).UTC()
	}
	return epoch.Add(t.Rows[row].Decided)
}

func count(counts map[string]int, key string) {
	if key != "" {
		counts[key]++
	}
}

// String returns the summary as a table.
func (s DecisionSummary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d decisions of %d clusters, %s to %s\n", s.Name, s.Rows, s.Clusters, s.First.Format(time.DateTime), s.Last.Format(time.DateTime))
	if s.Source != "" {
		fmt.Fprintf(&b, "from %s\n", s.Source)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "jobs of a state\t%d to %d, median %d\n", s.Jobs[0], s.Jobs[2], s.Jobs[1])
	for _, of := range []struct {
		what   string
		counts map[string]int
	}{{"by mode", s.ByMode}, {"by source", s.BySource}, {"not the policy's", s.ByReason}, {"learned policies", s.ByModel}, {"failures", s.Failures}} {
		if len(of.counts) > 0 {
			fmt.Fprintf(w, "%s\t%s\n", of.what, listCounts(of.counts))
		}
	}
	if s.Compared > 0 {
		fmt.Fprintf(w, "learned answers\t%d, in %d of them what was published\n", s.Compared, s.Agreed)
		fmt.Fprintf(w, "regret\tmean %.4f, median %.4f, p99 %.4f, most %.4f\n", s.Regret[0], s.Regret[1], s.Regret[2], s.Regret[3])
	}
	if s.Latency[2] > 0 {
		fmt.Fprintf(w, "learned decision\tmedian %v, p99 %v, most %v\n", s.Latency[0].Round(time.Microsecond), s.Latency[1].Round(time.Microsecond), s.Latency[2].Round(time.Microsecond))
	}
	_ = w.Flush() // a strings.Builder takes all
	fmt.Fprintf(&b, "hash %s\n", s.Hash)
	return b.String()
}

// listCounts names counts, by name.
func listCounts(counts map[string]int) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", key, counts[key]))
	}
	return strings.Join(parts, ", ")
}
