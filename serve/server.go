package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/stage"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Bounds of starting and stopping.
const (
	streamTimeout = 10 * time.Second
	drainTimeout  = 5 * time.Second // for each stage
	restoreEvery  = time.Second     // between tries to restore the stream after a reconnect
)

// Bounds of the states that wait for the intake. Beyond them the client library
// drops new ones and reports a slow consumer.
const (
	pendingStates     = 8192
	pendingStateBytes = 512 << 20
)

// Server is the service. Start it once, then Close it; or Run it.
type Server struct {
	cfg       Config
	subjects  wire.Subjects
	handler   *Handler
	broker    *broker.Broker // nil with an external one
	nc        *nats.Conn
	publisher *publisher
	intake    *intake
	endpoints *endpoints
	svc       micro.Service
	states    *nats.Subscription
	chunks    *nats.Subscription
	acks      *nats.Subscription
	health    health

	// whole is true once all parts are there: those who look at a service may do so
	// while it starts.
	whole atomic.Bool

	abort   atomic.Pointer[context.CancelCauseFunc] // ends a start; nil but for then
	cancel  context.CancelFunc                      // ends the decisions in the making
	back    chan struct{}                           // a reconnect happened; capacity 1
	keeping sync.WaitGroup                          // the goroutine that follows reconnects
	once    sync.Once
	closed  error
}

// New returns a service that is not started: it holds no file and no port.
func New(cfg Config) (*Server, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	subjects, err := wire.NewSubjects(cfg.Prefix)
	if err != nil {
		return nil, err
	}
	handler, err := NewHandler(cfg)
	if err != nil {
		return nil, err
	}
	handler.events = &events{subjects: subjects, server: cfg.ID, logger: cfg.Logger}
	handler.guard.told = handler.events.tell
	return &Server{cfg: cfg, subjects: subjects, handler: handler, back: make(chan struct{}, 1)}, nil
}

// Start returns once the service takes states. ctx bounds only the start.
// After an error the service is closed.
func (s *Server) Start(ctx context.Context) error {
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	s.health.begin()
	return nil
}

// Run starts the service, serves until ctx ends, and drains. It returns nil
// after a clean drain.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}

func (s *Server) start(ctx context.Context) error {
	ctx, abort := context.WithCancelCause(ctx)
	s.abort.Store(&abort)
	defer s.abort.Store(nil)
	defer abort(nil)
	err := s.assemble(ctx)
	if denied := context.Cause(ctx); err != nil && errors.Is(denied, nats.ErrPermissionViolation) {
		err = fmt.Errorf("%w: %w", err, denied) // not only that it took too long
	}
	return err
}

func (s *Server) assemble(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	// Models are warm before the first state is taken.
	if err := s.handler.guard.open(ctx, s.nc); err != nil {
		return err
	}
	var err error
	if s.publisher, err = newPublisher(s.nc, &s.cfg, s.subjects, s.handler.stats); err != nil {
		return fmt.Errorf("serve: jetstream: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, streamTimeout)
	defer cancel()
	if err := bus.Retry(ctx, s.nc, s.publisher.ensure); err != nil {
		return err
	}
	decisions, stop := context.WithCancel(context.Background())
	s.cancel = stop
	opener := newOpener(s.handler)
	s.intake = &intake{
		opener: opener, ctx: decisions, publisher: s.publisher, window: s.cfg.Window, rate: s.cfg.MaxRate, skew: s.cfg.MaxSkew,
		known:  clusters{max: s.cfg.MaxClusters, byID: make(map[string]*cluster)},
		places: make(chan struct{}, s.cfg.Concurrency),
	}
	s.endpoints = &endpoints{
		opener: opener, ctx: guard.Requested(decisions), nc: s.nc, subjects: s.subjects, status: s.Stats, publisher: s.publisher,
		places: make(chan struct{}, s.cfg.Concurrency), asides: make(chan struct{}, maxAsides),
	}
	if err := s.share(ctx); err != nil {
		return err
	}
	s.keeping.Go(func() { s.keep(decisions) })
	s.keeping.Go(func() { s.sweep(decisions) })
	if s.broker != nil {
		s.keeping.Go(func() { s.watch(decisions) })
	}
	s.whole.Store(true)
	return s.listen(ctx)
}

// connect starts the embedded broker, if that is wanted, and connects.
func (s *Server) connect(ctx context.Context) (err error) {
	cfg := bus.Config{
		URL: s.cfg.URL, Name: "yardmaster/service", Inbox: "_INBOX_yardmaster", Options: s.cfg.Options,
		OnUp: func() {
			s.health.up()
			select {
			case s.back <- struct{}{}:
			default:
			}
		},
		OnDown: func(err error) {
			s.health.lost()
			if err != nil {
				s.cfg.Logger.Warn("disconnected from NATS", "error", err)
			}
		},
		OnFail: s.failed,
	}
	if s.cfg.URL == "" {
		if s.broker, err = broker.Start(s.cfg.Broker); err != nil {
			return err
		}
		cfg.Options = []nats.Option{s.broker.InProcess()}
	}
	if s.nc, err = bus.Connect(ctx, cfg); err == nil {
		s.handler.events.nc.Store(s.nc)
	}
	return err
}

// listen subscribes, and returns once the broker knows of it or ctx ends.
func (s *Server) listen(ctx context.Context) (err error) {
	if s.svc, err = s.endpoints.add(&s.cfg, s.subjects); err != nil {
		return err
	}
	operators := operators{endpoints: s.endpoints, server: s.cfg.ID, places: make(chan struct{}, maxAdmin)}
	if err := operators.add(s.svc); err != nil {
		return err
	}
	if s.acks, err = s.nc.Subscribe(s.subjects.Ack("*"), s.acknowledge); err != nil {
		return fmt.Errorf("serve: subscribe to acks: %w", err)
	}
	if s.chunks, err = s.nc.Subscribe(s.subjects.Chunk("*"), s.intake.addChunk); err != nil {
		return fmt.Errorf("serve: subscribe to chunks: %w", err)
	}
	if err := s.chunks.SetPendingLimits(pendingStates, pendingStateBytes); err != nil {
		return fmt.Errorf("serve: limit pending chunks: %w", err)
	}
	if s.states, err = s.nc.Subscribe(s.subjects.State("*"), s.intake.receive); err != nil {
		return fmt.Errorf("serve: subscribe to states: %w", err)
	}
	// The callback only stores what comes in, so this is room for a burst.
	if err := s.states.SetPendingLimits(pendingStates, pendingStateBytes); err != nil {
		return fmt.Errorf("serve: limit pending states: %w", err)
	}
	if err := bus.Flush(ctx, s.nc); err != nil {
		return fmt.Errorf("serve: subscribe: %w", err)
	}
	return nil
}

// keep restores after each reconnect what a broker may have lost: the stream,
// and the newest decisions, which nobody heard while it was away.
func (s *Server) keep(ctx context.Context) {
	var again <-chan time.Time // after a try that failed; nil where none did
	for said := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-s.back:
			s.cfg.Logger.Info("reconnected to NATS", "url", s.nc.ConnectedUrl())
			said = false
		}
		again = nil
		bounded, cancel := context.WithTimeout(ctx, streamTimeout)
		err := s.publisher.ensure(bounded)
		if s.publisher.leases != nil {
			err = errors.Join(err, s.publisher.leases.Ensure(bounded))
		}
		cancel()
		s.health.checked(err)
		if err != nil {
			if !said { // once: it is tried every second
				s.cfg.Logger.Warn("the stream of decisions is not there", "error", err)
			}
			said, again = true, time.After(restoreEvery)
			continue
		}
		said = false
		for _, c := range s.intake.known.all() {
			if p := c.recent(dedupWindow / 2); p != nil && s.publisher.leads(c.id) {
				s.intake.again(c, p)
			}
		}
	}
}

// acknowledge counts what became of decisions.
func (s *Server) acknowledge(m *nats.Msg) {
	a, err := wire.DecodeAck(m.Data)
	switch {
	case err != nil:
		s.handler.stats.refuse(asRefusal(err).Code)
	case a.Cluster != wire.LastToken(m.Subject):
		s.handler.stats.refuse(wire.CodeConflict)
	case s.publisher.follows(a.Cluster):
		// counted by the service that published the decision
	case len(a.Jobs) > 0:
		s.partial(a)
	case a.Applied:
		s.handler.stats.count(func(s *Stats) *int64 { return &s.Applied })
	default:
		s.handler.stats.count(func(s *Stats) *int64 { return &s.Rejected })
		s.cfg.Logger.Warn("decision rejected", "id", a.ID, "reason", a.Reason)
	}
}

// partial counts a decision that was applied in part. Nothing is assumed from it:
// the cluster's next state says what runs.
func (s *Server) partial(a *wire.Ack) {
	var failed []int64
	for _, j := range a.Jobs {
		if !j.Applied && len(failed) < 10 {
			failed = append(failed, j.Job)
		}
	}
	s.handler.stats.count(func(s *Stats) *int64 { return &s.Partial })
	s.handler.stats.count(func(s *Stats) *int64 { return &s.Rejected })
	s.cfg.Logger.Warn("decision applied in part", "id", a.ID, "failed", failed, "reason", a.Reason)
	e := wire.NewEvent(wire.EventPartial, a.Cluster, fmt.Sprintf("not applied to jobs %v: %s", failed, a.Reason))
	e.Epoch, e.StateSeq = a.Epoch, a.StateSeq
	s.handler.events.tell(e)
}

// URL returns where clusters connect, once the service is started.
func (s *Server) URL() string {
	if s.broker != nil {
		return s.broker.URL()
	}
	return s.cfg.URL
}

// Stats returns what the service did so far.
func (s *Server) Stats() Stats {
	stats := s.handler.stats.snapshot()
	stats.LatencyP50 = s.handler.stages.Quantile(stage.Decide, 0.50)
	stats.LatencyP99 = s.handler.stages.Quantile(stage.Decide, 0.99)
	if s.whole.Load() {
		stats.Model, stats.Models = s.handler.guard.policyName(), s.handler.guard.snapshot()
		stats.Clusters = s.intake.known.len()
		stats.StaleClusters = s.intake.known.stale()
		stats.ChunksDropped = s.intake.parts.Dropped()
		s.leaders(&stats)
	}
	if guards := s.handler.guard.status(); len(guards) > 0 {
		stats.Guards = guards[:min(len(guards), MaxGuards)]
	}
	return stats
}

// Decide answers one state message, as the decide endpoint does.
func (s *Server) Decide(ctx context.Context, body []byte) ([]byte, error) {
	return s.handler.Decide(ctx, body)
}

// Close drains the service: no new states, decisions in the making are
// finished and stored, then the connection and the broker go. It is safe to
// call twice.
func (s *Server) Close() error {
	s.once.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Server) close() error {
	s.health.drain()
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if s.nc != nil {
		note(drain(s.nc, s.states))
		note(drain(s.nc, s.chunks))
		note(drain(s.nc, s.acks))
		if s.svc != nil {
			note(s.svc.Stop())
		}
	}
	if s.cancel != nil {
		s.intake.work.close() // each decision keeps its deadline
		s.endpoints.work.close()
		s.cancel()
		s.keeping.Wait()
		bounded, cancel := context.WithTimeout(context.Background(), drainTimeout)
		note(s.publisher.flush(bounded))
		note(s.handler.guard.Wait(bounded))
		if s.publisher.leases != nil {
			s.publisher.leases.Close(bounded)
		}
		cancel()
	}
	s.handler.guard.close()
	if s.nc != nil {
		if s.nc.IsConnected() {
			note(s.nc.FlushTimeout(drainTimeout)) // replies
		}
		s.nc.Close()
	}
	if s.broker != nil {
		note(s.broker.Close())
	}
	return errors.Join(errs...)
}

// drain lets a subscription handle what it has, and returns once its last
// callback did. While the broker is away it only ends the subscription: a drain
// would wait for the broker's answer.
func drain(nc *nats.Conn, sub *nats.Subscription) error {
	switch {
	case sub == nil || !sub.IsValid():
		return nil
	case !nc.IsConnected():
		return sub.Unsubscribe()
	}
	done := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(done) })
	if err := sub.Drain(); err != nil {
		return fmt.Errorf("serve: drain %s: %w", sub.Subject, err)
	}
	select {
	case <-done:
		return nil
	case <-time.After(drainTimeout):
		return fmt.Errorf("serve: drain %s: not done within %v", sub.Subject, drainTimeout)
	}
}
