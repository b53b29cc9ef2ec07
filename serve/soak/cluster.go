package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/replay"
)

// shares of the ticks on which something odd happens in a cluster.
const (
	hasty    = 0.05  // two states in a row: the second supersedes the first
	restarts = 0.002 // the cluster's scheduler starts again, with a new epoch
)

// connectPause is between two attempts to reach the broker.
const connectPause = 100 * time.Millisecond

// member is one simulated cluster.
type member struct {
	soak  *soak
	name  string
	group int    // of the proxy it connects through
	url   string // of that proxy
	r     *rand.Rand

	epoch   uint64
	sent    uint64 // seq of the last state of this epoch
	applied uint64 // seq of the newest decision applied in this epoch
}

// Service says how the states of all clusters fared.
type Service struct {
	States     int64            `json:"states"`
	Answered   int64            `json:"answered"`   // before the next state was due
	Superseded int64            `json:"superseded"` // by the next state, because of a fault or because it came at once
	Unanswered int64            `json:"unanswered"` // without an excuse
	Refused    int64            `json:"refused"`    // by the service; no state here deserves it
	Rejected   int64            `json:"rejected"`   // decisions that the client found impossible
	Disordered int64            `json:"disordered"` // decisions applied twice or out of order
	Epochs     int64            `json:"epochs"`     // starts of a cluster's scheduler
	BySource   map[string]int64 `json:"by_source"`
	Fallbacks  map[string]int64 `json:"fallbacks"`

	problems  []string
	latencies []time.Duration
}

// tally collects what the clusters meet.
type tally struct {
	mu sync.Mutex
	Service
}

func (t *tally) do(f func(s *Service)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.Service)
}

// play runs the cluster until ctx ends: episodes and restarts follow each other.
func (m *member) play(ctx context.Context, seed uint64) error {
	m.r = rng.New(seed, "soak/"+m.name)
	for m.epoch = 1; ctx.Err() == nil; m.epoch++ {
		cluster, err := m.soak.cfg.NewCluster(m.r.Uint64())
		if err != nil {
			return fmt.Errorf("soak: %s: %w", m.name, err)
		}
		c, err := m.connect(ctx)
		if err != nil {
			return nil // ctx ended
		}
		m.soak.tally.do(func(s *Service) { s.Epochs++ })
		err = m.live(ctx, c, cluster)
		c.Close()
		if err != nil {
			return fmt.Errorf("soak: %s: epoch %d: %w", m.name, m.epoch, err)
		}
	}
	return nil
}

// connect returns a client, once the broker can be reached.
func (m *member) connect(ctx context.Context) (*client.Client, error) {
	for {
		c, err := client.Connect(ctx, client.Config{
			URL: m.url, Cluster: m.name, Epoch: m.epoch, Retry: m.soak.cfg.Tick / 4, ConnectTimeout: m.soak.cfg.Tick,
		})
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(connectPause):
		}
	}
}

// live plays one epoch: a state each tick, until the episode is over or the
// scheduler starts again.
func (m *member) live(ctx context.Context, c *client.Client, cluster replay.Cluster) error {
	m.sent, m.applied = 0, 0
	next := time.Now().Add(time.Duration(m.r.Int64N(int64(m.soak.cfg.Tick))))
	for !cluster.Done() && m.r.Float64() >= restarts {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(next)):
		}
		if err := m.tick(ctx, c, cluster); err != nil {
			return err
		}
		if next = next.Add(m.soak.cfg.Tick); time.Now().After(next) {
			next = time.Now()
		}
	}
	return nil
}

// tick publishes the cluster's state and runs one round under the answer, or
// under what ran before.
func (m *member) tick(ctx context.Context, c *client.Client, cluster replay.Cluster) error {
	s := cluster.State()
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(m.soak.cfg.Tick))
	defer cancel()
	if m.r.Float64() < hasty {
		if err := m.publish(c, s); err != nil {
			return err
		}
		m.soak.tally.do(func(s *Service) { s.Superseded++ })
	}
	if err := m.publish(c, s); err != nil {
		return err
	}
	d, err := c.Wait(ctx, m.sent)
	a := guard.Hold(s)
	switch {
	case err == nil:
		a = d.Allocation
		m.apply(c, d, time.Since(start))
	case errors.Is(err, context.Canceled):
		return nil // the soak is over
	default:
		m.missed(start, d, err)
	}
	return cluster.Advance(a)
}

// publish sends s. A broker that is away is no error: Wait sends it again.
func (m *member) publish(c *client.Client, s *env.State) error {
	m.sent++
	m.soak.judge.Expect(m.name, m.epoch, m.sent, s)
	if _, err := c.PublishState(s); errors.Is(err, client.ErrTooLarge) {
		return err
	}
	m.soak.tally.do(func(s *Service) { s.States++ })
	return nil
}

// apply records that a decision is applied, and acknowledges it.
func (m *member) apply(c *client.Client, d *client.Decision, took time.Duration) {
	message := d.Message
	m.soak.tally.do(func(s *Service) {
		s.Answered++
		s.BySource[string(message.Source)]++
		if message.Reason != "" {
			s.Fallbacks[string(message.Reason)]++
		}
		if message.StateSeq <= m.applied {
			s.Disordered++
		}
		s.latencies = append(s.latencies, took)
	})
	m.applied = message.StateSeq
	_ = c.Ack(d, nil) // if it is lost, so is a count
}

// missed records a state without an answer.
func (m *member) missed(start time.Time, d *client.Decision, err error) {
	excused := m.soak.outages.excuses(m.group, start)
	m.soak.tally.do(func(s *Service) {
		switch {
		case d != nil:
			s.Rejected++
		case !errors.Is(err, context.DeadlineExceeded):
			s.Refused++
		case excused:
			s.Superseded++
			return
		default:
			s.Unanswered++
		}
		if len(s.problems) < maxProblems {
			s.problems = append(s.problems, fmt.Sprintf("%s: epoch %d: state %d: %v", m.name, m.epoch, m.sent, err))
		}
	})
}
