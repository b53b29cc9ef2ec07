package serve

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Decided is a summary of one allocation, for people who look.
type Decided struct {
	Cluster string    `json:"cluster"`
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Source  string    `json:"source"`
	Reason  string    `json:"reason"` // why not the learned policy, "" where it was
	Model   string    `json:"model"`
	Jobs    int       `json:"jobs"`    // in the state
	Running int       `json:"running"` // of them, as decided
	Took    float64   `json:"took_us"` // from the state's arrival
}

// Bounds of what is kept for people who look.
const (
	maxRecent       = 50   // decisions
	maxRecentByName = 1024 // clusters
)

// recent keeps the last decisions, of all clusters and of each. It is safe for
// concurrent use; the zero value is empty.
type recent struct {
	mu        sync.Mutex
	ring      [maxRecent]Decided
	n         int // decisions so far
	byCluster map[string]Decided
}

// add keeps a decision on a state that came in at received.
func (r *recent) add(d *guard.Decision, s *wire.State, received time.Time) {
	now := time.Now()
	m := d.Message
	x := Decided{
		Cluster: m.Cluster, ID: m.ID, At: now, Source: string(m.Source), Reason: string(m.Reason), Model: m.Model,
		Jobs: len(s.State.Jobs), Running: len(m.Picks), Took: float64(now.Sub(received)) / float64(time.Microsecond),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring[r.n%maxRecent] = x
	r.n++
	if r.byCluster == nil {
		r.byCluster = make(map[string]Decided)
	}
	if _, known := r.byCluster[x.Cluster]; !known && len(r.byCluster) >= maxRecentByName {
		r.forget()
	}
	r.byCluster[strings.Clone(x.Cluster)] = x
}

// forget drops the cluster that was decided for longest ago.
func (r *recent) forget() {
	oldest := ""
	for id, d := range r.byCluster {
		if oldest == "" || d.At.Before(r.byCluster[oldest].At) {
			oldest = id
		}
	}
	delete(r.byCluster, oldest)
}

// last returns the last decisions, newest first.
func (r *recent) last() []Decided {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Decided, 0, maxRecent)
	for i := range min(r.n, maxRecent) {
		list = append(list, r.ring[(r.n-1-i)%maxRecent])
	}
	return list
}

// clusters returns each cluster's last decision, ascending by cluster.
func (r *recent) clusters() []Decided {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Decided, 0, len(r.byCluster))
	for _, d := range r.byCluster {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Decided) int { return strings.Compare(a.Cluster, b.Cluster) })
	return list
}
