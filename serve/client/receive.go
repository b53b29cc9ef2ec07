package client

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// receive handles a message on the decision subjects.
func (c *Client) receive(m *nats.Msg) {
	data, err := wire.Decompress(m.Data, m.Header.Get(wire.HeaderEncoding), nil)
	switch {
	case err != nil:
		c.mu.Lock()
		c.stats.Malformed++
		c.mu.Unlock()
	case strings.HasSuffix(m.Subject, "."+wire.KindConfiguration):
		c.receiveConfiguration(data)
	default:
		c.receiveAllocation(data)
	}
}

func (c *Client) receiveAllocation(data []byte) {
	a, err := wire.DecodeAllocation(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || a.Cluster != c.cfg.Cluster:
		c.stats.Malformed++
	case a.Epoch != c.cfg.Epoch:
		c.stats.Foreign++
	case a.StateSeq <= c.delivered, c.pending != nil && a.StateSeq <= c.pending.StateSeq:
		c.stats.Duplicates++
	default:
		c.stats.Received++
		c.pending = a
		c.signal()
	}
}

func (c *Client) receiveConfiguration(data []byte) {
	m, err := wire.DecodeConfiguration(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil || m.Cluster != c.cfg.Cluster:
		c.stats.Malformed++
	case m.Epoch != c.cfg.Epoch:
		c.stats.Foreign++
	case c.configuration != nil && m.StateSeq <= c.configuration.StateSeq:
		c.stats.Duplicates++
	default:
		c.configuration = m
	}
}

// refused handles what comes instead of a decision: the service's refusal, or
// the broker's word that nobody listens.
func (c *Client) refused(m *nats.Msg) {
	if len(m.Data) == 0 { // status 503, no responders
		c.look()
		return
	}
	e, err := wire.DecodeError(m.Data)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.stats.Malformed++
	case e.Epoch != c.cfg.Epoch || e.StateSeq != c.seq:
		// about a state that was given up
	case e.Code == wire.CodeOverloaded || e.Code == wire.CodeIncomplete || e.Code >= 500:
		c.hurry = true // passes: try again
		c.signal()
	default:
		c.refusal = e
		c.signal()
	}
}

// failed handles an error that NATS reports by itself. If it is that states may not
// be published, trying again would not help.
func (c *Client) failed(err error) {
	c.cfg.Logger.Warn("NATS", "error", err)
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	for _, subject := range []string{c.subjects.State(c.cfg.Cluster), c.subjects.Chunk(c.cfg.Cluster)} {
		if strings.Contains(err.Error(), strconv.Quote(subject)) {
			c.mu.Lock()
			c.denied = err
			c.signal()
			c.mu.Unlock()
		}
	}
}

func (c *Client) reconnected() {
	c.mu.Lock()
	c.stats.Reconnects++
	c.mu.Unlock()
	c.look()
}

// look makes Wait look into the stream soon.
func (c *Client) look() {
	c.mu.Lock()
	c.hurry = true
	c.signal()
	c.mu.Unlock()
}

// signal wakes Wait.
func (c *Client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// recover reads the newest decisions back from the stream, as if they had just
// come in: the configuration first, as they were sent.
func (c *Client) recover(ctx context.Context) {
	for _, kind := range []string{wire.KindConfiguration, wire.KindAllocation} {
		subject := c.subjects.Decision(c.cfg.Cluster, kind)
		m, err := bus.Last(ctx, c.nc, c.cfg.Stream, subject)
		if err != nil {
			if !errors.Is(err, bus.ErrNoMessage) {
				c.cfg.Logger.Info("cannot read decisions back", "error", err)
			}
			continue
		}
		before := c.received()
		m.Subject = subject
		c.receive(m)
		if c.received() > before {
			c.mu.Lock()
			c.stats.Recovered++
			c.mu.Unlock()
		}
	}
}

func (c *Client) received() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats.Received
}
