package serve

import (
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// cluster is what the service remembers of one cluster: one state that waits,
// one in work, and the last decision.
type cluster struct {
	id string

	mu      sync.Mutex
	waiting *arrival      // the newest state that waits for its turn
	working wire.Key      // the state in work
	busy    bool          // a goroutine works for this cluster
	retired []uint64      // epochs that another one followed, newest last
	last    *published    // the decision for the newest decided state
	seen    time.Time     // when the last state came in
	resumed bool          // the stream was asked for earlier decisions
	window  *configWindow // of the current epoch, nil before its first configuration
	rate    bucket        // of its states
	told    spacing       // what observers were told lately
	between int64         // states that came in since the last decision and were not decided
	round   time.Duration // length of its rounds, as its last state said
	silent  bool          // for too long: stale

	// Where several services may publish for it. The mutex is held while a
	// decision is sent, because one must be stored before the next is sent.
	sending sync.Mutex
	fence   map[string]uint64 // by subject, the stream's sequence of the last decision; absent is unknown
	term    uint64            // of this service's lease; 0 is unknown
}

// arrival is a published state before it is decoded.
type arrival struct {
	key      wire.Key
	parcel   parcel
	header   nats.Header // of the message, which may name a span
	reply    string      // where a refusal goes, "" nowhere
	received time.Time
}

// configWindow is the stretch of the cluster's clock that a configuration is
// for.
type configWindow struct {
	epoch uint64
	next  time.Duration // State.Now from which a new configuration is due
}

// maxRetired bounds the epochs remembered: late states of older ones would be
// taken for a new epoch.
const maxRetired = 8

// verdict is what becomes of an arriving state.
type verdict int

const (
	accepted   verdict = iota // waits for its turn; a goroutine works already
	start                     // waits for its turn; the caller starts a goroutine
	superseded                // accepted, and a waiting state was dropped for it
	stale                     // older than one seen
	duplicate                 // waits or is in work: its decision will come
	decided                   // its decision is known: publish it again
	limited                   // one too many for its cluster's rate
)

// offer takes an arriving state. Newest wins: within an epoch by sequence
// number, between epochs by arrival. It returns the known decision with
// verdict decided.
func (c *cluster) offer(a *arrival, rate float64) (verdict, *published) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.silent = a.received, false
	if !c.rate.take(a.received, rate) {
		return limited, nil
	}
	if v, p := c.compare(a.key); v != accepted {
		return v, p
	}
	if c.waiting != nil {
		switch w := c.waiting.key; {
		case w == a.key:
			return duplicate, nil
		case w.Epoch == a.key.Epoch && a.key.Seq < w.Seq:
			c.between++
			return stale, nil
		}
		c.between++
		c.waiting = a
		return superseded, nil
	}
	c.waiting = a
	if c.busy {
		return accepted, nil
	}
	c.busy = true
	return start, nil
}

// compare places a state against what was decided and what is in work.
func (c *cluster) compare(k wire.Key) (verdict, *published) {
	switch {
	case slices.Contains(c.retired, k.Epoch):
		return stale, nil
	case k == c.working:
		return duplicate, nil
	case k.Epoch == c.working.Epoch && k.Seq < c.working.Seq:
		return stale, nil
	case c.last == nil || k.Epoch != c.last.key.Epoch:
		return accepted, nil
	case k == c.last.key:
		return decided, c.last
	case k.Seq < c.last.key.Seq:
		return stale, nil
	}
	return accepted, nil
}

// take returns the state whose turn it is, or nil when the goroutine is done.
func (c *cluster) take() *arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.waiting
	c.waiting, c.working = nil, wire.Key{}
	if a == nil {
		c.busy = false
		return nil
	}
	c.working = a.key
	return a
}

// refuse forgets the state in work: one that is refused advances no sequence.
func (c *cluster) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = wire.Key{}
}

// settle records the decision for the state in work.
func (c *cluster) settle(p *published) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && c.last.key.Epoch != p.key.Epoch {
		c.retired = append(c.retired, c.last.key.Epoch)
		c.retired = c.retired[max(0, len(c.retired)-maxRetired):]
	}
	c.last = p
}

// follow notes a state that was read, and returns how many before it never came
// in.
func (c *cluster) follow(s *wire.State) (gap int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil {
		gap = lost(c.last.key, s.Key(), c.between)
	}
	c.between, c.round = 0, s.State.RoundLen
	return gap
}

// tellable reports whether observers may be told of this kind of thing again.
func (c *cluster) tellable(kind string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told.pass(kind, time.Now())
}

// recheck places the state in work again, after resume found an older decision.
func (c *cluster) recheck(k wire.Key) (verdict, *published) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working = wire.Key{}
	defer func() { c.working = k }()
	return c.compare(k)
}

// due reports whether a configuration is due for s, and claims its window: a
// configurer that fails is asked again in the next window, the cluster keeps
// the configuration it has. Only the cluster's goroutine calls it.
func (c *cluster) due(s *wire.State, length time.Duration) bool {
	if c.window != nil && c.window.epoch == s.Epoch && s.State.Now < c.window.next {
		return false
	}
	c.window = &configWindow{epoch: s.Epoch, next: s.State.Now + length}
	return true
}

// recent returns the last decision if this process made it within age.
func (c *cluster) recent(age time.Duration) *published {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || time.Since(c.last.at) > age {
		return nil
	}
	return c.last
}
