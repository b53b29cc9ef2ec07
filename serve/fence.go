package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Headers of JetStream.
const (
	sequenceHeader = "Nats-Sequence"                       // of a message read back
	expectedHeader = "Nats-Expected-Last-Subject-Sequence" // of one to store
)

// fencedTimeout bounds how long the stream may take to store one decision.
const fencedTimeout = 2 * time.Second

// lookTimeout bounds how long it may take to say what it holds.
const lookTimeout = 250 * time.Millisecond

// want asks for the lease of a cluster.
func (p *publisher) want(cluster string) {
	if p.leases != nil {
		p.leases.Want(cluster)
	}
}

// leads reports whether this service may publish for a cluster now.
func (p *publisher) leads(cluster string) bool {
	return p.leases == nil || p.leases.Leading(cluster)
}

// follows reports whether another service publishes for a cluster.
func (p *publisher) follows(cluster string) bool {
	return !p.leads(cluster) && p.leases.Holder(cluster) != ""
}

// sendFenced publishes decisions one after the other, each on the condition that
// nobody published since the last that this service knows of. Subscribers hear a
// decision before the stream judges it, so the lease is looked at just before.
func (p *publisher) sendFenced(c *cluster, d *published) {
	c.sending.Lock()
	defer c.sending.Unlock()
	for _, m := range d.msgs {
		if !p.leases.Leading(c.id) {
			p.stats.count(func(s *Stats) *int64 { return &s.Fenced })
			p.logger.Info("decision withheld: not the leader", "cluster", c.id, "id", m.Header.Get(jetstream.MsgIDHeader))
			return
		}
		if err := p.store(c, m); err != nil {
			p.unfenced(c, m, err)
			return
		}
	}
	c.stored(d)
}

// store publishes one decision and waits until it is stored.
func (p *publisher) store(c *cluster, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), fencedTimeout)
	defer cancel()
	expected, known := c.fence[m.Subject]
	if !known {
		var err error
		if expected, err = p.look(ctx, m.Subject); err != nil {
			return errors.Join(err, p.unstored(c, m))
		}
	}
	ack, err := p.publish(ctx, c, m, expected)
	if conflict(err) && p.leases.Leading(c.id) {
		// While the lease holds, this is no other service but what this one knows:
		// from before another one led, or aged out of the stream since.
		if now, ok := p.ahead(ctx, m); ok {
			ack, err = p.publish(ctx, c, m, now)
		}
	}
	if err != nil {
		return err
	}
	if ack.Duplicate {
		delete(c.fence, m.Subject) // another message may have followed it
	} else {
		c.fence[m.Subject] = ack.Sequence
	}
	p.stats.count(func(s *Stats) *int64 { return &s.Stored })
	return nil
}

func (p *publisher) publish(ctx context.Context, c *cluster, m *nats.Msg, expected uint64) (*jetstream.PubAck, error) {
	return p.js.PublishMsg(ctx, p.fenced(c, m, expected), jetstream.WithRetryAttempts(0))
}

// unstored publishes a decision for subscribers only: the stream, which cannot say
// what it holds, refuses it should it be there after all.
func (p *publisher) unstored(c *cluster, m *nats.Msg) error {
	p.stats.count(func(s *Stats) *int64 { return &s.Unconfirmed })
	return p.nc.PublishMsg(p.fenced(c, m, math.MaxUint64))
}

// fenced returns m as it is stored if the last message on its subject has this
// sequence.
func (p *publisher) fenced(c *cluster, m *nats.Msg, expected uint64) *nats.Msg {
	out := &nats.Msg{Subject: m.Subject, Data: m.Data, Header: maps.Clone(m.Header)}
	out.Header.Set(expectedHeader, strconv.FormatUint(expected, 10))
	out.Header.Set(wire.HeaderServer, p.id)
	out.Header.Set(wire.HeaderTerm, strconv.FormatUint(max(c.term, 1), 10))
	return out
}

// unfenced handles a decision that was not stored.
func (p *publisher) unfenced(c *cluster, m *nats.Msg, err error) {
	clear(c.fence) // it may have been stored after all
	if !conflict(err) {
		p.fail(m, err)
		return
	}
	p.stats.count(func(s *Stats) *int64 { return &s.Fenced })
	p.logger.Warn("decision refused: another one was published", "cluster", c.id, "id", m.Header.Get(jetstream.MsgIDHeader))
	c.lose()
}

// ahead returns the sequence of the last decision in the stream if it is on an
// older state than m is.
func (p *publisher) ahead(ctx context.Context, m *nats.Msg) (sequence uint64, ok bool) {
	last, err := bus.Last(ctx, p.nc, p.stream, m.Subject)
	if errors.Is(err, bus.ErrNoMessage) {
		return 0, true
	}
	if err != nil {
		return 0, false
	}
	if last.Header.Get(wire.HeaderEpoch) == m.Header.Get(wire.HeaderEpoch) {
		stored, err := strconv.ParseUint(last.Header.Get(wire.HeaderStateSeq), 10, 64)
		mine, mineErr := strconv.ParseUint(m.Header.Get(wire.HeaderStateSeq), 10, 64)
		if err != nil || mineErr != nil || stored >= mine {
			return 0, false
		}
	}
	sequence, err = sequenceOf(last)
	return sequence, err == nil
}

// look is sequence within lookTimeout.
func (p *publisher) look(ctx context.Context, subject string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return p.sequence(ctx, subject)
}

// sequence returns the stream's sequence of the last message on a subject, 0
// without one.
func (p *publisher) sequence(ctx context.Context, subject string) (uint64, error) {
	m, err := bus.Last(ctx, p.nc, p.stream, subject)
	switch {
	case errors.Is(err, bus.ErrNoMessage):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return sequenceOf(m)
}

func sequenceOf(m *nats.Msg) (uint64, error) {
	n, err := strconv.ParseUint(m.Header.Get(sequenceHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("serve: last message of %s: header %s: %w", m.Subject, sequenceHeader, err)
	}
	return n, nil
}

// raise sets the fence behind the last decisions of a cluster, as read from the
// stream, and begins a new term.
func (p *publisher) raise(c *cluster, msgs ...*nats.Msg) {
	if p.leases == nil {
		return
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.fence = make(map[string]uint64)
	for _, kind := range []string{wire.KindAllocation, wire.KindConfiguration} {
		c.fence[p.subjects.Decision(c.id, kind)] = 0
	}
	for _, m := range msgs {
		if m == nil {
			continue
		}
		if n, err := sequenceOf(m); err == nil {
			c.fence[m.Subject] = n
		} else {
			delete(c.fence, m.Subject)
		}
		if term, err := strconv.ParseUint(m.Header.Get(wire.HeaderTerm), 10, 64); err == nil {
			c.term = max(c.term, term)
		}
	}
	c.term++
}

// conflict reports whether the stream refused a decision because another one
// came first.
func conflict(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// publishErrors are the words for errors without a code of the broker's.
var publishErrors = []struct {
	err  error
	code string
}{
	{nats.ErrMaxPayload, "max_payload"},
	{nats.ErrReconnectBufExceeded, "disconnected"},
	{nats.ErrDisconnected, "disconnected"},
	{nats.ErrConnectionReconnecting, "disconnected"},
	{nats.ErrConnectionClosed, "disconnected"},
	{jetstream.ErrNoStreamResponse, "no_stream"},
	{nats.ErrNoResponders, "no_stream"},
	{nats.ErrPermissionViolation, "permission"},
	{nats.ErrTimeout, "timeout"},
	{jetstream.ErrAsyncPublishTimeout, "timeout"},
	{context.DeadlineExceeded, "timeout"},
}

// publishCodes returns the words that codeOf knows.
func publishCodes() []string {
	codes := []string{"other"}
	for _, known := range publishErrors {
		if !slices.Contains(codes, known.code) {
			codes = append(codes, known.code)
		}
	}
	return codes
}

// codeOf returns what keeps a decision from being stored, as few values: the
// broker's error code, or a word.
func codeOf(err error) string {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return strconv.Itoa(int(api.ErrorCode))
	}
	for _, known := range publishErrors {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return "other"
}
