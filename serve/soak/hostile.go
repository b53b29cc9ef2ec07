package soak

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Subjects of the service under test: written out, not taken from its code.
const (
	stateSubject    = "yardmaster.v1.state."
	decisionSubject = "yardmaster.v1.decision."
	ackSubject      = "yardmaster.v1.ack."
	decideSubject   = "yardmaster.v1.svc.decide"
)

// overheard keeps the last states on the wire, to send them again.
type overheard struct {
	mu   sync.Mutex
	msgs []*nats.Msg // ring
	next int
}

const overhears = 256

func (o *overheard) add(m *nats.Msg) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.msgs) < overhears {
		o.msgs = append(o.msgs, m)
		return
	}
	o.msgs[o.next] = m
	o.next = (o.next + 1) % overhears
}

// any returns one of them, or nil.
func (o *overheard) any(r *rand.Rand) *nats.Msg {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.msgs) == 0 {
		return nil
	}
	return o.msgs[r.IntN(len(o.msgs))]
}

// abuse sends a burst of messages that nobody should send.
func (s *soak) abuse(_ context.Context, r *rand.Rand) error {
	for range 1 + r.IntN(20) {
		m := s.overheard.any(r)
		if m == nil {
			return nil
		}
		// A broker that is away is no error here.
		_ = s.observer.PublishMsg(spoil(m, r))
	}
	return nil
}

// spoil makes something of a state that was sent: itself again, itself damaged
// so that it cannot be read, itself in the wrong place, or something else.
func spoil(m *nats.Msg, r *rand.Rand) *nats.Msg {
	out := &nats.Msg{Subject: m.Subject, Data: bytes.Clone(m.Data), Header: m.Header}
	switch r.IntN(9) {
	case 0, 1, 2: // a duplicate, or older than the newest
	case 3: // torn
		out.Data = out.Data[:r.IntN(len(out.Data)+1)]
	case 4: // no JSON any more
		out.Data[0] = byte(r.IntN('{'))
	case 5: // in the name of another cluster
		out.Subject = stateSubject + "c00x"
	case 6: // as large as the broker takes, and nothing
		out.Data = bytes.Repeat([]byte("["), 7<<20)
	case 7: // an answer to nothing
		out.Subject = ackSubject + m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	case 8: // a request, answered to nobody
		out.Subject, out.Reply = decideSubject, "_INBOX.nobody"
	}
	return out
}

// observe connects to the broker itself, listens to everything and feeds the
// judge.
func (s *soak) observe() (err error) {
	s.observer, err = nats.Connect(s.cfg.Broker, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	if _, err = s.observer.Subscribe(decisionSubject+"*.allocation", func(m *nats.Msg) {
		s.judge.Decision(strings.Split(m.Subject, ".")[3], m.Data)
	}); err != nil {
		return err
	}
	_, err = s.observer.Subscribe(stateSubject+"*", s.overheard.add)
	return err
}
