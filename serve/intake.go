package serve

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// resumeTimeout bounds the look for earlier decisions at a cluster's first
// state.
const resumeTimeout = time.Second

// intake takes published states and works through them, one goroutine per
// cluster while it has states.
type intake struct {
	*Handler
	ctx       context.Context // of the decisions
	publisher *publisher
	known     clusters
	window    time.Duration
	places    chan struct{} // decisions in the making
	work      gate
}

// receive handles a published state. It only reads the state's identity, so
// that the newest one is never stuck behind older ones.
func (in *intake) receive(m *nats.Msg) {
	in.stats.count(func(s *Stats) *int64 { return &s.States })
	id := wire.LastToken(m.Subject)
	key, err := wire.PeekState(m.Data)
	if err == nil && key.Cluster != id {
		err = wire.Errorf(wire.CodeConflict, "cluster", "cluster %q on the subject of %.32q", key.Cluster, id)
	}
	if err != nil {
		in.refuse(id, m.Reply, key, err)
		return
	}
	c := in.known.get(id)
	if c == nil {
		in.refuse(id, m.Reply, key, wire.Errorf(wire.CodeOverloaded, "", "%d clusters in work already", in.known.max))
		return
	}
	a := &arrival{key: key, data: m.Data, reply: m.Reply, received: time.Now()}
	v, p := c.offer(a)
	in.follow(c, a, v, p)
}

// follow does what the verdict on an arrival asks for.
func (in *intake) follow(c *cluster, a *arrival, v verdict, p *published) {
	switch v {
	case start:
		if !in.work.run(func() { in.run(c) }) {
			in.refuse(c.id, a.reply, a.key, wire.Errorf(wire.CodeUnavailable, "", "the service is draining"))
		}
	case superseded:
		in.stats.count(func(s *Stats) *int64 { return &s.Superseded })
	case stale:
		in.stats.count(func(s *Stats) *int64 { return &s.Stale })
		in.refuse(c.id, a.reply, a.key, wire.Errorf(wire.CodeConflict, "seq", "older than a state already seen"))
	case duplicate:
		in.stats.count(func(s *Stats) *int64 { return &s.Duplicates })
	case decided:
		in.stats.count(func(s *Stats) *int64 { return &s.Duplicates })
		in.publisher.send(p)
	}
}

// run works through a cluster's states until none waits.
func (in *intake) run(c *cluster) {
	for a := c.take(); a != nil; a = c.take() {
		in.places <- struct{}{}
		in.handle(c, a)
		<-in.places
	}
}

func (in *intake) handle(c *cluster, a *arrival) {
	s, err := in.decode(a.data)
	if err != nil {
		in.tell(c.id, a.reply, a.key, asRefusal(err))
		return
	}
	if !c.resumed {
		c.resumed = true
		in.resume(c)
		if v, p := c.recheck(a.key); v != accepted {
			in.follow(c, a, v, p)
			return
		}
	}
	p, err := in.answer(c, s, a.received)
	if err != nil {
		in.tell(c.id, a.reply, a.key, asRefusal(err))
		return
	}
	c.settle(p)
	in.publisher.send(p)
}

// answer decides on a state: the allocation, and the configuration if one is
// due.
func (in *intake) answer(c *cluster, s *wire.State, received time.Time) (*published, error) {
	p := &published{key: s.Key()}
	var configuration *nats.Msg
	var wg sync.WaitGroup
	if in.guard.Configures() && c.due(s, in.window) {
		wg.Go(func() {
			if m, data := in.configure(in.ctx, s, in.window); m != nil {
				configuration = in.publisher.configurationMsg(m, data)
			}
		})
	}
	m, data, err := in.allocate(in.ctx, s, received)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if configuration != nil {
		p.msgs = append(p.msgs, configuration)
	}
	p.msgs = append(p.msgs, in.publisher.allocationMsg(m, data))
	p.at = time.Now()
	return p, nil
}

// resume recovers what an earlier process decided for this cluster, so that a
// restart decides nothing twice.
func (in *intake) resume(c *cluster) {
	ctx, cancel := context.WithTimeout(in.ctx, resumeTimeout)
	defer cancel()
	am, cm, err := in.publisher.last(ctx, c.id)
	if err != nil {
		in.publisher.fail(err)
		return
	}
	if cm != nil {
		if m, err := wire.DecodeConfiguration(cm.Data); err == nil {
			c.window = &configWindow{epoch: m.Epoch, next: m.Now + m.Window}
		}
	}
	if am == nil {
		return
	}
	if m, err := wire.DecodeAllocation(am.Data); err == nil {
		p := &published{key: m.Key()}
		if cm != nil && cm.Header.Get(wire.HeaderStateSeq) == am.Header.Get(wire.HeaderStateSeq) && cm.Header.Get(wire.HeaderEpoch) == am.Header.Get(wire.HeaderEpoch) {
			p.msgs = append(p.msgs, cm)
		}
		p.msgs = append(p.msgs, am)
		c.settle(p)
		in.stats.count(func(s *Stats) *int64 { return &s.Resumed })
	}
}

// refuse counts a refusal and tells the cluster.
func (in *intake) refuse(id, reply string, k wire.Key, err error) {
	refusal := asRefusal(err)
	in.stats.refuse(refusal.Code)
	in.tell(id, reply, k, refusal)
}

// tell sends a refusal to the sender, if it said where, and to observers.
func (in *intake) tell(id, reply string, k wire.Key, refusal *wire.Error) {
	told := *refusal // the caller's may be shared
	told.Epoch, told.StateSeq = k.Epoch, k.Seq
	body := told.Encode()
	header := nats.Header{
		micro.ErrorHeader:     {told.Error()},
		micro.ErrorCodeHeader: {strconv.Itoa(int(told.Code))},
	}
	nc := in.publisher.nc
	// A refusal that cannot be sent is lost: the cluster's own timeout covers it.
	if in.publisher.subjects.MayReply(reply) {
		_ = nc.PublishMsg(&nats.Msg{Subject: reply, Header: header, Data: body})
	}
	if wire.CheckCluster(id) == nil {
		_ = nc.PublishMsg(&nats.Msg{Subject: in.publisher.subjects.Event("refused", id), Header: header, Data: body})
	}
}
