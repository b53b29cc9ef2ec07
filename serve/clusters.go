package serve

import (
	"slices"
	"sync"
	"time"
)

// clusters is the table of known clusters, bounded: a flood of invented ids
// costs the memory of the longest idle ones, not the service.
type clusters struct {
	max      int
	mu       sync.Mutex
	byID     map[string]*cluster
	onForget func(id string) // called under the mutex; may be nil
}

// get returns the cluster with this id, making it if needed. It returns nil if
// the table is full of clusters that are being worked for.
func (t *clusters) get(id string) *cluster {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.byID[id]; ok {
		return c
	}
	if len(t.byID) >= t.max && !t.evict() {
		return nil
	}
	c := &cluster{id: id, seen: time.Now()}
	t.byID[id] = c
	return c
}

// evict forgets the cluster that was idle longest.
func (t *clusters) evict() bool {
	var oldest *cluster
	var since time.Time
	for _, c := range t.byID {
		c.mu.Lock()
		idle, seen := !c.busy, c.seen
		c.mu.Unlock()
		if idle && (oldest == nil || seen.Before(since)) {
			oldest, since = c, seen
		}
	}
	if oldest == nil {
		return false
	}
	delete(t.byID, oldest.id)
	if t.onForget != nil {
		t.onForget(oldest.id)
	}
	return true
}

// known returns the cluster with this id, or nil.
func (t *clusters) known(id string) *cluster {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// sweep marks the clusters that are silent for too long and returns those that
// were not marked before. configured is Config.StaleAfter.
func (t *clusters) sweep(now time.Time, configured time.Duration) (found []*cluster) {
	for _, c := range t.all() {
		c.mu.Lock()
		if !c.silent && now.Sub(c.seen) > staleAfter(configured, c.round) {
			c.silent = true
			found = append(found, c)
		}
		c.mu.Unlock()
	}
	return found
}

// stale returns the ids of the clusters marked as silent, ascending.
func (t *clusters) stale() []string {
	ids := []string{}
	for _, c := range t.all() {
		c.mu.Lock()
		if c.silent {
			ids = append(ids, c.id)
		}
		c.mu.Unlock()
	}
	slices.Sort(ids)
	return ids
}

func (t *clusters) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byID)
}

// all returns the known clusters, in no order.
func (t *clusters) all() []*cluster {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*cluster, 0, len(t.byID))
	for _, c := range t.byID {
		list = append(list, c)
	}
	return list
}

// seen returns when each known cluster sent its last state.
func (t *clusters) seen() map[string]time.Time {
	seen := make(map[string]time.Time)
	for _, c := range t.all() {
		c.mu.Lock()
		seen[c.id] = c.seen
		c.mu.Unlock()
	}
	return seen
}
