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
	places    chan struct{} // decisions that were asked for, in the making
	asides    chan struct{} // requests of people, in the making
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
	for _, point := range []struct {
		name              string
		handle            micro.HandlerFunc
		request, response string
	}{
		{"decide", e.request, wire.StateSchema, wire.AllocationSchema},
		{"validate", e.aside(e.validate), wire.StateSchema, wire.ValidationSchema},
		{"explain", e.aside(e.explain), wire.StateSchema, wire.ExplanationSchema},
		{"status", e.tellStatus, "", wire.StatusSchema},
	} {
		schemas := map[string]string{"response": point.response}
		if point.request != "" {
			schemas["request"] = point.request
		}
		if err := group.AddEndpoint(point.name, point.handle, limits, micro.WithEndpointMetadata(schemas)); err != nil {
			return nil, fmt.Errorf("serve: endpoint %s: %w", point.name, err)
		}
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
		err = e.begin(&question{ctx: ctx, span: span, to: req.Reply(), parcel: &p, state: s, received: received, answer: e.decide}, e.places)
	}
	if err != nil {
		span.End(err)
		refuse(req, err)
	}
}

// refuse answers a request with an error. A reply that cannot be sent is the
// requester's timeout.
func refuse(req micro.Request, err error) {
	refusal := asRefusal(err)
	_ = req.Error(strconv.Itoa(int(refusal.Code)), refusal.Error(), refusal.Encode())
}

// maxAsides bounds the requests of people in work: they take no processor from
// decisions but these.
const maxAsides = 2

// aside handles requests about a state that decide nothing for anybody.
func (e *endpoints) aside(answer func(*nats.Msg, *question) error) micro.HandlerFunc {
	return func(req micro.Request) {
		if !e.answerable(req) {
			return
		}
		header := nats.Header(req.Headers())
		p := parcelOf(header, req.Data(), header.Get(wire.HeaderCluster))
		p.aside = true
		q := &question{ctx: e.ctx, to: req.Reply(), parcel: &p, jobs: header.Get(wire.HeaderJobs), answer: answer}
		var err error
		if !p.plain() {
			if _, err = p.identify(); err != nil {
				e.stats.refuse(asRefusal(err).Code)
			}
		}
		if err == nil {
			err = e.begin(q, e.asides)
		}
		if err != nil {
			refuse(req, err)
		}
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
	jobs     string // of a request to explain: header, "" is all
	answer   func(*nats.Msg, *question) error
}

// begin starts to work on q in one of these places, which ends its span, or refuses.
func (e *endpoints) begin(q *question, places chan struct{}) error {
	select {
	case places <- struct{}{}:
	default:
		e.stats.refuse(wire.CodeOverloaded)
		return wire.Errorf(wire.CodeOverloaded, "", "%d requests in work already", cap(places))
	}
	started := e.work.run(func() {
		defer func() { <-places }()
		q.span.End(e.reply(q))
	})
	if !started {
		<-places
		e.stats.refuse(wire.CodeUnavailable)
		return wire.Errorf(wire.CodeUnavailable, "", "the service is draining")
	}
	return nil
}

// reply sends the answer or the error, which it returns.
func (e *endpoints) reply(q *question) error {
	out := &nats.Msg{Subject: q.to, Header: nats.Header{}}
	err := q.answer(out, q)
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
	out.Header.Set(wire.HeaderSource, string(m.Source))
	return e.fill(out, q, wire.AllocationSchema, data)
}

// fill puts a message into a reply.
func (e *endpoints) fill(out *nats.Msg, q *question, schema string, data []byte) error {
	out.Data = data
	out.Header.Set(wire.HeaderSchema, schema)
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
