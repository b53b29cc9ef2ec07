package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/lease"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Retention of the decision stream.
const (
	maxPerSubject = 64
	maxAge        = 7 * 24 * time.Hour
	dedupWindow   = 2 * time.Minute
)

// Bounds of the publisher. A disk that syncs slower than decisions are made
// slows them down, by stallWait each, once maxPending wait for it.
const (
	maxPending = 256 // publishes without an ack
	ackTimeout = 30 * time.Second
	stallWait  = 2 * time.Millisecond
)

// published is the decisions for one state, as they went out.
type published struct {
	key    wire.Key
	at     time.Time
	msgs   []*nats.Msg // configuration first, where there is one: then it is there when the allocation comes
	stored bool        // in the stream, as far as is known; guarded by the cluster's mutex
}

// publisher sends decisions. Subscribers get them at once; the stream stores
// them meanwhile. Alone it acknowledges in the background; with leases each is
// fenced by the one before it, so the next waits for that.
type publisher struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	subjects wire.Subjects
	stream   string
	replicas int
	id       string        // of this service
	leases   *lease.Keeper // nil where no other service publishes
	stats    *recorder
	logger   *slog.Logger
}

func newPublisher(nc *nats.Conn, cfg *Config, subjects wire.Subjects, stats *recorder) (*publisher, error) {
	p := &publisher{nc: nc, subjects: subjects, stream: cfg.Stream, replicas: cfg.Replicas, id: cfg.ID, stats: stats, logger: cfg.Logger}
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncTimeout(ackTimeout),
		jetstream.WithPublishAsyncMaxPending(maxPending),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, err error) { p.fail(m, err) }),
		jetstream.WithPublishAsyncAckHandler(func(jetstream.JetStream, *nats.Msg, *jetstream.PubAck) {
			stats.count(func(s *Stats) *int64 { return &s.Stored })
		}),
	)
	p.js = js
	return p, err
}

// ensure makes the stream, or adapts its limits. A stream that keeps something
// else is left alone: updating it would take it from its owner.
func (p *publisher) ensure(ctx context.Context) error {
	// Acknowledgements are kept in the order of the same stream: one that is
	// stored proves that the decision before it is.
	subjects := []string{p.subjects.Decisions("*"), p.subjects.Ack("*")}
	foreign := func(subject string) bool { return !slices.Contains(subjects, subject) }
	switch existing, err := p.js.Stream(ctx, p.stream); {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil:
		return fmt.Errorf("serve: stream %s: %w", p.stream, err)
	case slices.ContainsFunc(existing.CachedInfo().Config.Subjects, foreign):
		return fmt.Errorf("serve: stream %s keeps %v, want %v: give this service another stream or prefix", p.stream, existing.CachedInfo().Config.Subjects, subjects)
	}
	_, err := p.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name:              p.stream,
		Description:       "Yardmaster's decisions, by cluster and kind, and their acknowledgements",
		Subjects:          subjects,
		MaxMsgsPerSubject: maxPerSubject,
		MaxAge:            maxAge,
		Duplicates:        dedupWindow,
		AllowDirect:       true,
		Replicas:          p.replicas,
	})
	if err != nil {
		return fmt.Errorf("serve: stream %s: %w", p.stream, err)
	}
	return nil
}

// fail counts and logs a decision that was not stored.
func (p *publisher) fail(m *nats.Msg, err error) {
	code := codeOf(err)
	p.stats.publishError(code)
	p.logger.Warn("decision not stored", "id", m.Header.Get(jetstream.MsgIDHeader), "code", code, "error", err)
}

// unread counts and logs that the stream could not be asked for a cluster's last
// decision.
func (p *publisher) unread(cluster string, err error) {
	code := codeOf(err)
	p.stats.publishError(code)
	p.logger.Warn("last decision not read back: a state decided before may be decided again", "cluster", cluster, "code", code, "error", err)
}

// fits reports whether the broker takes a decision: never is one dropped without
// a word.
func (p *publisher) fits(m *nats.Msg) *wire.Error {
	if limit := p.nc.MaxPayload(); limit > 0 && int64(len(m.Data))+wire.ChunkRoom > limit {
		return wire.Errorf(wire.CodeTooLarge, "", "an answer of %d bytes, the broker takes %d: raise its max_payload, or accept %s", len(m.Data), limit, wire.EncodingZstd)
	}
	return nil
}

// send publishes the decisions for one state, in order. Sending them again is
// harmless: the stream drops what it has, a cluster what it applied. Where the
// stream does not keep up, subscribers still get them, unconfirmed.
func (p *publisher) send(c *cluster, d *published) {
	if p.leases != nil {
		p.sendFenced(c, d)
		return
	}
	for _, m := range d.msgs {
		// A copy, because the client adds its reply subject to the message.
		fresh := func() *nats.Msg { return &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data} }
		_, err := p.js.PublishMsgAsync(fresh(), jetstream.WithStallWait(stallWait))
		if errors.Is(err, jetstream.ErrTooManyStalledMsgs) {
			err = p.nc.PublishMsg(fresh())
			p.stats.count(func(s *Stats) *int64 { return &s.Unconfirmed })
		}
		if err != nil {
			p.fail(m, err)
		}
	}
}

// flush waits for the acks of what was sent.
func (p *publisher) flush(ctx context.Context) error {
	select {
	case <-p.js.PublishAsyncComplete():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("serve: %d decisions not acknowledged: %w", p.js.PublishAsyncPending(), ctx.Err())
	}
}

// last reads the newest allocation and configuration of a cluster from the
// stream; either may be nil.
func (p *publisher) last(ctx context.Context, cluster string) (a, c *nats.Msg, err error) {
	if a, err = p.lastOf(ctx, cluster, wire.KindAllocation); err != nil {
		return nil, nil, err
	}
	c, err = p.lastOf(ctx, cluster, wire.KindConfiguration)
	return a, c, err
}

func (p *publisher) lastOf(ctx context.Context, cluster, kind string) (*nats.Msg, error) {
	m, err := bus.Last(ctx, p.nc, p.stream, p.subjects.Decision(cluster, kind))
	if errors.Is(err, bus.ErrNoMessage) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.Subject = p.subjects.Decision(cluster, kind)
	return m, nil
}

// compressAbove is the size from which decisions are compressed for those who
// accept it.
const compressAbove = 64 << 10

// allocationMsg returns the NATS message of an allocation, compressed if it is
// large and its receiver accepts that.
func (p *publisher) allocationMsg(a *wire.Allocation, data []byte, accept bool) *nats.Msg {
	m := p.msg(a.Key(), wire.KindAllocation, wire.AllocationSchema, a.Model, data)
	if accept {
		compress(m)
	}
	m.Header.Set(wire.HeaderSource, string(a.Source))
	m.Header.Set(wire.HeaderDeadline, strconv.FormatFloat(a.DeadlineMS, 'g', -1, 64))
	return m
}

// compress compresses a large message.
func compress(m *nats.Msg) {
	if p, err := wire.Pack(m.Data, compressAbove); err == nil && p.Encoding != "" {
		m.Data = p.Data
		m.Header.Set(wire.HeaderEncoding, p.Encoding)
	}
}

// configurationMsg returns the NATS message of a configuration.
func (p *publisher) configurationMsg(c *wire.Configuration, data []byte) *nats.Msg {
	return p.msg(c.Key(), wire.KindConfiguration, wire.ConfigurationSchema, c.Model, data)
}

func (p *publisher) msg(k wire.Key, kind, schema, model string, data []byte) *nats.Msg {
	m := nats.NewMsg(p.subjects.Decision(k.Cluster, kind))
	m.Header.Set(jetstream.MsgIDHeader, wire.DecisionID(k, kind))
	m.Header.Set(wire.HeaderSchema, schema)
	m.Header.Set(wire.HeaderEpoch, strconv.FormatUint(k.Epoch, 10))
	m.Header.Set(wire.HeaderStateSeq, strconv.FormatUint(k.Seq, 10))
	if model != "" {
		m.Header.Set(wire.HeaderModel, model)
	}
	m.Data = data
	return m
}
