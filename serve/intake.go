package serve

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// resumeTimeout bounds the look for earlier decisions at a cluster's first
// state.
const resumeTimeout = time.Second

// intake takes published states and works through them, one goroutine per
// cluster while it has states.
type intake struct {
	*opener
	ctx       context.Context // of the decisions
	publisher *publisher
	known     clusters
	window    time.Duration
	rate      float64       // states per second and cluster
	skew      time.Duration // of clocks, that is told
	places    chan struct{} // decisions in the making
	work      gate
}

// receive handles a published state. It only reads the state's identity, so
// that the newest one is never stuck behind older ones.
func (in *intake) receive(m *nats.Msg) {
	in.stats.count(func(s *Stats) *int64 { return &s.States })
	id := wire.LastToken(m.Subject)
	a := &arrival{parcel: parcelOf(m.Header, m.Data, id), header: m.Header, reply: m.Reply, received: time.Now()}
	var err error
	a.key, err = a.parcel.identify()
	if err == nil && a.key.Cluster != id {
		err = wire.Errorf(wire.CodeConflict, "cluster", "cluster %q on the subject of %.32q", a.key.Cluster, id)
	}
	if err != nil {
		in.refuse(id, m.Reply, a.key, err)
		return
	}
	c := in.known.get(id)
	if c == nil {
		in.refuse(id, m.Reply, a.key, wire.Errorf(wire.CodeOverloaded, "", "%d clusters in work already", in.known.max))
		return
	}
	in.publisher.want(id)
	in.watch(c, m.Header.Get(wire.HeaderTime), a.received)
	v, p := c.offer(a, in.rate)
	in.follow(c, a, v, p)
}

// watch tells of a cluster whose clock disagrees with this one's.
func (in *intake) watch(c *cluster, header string, now time.Time) {
	off, ok := skew(header, now)
	if !ok || off.Abs() <= in.skew {
		return
	}
	in.stats.count(func(s *Stats) *int64 { return &s.Skewed })
	if c.tellable(wire.EventSkew) {
		in.logger.Warn("clocks disagree", "cluster", c.id, "ahead", off)
		in.events.tell(wire.NewEvent(wire.EventSkew, c.id, "the cluster's clock is "+off.String()+" ahead of the service's"))
	}
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
		in.again(c, p)
	case limited:
		in.stats.count(func(s *Stats) *int64 { return &s.RateLimited })
		in.stats.refuse(wire.CodeOverloaded)
		if c.tellable("limited") { // an answer to each would double the flood
			in.logger.Warn("too many states", "cluster", c.id, "rate", in.rate)
			in.tell(c.id, a.reply, a.key, wire.Errorf(wire.CodeOverloaded, "", "more than %v states per second", in.rate))
		}
	}
}

// again sends a decision another time.
func (in *intake) again(c *cluster, p *published) {
	if in.publisher.leases == nil {
		in.publisher.send(c, p)
		return
	}
	in.work.run(func() { in.publisher.send(c, p) }) // it waits for the stream
}

// run works through a cluster's states until none waits, or another service
// publishes for it.
func (in *intake) run(c *cluster) {
	for a := in.next(c); a != nil; a = in.next(c) {
		in.places <- struct{}{}
		in.handle(c, a)
		<-in.places
	}
}

// next returns the state whose turn it is. While another service publishes for
// the cluster, the newest state waits: for the day that it does not.
func (in *intake) next(c *cluster) *arrival {
	for {
		if in.publisher.leads(c.id) {
			return c.take()
		}
		c.park()
		if !in.publisher.leads(c.id) || !c.unpark() {
			return nil
		}
	}
}

// lead goes on with a cluster that this service publishes for from now on.
func (in *intake) lead(id string) {
	c := in.known.known(id)
	if c == nil {
		return
	}
	c.lose() // also what was read since this service led last
	in.work.run(func() {
		if !c.claim() {
			return // whoever works for it goes on by itself
		}
		in.resume(c)
		if p := c.unsent(dedupWindow / 2); p != nil { // nobody may have heard it
			in.publisher.send(c, p)
		}
		in.run(c)
	})
}

// handle decides on a state, traced as one span.
func (in *intake) handle(c *cluster, a *arrival) {
	ctx, span := in.stages.Trace(in.stages.Extract(in.ctx, a.header), stage.Decide, a.received)
	span.State(a.key.Cluster, a.key.Epoch, a.key.Seq)
	_, queued := in.stages.StartAt(ctx, stage.Queue, a.received)
	queued.End(nil)
	err := in.decide(ctx, c, a)
	if err != nil {
		c.refuse() // before the cluster hears of it and goes on
		in.tell(c.id, a.reply, a.key, asRefusal(err))
	}
	span.End(err)
}

// decide decides on a state and publishes the decision. Its error goes to the
// cluster.
func (in *intake) decide(ctx context.Context, c *cluster, a *arrival) error {
	s, done, err := in.open(ctx, &a.parcel)
	defer done()
	if err != nil {
		return err
	}
	a.parcel.Data = nil // the state is read: a large one need not be kept twice
	if in.resume(c) {
		if v, p := c.recheck(a.key); v != accepted {
			in.follow(c, a, v, p)
			return nil
		}
	}
	if gap := c.follow(s); gap > 0 {
		in.stats.add(gap, func(s *Stats) *int64 { return &s.Gaps })
		if c.tellable(wire.EventGap) {
			in.logger.Info("states are missing", "cluster", c.id, "before", a.key.Seq, "missing", gap)
			e := wire.NewEvent(wire.EventGap, c.id, strconv.FormatInt(gap, 10)+" states before this one never came in")
			e.Epoch, e.StateSeq = a.key.Epoch, a.key.Seq
			in.events.tell(e)
		}
	}
	p, err := in.answer(ctx, c, s, a)
	if err != nil {
		return err
	}
	c.settle(p)
	_, span := in.stages.Start(ctx, stage.Publish)
	in.publisher.send(c, p)
	span.End(nil)
	return nil
}

// answer decides on a state: the allocation, and the configuration if one is
// due.
func (in *intake) answer(ctx context.Context, c *cluster, s *wire.State, a *arrival) (*published, error) {
	p := &published{key: s.Key()}
	var configuration *nats.Msg
	var wg sync.WaitGroup
	if in.guard.Configures() && c.due(s, in.window) {
		wg.Go(func() {
			if m, data := in.configure(ctx, s, in.window); m != nil {
				configuration = in.publisher.configurationMsg(m, data)
			}
		})
	}
	m, data, err := in.allocate(ctx, s, a.received)
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if configuration != nil {
		p.msgs = append(p.msgs, configuration)
	}
	allocation := in.publisher.allocationMsg(m, data, a.parcel.accept)
	if err := in.publisher.fits(allocation); err != nil {
		in.stats.refuse(err.Code)
		in.events.tell(wire.NewEvent(wire.EventDropped, c.id, err.Message))
		return nil, err
	}
	p.msgs = append(p.msgs, allocation)
	for _, m := range p.msgs {
		in.stages.Inject(ctx, m.Header)
	}
	p.at = time.Now()
	return p, nil
}

// resume recovers what an earlier process, or another service, decided for this
// cluster, so that nothing is decided twice. It reports whether it had to.
func (in *intake) resume(c *cluster) bool {
	if !c.resuming() {
		return false
	}
	ctx, cancel := context.WithTimeout(in.ctx, resumeTimeout)
	defer cancel()
	var am, cm *nats.Msg
	err := bus.Retry(ctx, in.publisher.nc, func(ctx context.Context) (err error) {
		am, cm, err = in.publisher.last(ctx, c.id)
		return err
	})
	if err != nil {
		in.publisher.unread(c.id, err)
		if !in.publisher.nc.IsConnected() {
			c.lose() // asked again with the next state; a stream that does not answer is not, it would cost each of them this time
		}
		return true
	}
	in.publisher.raise(c, am, cm)
	if cm != nil {
		if m, err := decodeConfiguration(cm); err == nil {
			c.window = &configWindow{epoch: m.Epoch, next: m.Now + m.Window}
		}
	}
	if am == nil {
		return true
	}
	if m, err := decodeAllocation(am); err == nil && c.older(m.Key()) {
		p := &published{key: m.Key(), stored: true}
		if cm != nil && cm.Header.Get(wire.HeaderStateSeq) == am.Header.Get(wire.HeaderStateSeq) && cm.Header.Get(wire.HeaderEpoch) == am.Header.Get(wire.HeaderEpoch) {
			p.msgs = append(p.msgs, cm)
		}
		p.msgs = append(p.msgs, am)
		c.settle(p)
		in.stats.count(func(s *Stats) *int64 { return &s.Resumed })
	}
	return true
}

// decodeAllocation reads an allocation as it was published.
func decodeAllocation(m *nats.Msg) (*wire.Allocation, error) {
	data, err := wire.Decompress(m.Data, m.Header.Get(wire.HeaderEncoding), nil)
	if err != nil {
		return nil, err
	}
	return wire.DecodeAllocation(data)
}

// decodeConfiguration does the same for a configuration.
func decodeConfiguration(m *nats.Msg) (*wire.Configuration, error) {
	data, err := wire.Decompress(m.Data, m.Header.Get(wire.HeaderEncoding), nil)
	if err != nil {
		return nil, err
	}
	return wire.DecodeConfiguration(data)
}

// refuse counts a refusal and tells the cluster.
func (in *intake) refuse(id, reply string, k wire.Key, err error) {
	refusal := asRefusal(err)
	in.stats.refuse(refusal.Code)
	in.tell(id, reply, k, refusal)
}

// tell sends a refusal to the sender, if it said where, and to observers.
func (in *intake) tell(id, reply string, k wire.Key, refusal *wire.Error) {
	if in.publisher.follows(id) {
		return // the service that publishes for the cluster tells it
	}
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
