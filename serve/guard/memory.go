package guard

import (
	"container/list"
	"slices"
	"strings"
	"sync"
)

// DefaultMaxClusters bounds a Memory unless told otherwise.
const DefaultMaxClusters = 1024

// Memory is what guards keep of each cluster from one decision to the next: the
// scores and failures of late, what the linear program thinks of the policy,
// whose turn it is to be helped. It is bounded: of too many clusters the one
// unused longest is forgotten, which costs it no more than a fresh start. It is
// safe for concurrent use.
//
// Requests are remembered apart from published states: anyone may ask about a
// cluster, and must not move what is decided for it, nor have it forgotten.
type Memory struct {
	mu        sync.Mutex
	max       int // of each of the two
	published tracks
	requested tracks
}

// tracks are those of clusters, by id.
type tracks struct {
	byCluster map[string]*list.Element
	recent    *list.List // of *track, used last first
}

func newTracks() tracks { return tracks{make(map[string]*list.Element), list.New()} }

type trackKey struct {
	cluster   string
	requested bool
}

// NewMemory returns an empty memory of at most maxClusters clusters, and of as
// many that were only asked about; 0 is DefaultMaxClusters.
func NewMemory(maxClusters int) *Memory {
	if maxClusters <= 0 {
		maxClusters = DefaultMaxClusters
	}
	return &Memory{max: maxClusters, published: newTracks(), requested: newTracks()}
}

// track returns what is known of a cluster, making it if needed.
func (m *Memory) track(cluster string, requested bool) *track {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := &m.published
	if requested {
		known = &m.requested
	}
	if e, ok := known.byCluster[cluster]; ok {
		known.recent.MoveToFront(e)
		return e.Value.(*track)
	}
	if len(known.byCluster) >= m.max {
		oldest := known.recent.Back()
		delete(known.byCluster, oldest.Value.(*track).key.cluster)
		known.recent.Remove(oldest)
	}
	// The caller's string may be part of a whole message.
	t := newTrack(trackKey{strings.Clone(cluster), requested})
	known.byCluster[t.key.cluster] = known.recent.PushFront(t)
	return t
}

// Status is what a Memory knows of one cluster.
type Status struct {
	Cluster     string  `json:"cluster"`
	Novelty     float64 `json:"ood_score"`    // of the last decision: above 1 is unlike training, negative unknown
	Unfamiliar  bool    `json:"ood"`          // the linear program decides for that
	Regret      float64 `json:"regret_ratio"` // mean of the last comparisons
	Compared    int     `json:"compared"`     // of how many
	OverBudget  bool    `json:"over_budget"`  // the linear program decides for that
	BreakerOpen bool    `json:"breaker_open"` // the policy is not asked
	Helped      int     `json:"helped"`       // jobs that are kept running because they starved
}

// Status returns what is known of the clusters that published states, ascending
// by cluster.
func (m *Memory) Status() []Status {
	m.mu.Lock()
	tracks := make([]*track, 0, len(m.published.byCluster))
	for e := m.published.recent.Front(); e != nil; e = e.Next() {
		tracks = append(tracks, e.Value.(*track))
	}
	m.mu.Unlock()
	all := make([]Status, len(tracks))
	for i, t := range tracks {
		all[i] = t.status()
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Cluster, b.Cluster) })
	return all
}
