package soak

import (
	"sync"
	"time"
)

// everyone is the group of a fault that all clusters feel.
const everyone = -1

// outages remembers when nobody could be expected to answer.
type outages struct {
	recovery time.Duration

	mu   sync.Mutex
	list []*outage
}

type outage struct {
	group    int // of clusters, or everyone
	from, to time.Time
}

// begin opens an outage; the returned function ends it.
func (o *outages) begin(group int) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one := &outage{group: group, from: time.Now(), to: time.Now().Add(time.Hour)}
	o.list = append(o.list, one)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		one.to = time.Now().Add(o.recovery)
	}
}

// excuses reports whether a fault lasted at some moment from then on.
func (o *outages) excuses(group int, then time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, one := range o.list {
		if (one.group == everyone || one.group == group) && one.from.Before(now) && one.to.After(then) {
			return true
		}
	}
	return false
}
