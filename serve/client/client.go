package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/wire"
)

var (
	// ErrTooLarge is wrapped by the error of PublishState for a state beyond the
	// limits of package wire.
	ErrTooLarge = errors.New("client: state too large")
	// ErrNotStored is wrapped by the error of AckStored for a decision that the stream
	// does not hold as the newest of its cluster.
	ErrNotStored = errors.New("client: the decision is not in the stream")
	// ErrClosed is returned by calls on a closed client.
	ErrClosed = errors.New("client: closed")
)

// Decision is an allocation that was checked against the state it answers.
type Decision struct {
	Message    *wire.Allocation
	Allocation env.Allocation // of the published state; the caller owns it
}

// Stats counts what a client met.
type Stats struct {
	Published  int64 // states, those sent again included
	Resent     int64 // states sent again because no decision came
	Received   int64 // decisions of kind allocation for states of this epoch
	Duplicates int64 // decisions not newer than what was delivered: dropped
	Foreign    int64 // decisions of other epochs: dropped
	Malformed  int64 // messages that could not be read: dropped
	Recovered  int64 // decisions read back from the stream
	Reconnects int64
	Chunks     int64 // parts of states too large for one message that were sent
	SentBytes  int64 // of states as they went over the wire
}

// Client follows the decisions for one cluster. One goroutine publishes and
// waits; the other methods are safe for concurrent use.
type Client struct {
	cfg      Config
	subjects wire.Subjects
	nc       *nats.Conn
	wake     chan struct{} // something changed for Wait; capacity 1
	closing  chan struct{}
	once     sync.Once
	asked    atomic.Uint64 // requests so far

	// Of the publishing goroutine.
	state *env.State // last published, borrowed until the next PublishState
	body  *body      // its message; nil where there is none

	mu            sync.Mutex
	seq           uint64              // of the last published state
	delivered     uint64              // seq of the newest decision handed out
	pending       *wire.Allocation    // newest decision not yet handed out
	configuration *wire.Configuration // newest
	refusal       *wire.Error         // of the last published state
	denied        error               // NATS does not let this client publish states
	hurry         bool                // look into the stream now
	stats         Stats
}

// Connect connects to the broker and subscribes to the cluster's decisions.
func Connect(ctx context.Context, cfg Config) (*Client, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	subjects, err := wire.NewSubjects(cfg.Prefix)
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, subjects: subjects, wake: make(chan struct{}, 1), closing: make(chan struct{})}
	c.nc, err = bus.Connect(ctx, bus.Config{
		URL: cfg.URL, Name: "yardmaster/cluster/" + cfg.Cluster, Inbox: "_INBOX_" + cfg.Cluster,
		Timeout: cfg.ConnectTimeout, Options: cfg.Options, OnUp: c.reconnected,
		OnDown: func(err error) { cfg.Logger.Warn("disconnected from NATS", "error", err) },
		OnFail: c.failed,
	})
	if err != nil {
		return nil, err
	}
	if err := c.subscribe(ctx); err != nil {
		c.nc.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) subscribe(ctx context.Context) error {
	// One subscription for both kinds keeps their order: the configuration for
	// a state is there before its allocation.
	if _, err := c.nc.Subscribe(c.subjects.Decisions(c.cfg.Cluster), c.receive); err != nil {
		return fmt.Errorf("client: subscribe to decisions: %w", err)
	}
	if _, err := c.nc.Subscribe(c.replies(), c.refused); err != nil {
		return fmt.Errorf("client: subscribe to replies: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	if err := bus.Flush(ctx, c.nc); err != nil {
		return fmt.Errorf("client: subscribe: %w", err)
	}
	return nil
}

// replies is where refusals of states come in.
func (c *Client) replies() string { return c.nc.Opts.InboxPrefix + ".state" }

// Epoch returns the epoch of this client's states.
func (c *Client) Epoch() uint64 { return c.cfg.Epoch }

// Stats returns what the client met so far.
func (c *Client) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Configuration returns the newest configuration decision of this epoch. The
// one for a state is there once Wait returned that state's decision.
func (c *Client) Configuration() (*wire.Configuration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.configuration, c.configuration != nil
}

// PublishState publishes s with the next sequence number, which it returns. s
// is borrowed until the next call: Wait checks the decision against it.
//
// A state that is too large for one message is compressed and, where that is not
// enough, sent in chunks.
//
// An error other than ErrTooLarge or an invalid state means that the broker is
// away; Wait publishes the state again once it is back.
func (c *Client) PublishState(s *env.State) (uint64, error) {
	c.mu.Lock()
	c.seq++
	seq := c.seq
	c.refusal, c.denied, c.hurry = nil, nil, false
	c.mu.Unlock()
	c.state, c.body = s, nil
	data, err := wire.Encode(&wire.State{Schema: wire.StateSchema, Cluster: c.cfg.Cluster, Epoch: c.cfg.Epoch, Seq: seq, State: *s})
	if err != nil {
		if refusal, ok := errors.AsType[*wire.Error](err); ok && refusal.Code == wire.CodeTooLarge {
			return seq, fmt.Errorf("%w: %d jobs: %w", ErrTooLarge, len(s.Jobs), err)
		}
		return seq, err
	}
	c.body = newBody(data)
	return seq, c.publish()
}

// publish sends the last state, again or for the first time.
func (c *Client) publish() error {
	m, err := c.post(c.subjects.State(c.cfg.Cluster), c.body, c.seq)
	if err != nil {
		return err
	}
	m.Reply = c.replies()
	if err := c.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("client: publish state: %w", err)
	}
	c.mu.Lock()
	c.stats.Published++
	c.mu.Unlock()
	return nil
}

// Close ends the connection. Waits in progress return ErrClosed.
func (c *Client) Close() {
	c.once.Do(func() {
		close(c.closing)
		if c.nc.IsConnected() {
			_ = c.nc.FlushTimeout(time.Second) // acks; a broker that is away gets none
		}
		c.nc.Close()
	})
}
