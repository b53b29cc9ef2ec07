package serve

import (
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/stage"
)

// Overview is a service at one moment, for people who look at it.
type Overview struct {
	At        time.Time       `json:"at"`
	Ready     bool            `json:"ready"`
	Checks    []CheckView     `json:"checks"`
	Connected bool            `json:"connected"`
	Stats     Stats           `json:"stats"`
	Clusters  []ClusterView   `json:"clusters"` // ascending by id
	Recent    []Decided       `json:"recent"`   // newest first
	Latency   []LatencyBucket `json:"latency"`  // of decisions, from the first to the last that is not empty
}

// CheckView is a condition of being ready.
type CheckView struct {
	Name    string `json:"name"`
	Problem string `json:"problem"` // "" where it holds
}

// LatencyBucket is how many decisions took at most so long and longer than the
// bucket before.
type LatencyBucket struct {
	UpTo  float64 `json:"up_to_us"` // 0 has no bound
	Count uint64  `json:"count"`
}

// ClusterView is one cluster at one moment.
type ClusterView struct {
	ID     string   `json:"id"`
	Age    float64  `json:"age_s"` // since its last state; negative where it only asks
	Silent bool     `json:"silent"`
	Leader string   `json:"leader"` // who publishes for it, "" where only one service may
	Mode   string   `json:"mode"`
	Last   *Decided `json:"last"` // nil where nothing was decided yet

	Guard *guard.Status `json:"guard"` // nil where the guard knows nothing of it
}

// Overview returns what there is to see.
func (s *Server) Overview() Overview {
	o := Overview{At: time.Now(), Ready: true, Stats: s.Stats(), Recent: s.handler.recent.last()}
	o.Connected, _ = s.Connection()
	for _, c := range s.Checks() {
		view := CheckView{Name: c.Name}
		if c.Err != nil {
			o.Ready, view.Problem = false, c.Err.Error()
		}
		o.Checks = append(o.Checks, view)
	}
	o.Clusters = s.clusterViews(&o)
	o.Latency = buckets(s.Latency(stage.Decide))
	return o
}

// clusterViews joins what the parts of the service know of each cluster.
func (s *Server) clusterViews(o *Overview) []ClusterView {
	views := make(map[string]*ClusterView)
	at := func(id string) *ClusterView {
		if views[id] == nil {
			views[id] = &ClusterView{ID: id, Age: -1}
		}
		return views[id]
	}
	if !s.whole.Load() {
		return nil
	}
	for id, seen := range s.LastStates() {
		at(id).Age = max(o.At.Sub(seen), 0).Seconds()
	}
	for _, d := range s.handler.recent.clusters() {
		at(d.Cluster).Last = &d
	}
	for _, g := range s.handler.guard.status() {
		at(g.Cluster).Guard = &g
	}
	list := make([]ClusterView, 0, len(views))
	for _, v := range views {
		v.Silent = slices.Contains(o.Stats.StaleClusters, v.ID)
		v.Leader = o.Stats.Leaders[v.ID]
		v.Mode = s.handler.guard.modeOf(v.ID)
		list = append(list, *v)
	}
	slices.SortFunc(list, func(a, b ClusterView) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// status returns what the guards know of each cluster.
func (r *roster) status() []guard.Status { return r.guards.Load().Memory.Status() }

// modeOf returns who decides for a cluster, in words.
func (r *roster) modeOf(cluster string) string { return r.modes.Get().Of(cluster).String() }

// buckets turns cumulative counts into those of each bucket, without the empty
// ones at the ends.
func buckets(l stage.Latency) []LatencyBucket {
	list := make([]LatencyBucket, 0, len(l.Buckets)+1)
	seen := uint64(0)
	for _, b := range l.Buckets {
		list = append(list, LatencyBucket{float64(b.Below) / float64(time.Microsecond), b.Count - seen})
		seen = b.Count
	}
	list = append(list, LatencyBucket{0, l.Count - seen})
	for len(list) > 0 && list[0].Count == 0 {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].Count == 0 {
		list = list[:len(list)-1]
	}
	return list
}
