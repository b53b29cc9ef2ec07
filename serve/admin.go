package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/repository"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// maxAdmin bounds the operators' requests in work.
const maxAdmin = 8

// operators are the endpoints for operators. Loads take seconds, so each request
// has a goroutine; they are few.
type operators struct {
	*endpoints
	server string
	places chan struct{}
}

// add registers the endpoints with the service. Every service gets every request:
// what is in use is each one's own.
func (o *operators) add(svc micro.Service) error {
	group := svc.AddGroup(o.subjects.Admin(), micro.WithGroupQueueGroupDisabled())
	handle := map[string]func(context.Context, []byte) (*admin.Reply, error){
		admin.Models: o.list, admin.Load: o.load, admin.Promote: o.promote, admin.Rollback: o.rollback, admin.Discard: o.discard, admin.Mode: o.mode,
	}
	for _, name := range admin.Endpoints() {
		f := handle[name]
		err := group.AddEndpoint(name, micro.HandlerFunc(func(req micro.Request) { o.request(req, f) }),
			micro.WithEndpointMetadata(map[string]string{"request": admin.Schemas()[name], "response": admin.Schema}))
		if err != nil {
			return fmt.Errorf("serve: endpoint admin.%s: %w", name, err)
		}
	}
	return nil
}

func (o *operators) request(req micro.Request, f func(context.Context, []byte) (*admin.Reply, error)) {
	if !o.answerable(req) {
		return
	}
	to, body := req.Reply(), req.Data()
	select {
	case o.places <- struct{}{}:
	default:
		o.answer(to, nil, wire.Errorf(wire.CodeOverloaded, "", "%d requests of operators in work already", cap(o.places)))
		return
	}
	started := o.work.run(func() {
		defer func() { <-o.places }()
		reply, err := f(o.ctx, body)
		o.answer(to, reply, err)
	})
	if !started {
		<-o.places
		o.answer(to, nil, wire.Errorf(wire.CodeUnavailable, "", "the service is draining"))
	}
}

func (o *operators) answer(to string, reply *admin.Reply, err error) {
	out := &nats.Msg{Subject: to, Header: nats.Header{}}
	if err != nil {
		refusal := adminRefusal(err)
		o.stats.refuse(refusal.Code)
		out.Data = refusal.Encode()
		out.Header.Set(micro.ErrorHeader, refusal.Error())
		out.Header.Set(micro.ErrorCodeHeader, strconv.Itoa(int(refusal.Code)))
	} else if out.Data, err = json.Marshal(reply); err == nil {
		out.Header.Set(wire.HeaderSchema, admin.Schema)
	}
	_ = o.nc.PublishMsg(out)
}

// adminRefusal classifies the error of an operator's request.
func adminRefusal(err error) *wire.Error {
	switch {
	case errors.Is(err, repository.ErrNotFound), errors.Is(err, live.ErrNoModel), errors.Is(err, models.ErrIncompatible), errors.Is(err, models.ErrGolden):
		return wire.Errorf(wire.CodeInvalid, "", "%v", err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return wire.Errorf(wire.CodeUnavailable, "", "%v", err)
	}
	return asRefusal(err)
}

// reply describes what is in use.
func (o *operators) reply(done string) *admin.Reply {
	r := o.guard
	reply := &admin.Reply{Schema: admin.Schema, Server: o.server, Done: done, Source: r.source, Modes: r.modes.Get()}
	reply.JobStrategy, reply.Configuration = r.slots()
	if r.set != nil {
		reply.Loads, reply.LastError = r.set.Loads()
	}
	return reply
}

// slots names the models in use.
func (r *roster) slots() (jobs, configuration admin.Slot) {
	if r.set == nil {
		return admin.Slot{Active: r.guards.Load().ModelName}, admin.Slot{Active: r.guards.Load().ConfigurerName}
	}
	name := func(m *live.Model) string {
		if m == nil {
			return ""
		}
		return m.Name
	}
	slot := func(s live.Slot) admin.Slot {
		return admin.Slot{Active: name(s.Active), Previous: name(s.Previous), Candidate: name(s.Candidate)}
	}
	v := r.set.View()
	jobs, configuration = slot(v.JobStrategy), slot(v.Configuration)
	if configuration.Active == "" {
		configuration.Active = r.cfg.Guard.ConfigurerName // until one is loaded
	}
	return jobs, configuration
}

var errFixed = wire.Errorf(wire.CodeInvalid, "", "the models of this service are fixed: start it with a repository or bucket of models")

func (o *operators) list(ctx context.Context, body []byte) (*admin.Reply, error) {
	if _, err := admin.DecodeModels(body); err != nil {
		return nil, err
	}
	if o.guard.set == nil {
		return o.reply("listed"), nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.guard.cfg.Models.FetchTimeout)
	defer cancel()
	list, err := o.guard.set.Source().List(ctx)
	reply := o.reply("listed")
	if err != nil { // what is in use is known all the same
		reply.Warning = err.Error()
	}
	reply.Available = list
	return reply, nil
}

func (o *operators) load(ctx context.Context, body []byte) (*admin.Reply, error) {
	req, err := admin.DecodeLoad(body)
	if err != nil {
		return nil, err
	}
	if o.guard.set == nil {
		return nil, errFixed
	}
	m, err := o.guard.set.Load(ctx, req.Name, req.Version, req.Promote)
	if m == nil || err != nil && !errors.Is(err, live.ErrNotKept) {
		o.guard.announce(nil, fmt.Sprintf("%s %s was not loaded: %v", req.Name, req.Version, err))
		return nil, err
	}
	done := m.Name + " is loaded as candidate"
	if req.Promote {
		done = m.Name + " is loaded and in charge"
		err = errors.Join(err, o.guard.point(m.Kind(), m))
	}
	return o.done(m, done, err), nil
}

// done announces what was done and says it in a reply; err is what went wrong
// beside it.
func (o *operators) done(m *live.Model, text string, err error) *admin.Reply {
	o.guard.announce(m, text)
	reply := o.reply(text)
	if err != nil {
		reply.Warning = err.Error()
		o.logger.Warn("models: done, but", "warning", err)
	}
	return reply
}

// ofKind decodes a request about a kind and does it.
func (o *operators) ofKind(body []byte, do func(models.Kind) (*live.Model, error)) (models.Kind, *live.Model, error) {
	req, err := admin.DecodeKind(body)
	if err != nil {
		return "", nil, err
	}
	if o.guard.set == nil {
		return "", nil, errFixed
	}
	m, err := do(req.Kind)
	return req.Kind, m, err
}

func (o *operators) promote(_ context.Context, body []byte) (*admin.Reply, error) {
	kind, m, err := o.ofKind(body, func(k models.Kind) (*live.Model, error) { return o.guard.set.Promote(k) })
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		return nil, err
	}
	return o.done(m, m.Name+" is in charge", errors.Join(err, o.guard.point(kind, m))), nil
}

func (o *operators) rollback(_ context.Context, body []byte) (*admin.Reply, error) {
	kind, m, err := o.ofKind(body, func(k models.Kind) (*live.Model, error) { return o.guard.set.Rollback(k) })
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		return nil, err
	}
	return o.done(m, m.Name+" is in charge again", errors.Join(err, o.guard.point(kind, m))), nil
}

func (o *operators) discard(_ context.Context, body []byte) (*admin.Reply, error) {
	_, _, err := o.ofKind(body, func(k models.Kind) (*live.Model, error) { return nil, o.guard.set.Discard(k) })
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		return nil, err
	}
	return o.done(nil, "the candidate is discarded", err), nil
}

func (o *operators) mode(_ context.Context, body []byte) (*admin.Reply, error) {
	req, err := admin.DecodeMode(body)
	if err != nil {
		return nil, err
	}
	setting := live.Setting{Mode: req.Mode, Share: req.Share}
	var done string
	switch modes := o.guard.modes; {
	case req.Unset:
		done, err = fmt.Sprintf("cluster %s has the default mode", req.Cluster), modes.Unset(req.Cluster)
	case req.Cluster == "":
		done, err = "the default mode is "+setting.String(), modes.SetDefault(setting)
	default:
		done, err = fmt.Sprintf("the mode of cluster %s is %s", req.Cluster, setting), modes.Set(req.Cluster, setting)
	}
	if err != nil && !errors.Is(err, live.ErrNotKept) {
		return nil, err
	}
	return o.done(nil, done, err), nil
}
