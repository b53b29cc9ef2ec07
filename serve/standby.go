package serve

import (
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// What a cluster's state goes through where several services may publish for it:
// it waits while another service does (park), and is worked for when this one may
// (unpark). What this service knew of earlier decisions then counts no more than
// what the stream holds.

// park ends the work for a cluster but keeps the state that waits.
func (c *cluster) park() {
	c.mu.Lock()
	c.busy, c.working = false, wire.Key{}
	c.mu.Unlock()
}

// unpark reports whether there is work for a cluster that nobody does, and claims
// it.
func (c *cluster) unpark() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy || c.waiting == nil {
		return false
	}
	c.busy = true
	return true
}

// claim claims the work for a cluster, whether there is some or not.
func (c *cluster) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	claimed := !c.busy
	c.busy = true
	return claimed
}

// lose forgets that the stream was asked: another service may have decided since.
func (c *cluster) lose() {
	c.mu.Lock()
	c.resumed = false
	c.mu.Unlock()
}

// resuming reports whether the stream has to be asked for earlier decisions, and
// claims that.
func (c *cluster) resuming() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resumed {
		return false
	}
	c.resumed = true
	return true
}

// older reports whether what this service remembers is older than a decision in
// the stream, or the same.
func (c *cluster) older(k wire.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.last == nil:
		return true
	case c.last.key.Epoch == k.Epoch:
		return k.Seq >= c.last.key.Seq
	}
	return !slices.Contains(c.retired, k.Epoch)
}

// unsent returns the last decision if this process made it within age and the
// stream is not known to hold it.
func (c *cluster) unsent(age time.Duration) *published {
	p := c.recent(age)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p == nil || p.stored {
		return nil
	}
	return p
}

// stored notes that the stream holds a decision.
func (c *cluster) stored(p *published) {
	c.mu.Lock()
	p.stored = true
	c.mu.Unlock()
}
