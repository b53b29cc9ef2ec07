package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// ServiceName is the name that `nats micro list` shows.
const ServiceName = "yardmaster"

// Pending limits of the endpoints: beyond them the client library drops
// requests and reports a slow consumer, rather than queueing without end.
const (
	pendingMsgs  = 1024
	pendingBytes = 256 << 20
)

// endpoints are the request/reply half of the service.
type endpoints struct {
	*opener
	ctx       context.Context
	nc        *nats.Conn
	subjects  wire.Subjects
	status    func() Stats
	publisher *publisher
	places    chan struct{} // requests in the making
	work      gate
}

// add registers the service with the framework (NATS ADR-32).
func (e *endpoints) add(cfg *Config, subjects wire.Subjects) (micro.Service, error) {
	svc, err := micro.AddService(e.nc, micro.Config{
		Name:         ServiceName,
		Version:      cfg.Version,
		Description:  "decides which training job runs on which GPUs",
		Metadata:     map[string]string{"wire": wire.Version, "model": cfg.Guard.ModelName},
		StatsHandler: func(*micro.Endpoint) any { return e.status() },
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			cfg.Logger.Warn("service endpoint", "subject", err.Subject, "error", err.Description)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("serve: register service: %w", err)
	}
	group := svc.AddGroup(subjects.Service())
	limits := micro.WithEndpointPendingLimits(pendingMsgs, pendingBytes)
	schemas := micro.WithEndpointMetadata(map[string]string{"request": wire.StateSchema, "response": wire.AllocationSchema})
	if err := group.AddEndpoint("decide", micro.HandlerFunc(e.request), limits, schemas); err != nil {
		return nil, fmt.Errorf("serve: endpoint decide: %w", err)
	}
	if err := group.AddEndpoint("status", micro.HandlerFunc(e.tellStatus), limits); err != nil {
		return nil, fmt.Errorf("serve: endpoint status: %w", err)
	}
	return svc, nil
}

// smallState bounds the requests that are read at once, so that the framework
// counts their refusals; larger ones would hold up the others.
const smallState = 64 << 10

// request refuses what it can at once and decides in a goroutine, so that one
// late policy does not hold up all requests.
func (e *endpoints) request(req micro.Request) {
	received := time.Now()
	e.stats.count(func(s *Stats) *int64 { return &s.Requests })
	if !e.answerable(req) {
		return
	}
	header := nats.Header(req.Headers())
	ctx, span := e.stages.Trace(e.stages.Extract(e.ctx, header), stage.Decide, received)
	p := parcelOf(header, req.Data(), header.Get(wire.HeaderCluster))
	var s *wire.State
	var err error
	switch {
	case !p.plain():
		_, err = p.identify()
		if err != nil {
			e.stats.refuse(asRefusal(err).Code)
		}
	case len(p.Data) <= smallState:
		s, err = e.decode(ctx, p.Data)
	}
	if err == nil {
		// The request itself belongs to the framework once this returns.
		err = e.begin(&question{ctx, span, req.Reply(), &p, s, received})
	}
	if err != nil {
		span.End(err)
		refusal := asRefusal(err)
		// A reply that cannot be sent is the requester's timeout.
		_ = req.Error(strconv.Itoa(int(refusal.Code)), refusal.Error(), refusal.Encode())
	}
}

// answerable reports whether the request may be answered where it asks for.
func (e *endpoints) answerable(req micro.Request) bool {
	if e.subjects.MayReply(req.Reply()) {
		return true
	}
	e.stats.refuse(wire.CodeConflict)
	e.logger.Warn("request not answered", "subject", req.Subject(), "reply", req.Reply(), "reason", "not a reply subject")
	return false
}

// question is a request in work.
type question struct {
	ctx      context.Context // carries the span
	span     stage.Span
	to       string
	parcel   *parcel
	state    *wire.State // nil until the parcel is read
	received time.Time
}

// begin starts to work on q, which ends its span, or refuses.
func (e *endpoints) begin(q *question) error {
	select {
	case e.places <- struct{}{}:
	default:
		e.stats.refuse(wire.CodeOverloaded)
		return wire.Errorf(wire.CodeOverloaded, "", "%d requests in work already", cap(e.places))
	}
	started := e.work.run(func() {
		defer func() { <-e.places }()
		q.span.End(e.reply(q))
	})
	if !started {
		<-e.places
		e.stats.refuse(wire.CodeUnavailable)
		return wire.Errorf(wire.CodeUnavailable, "", "the service is draining")
	}
	return nil
}

// reply decides and sends the decision or the error, which it returns.
func (e *endpoints) reply(q *question) error {
	out := &nats.Msg{Subject: q.to, Header: nats.Header{}}
	err := e.decide(out, q)
	if err != nil {
		refusal := asRefusal(err)
		out.Data = refusal.Encode()
		out.Header = nats.Header{micro.ErrorHeader: {refusal.Error()}, micro.ErrorCodeHeader: {strconv.Itoa(int(refusal.Code))}}
	}
	e.stages.Inject(q.ctx, out.Header)
	_, span := e.stages.Start(q.ctx, stage.Publish)
	span.End(e.nc.PublishMsg(out))
	return err
}

// decide fills in the reply to a request.
func (e *endpoints) decide(out *nats.Msg, q *question) error {
	s := q.state
	if s == nil {
		var done func()
		var err error
		s, done, err = e.open(q.ctx, q.parcel)
		defer done()
		if err != nil {
			return err
		}
	}
	m, data, err := e.allocate(q.ctx, s, q.received)
	if err != nil {
		return err
	}
	out.Data = data
	out.Header.Set(wire.HeaderSchema, wire.AllocationSchema)
	out.Header.Set(wire.HeaderSource, string(m.Source))
	if q.parcel.accept {
		compress(out)
	}
	if err := e.publisher.fits(out); err != nil {
		e.stats.refuse(err.Code)
		return err
	}
	return nil
}

func (e *endpoints) tellStatus(req micro.Request) {
	if !e.answerable(req) {
		return
	}
	data, err := json.Marshal(e.status())
	if err != nil {
		_ = req.Error(strconv.Itoa(int(wire.CodeInternal)), err.Error(), nil)
		return
	}
	_ = req.Respond(data)
}
