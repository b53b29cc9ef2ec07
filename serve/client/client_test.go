package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// startBroker starts a broker without a service.
func startBroker(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func startService(t *testing.T, url string) *serve.Server {
	t.Helper()
	cfg := serve.Config{Guard: servetest.Guard(t), URL: url}
	cfg.Guard.Configurer = servetest.Configurer(func(context.Context, *env.State) (env.Configuration, error) {
		return env.Configuration{Scheduler: "tiresias"}, nil
	})
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Config{URL: url, Cluster: "c1", Retry: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func raw(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func wait(t *testing.T, c *client.Client, seq uint64) (*client.Decision, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return c.Wait(ctx, seq)
}

func publish(t *testing.T, c *client.Client, s *env.State) uint64 {
	t.Helper()
	seq, err := c.PublishState(s)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func TestPublishAndWait(t *testing.T) {
	b := startBroker(t)
	s := startService(t, b.URL())
	c := connect(t, b.URL())
	state := &servetest.State(t, 1, 1).State
	for want := uint64(1); want <= 5; want++ {
		seq := publish(t, c, state)
		d, err := wait(t, c, seq)
		if err != nil {
			t.Fatal(err)
		}
		if seq != want || d.Message.StateSeq != want || d.Message.Epoch != c.Epoch() {
			t.Errorf("got decision %+v for state %d, want %d", d.Message, seq, want)
		}
		if err := d.Allocation.Validate(state); err != nil {
			t.Error(err)
		}
		if cfg, ok := c.Configuration(); !ok || cfg.StateSeq != 1 || cfg.Configuration.Scheduler != "tiresias" {
			t.Errorf("configuration: got %+v, want the one for state 1", cfg)
		}
		if err := c.Ack(d, nil); err != nil {
			t.Error(err)
		}
	}
	for end := time.Now().Add(patience); s.Stats().Applied < 5; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("acks: got %d, want 5", s.Stats().Applied)
		}
	}
}

// A decision is handed out once.
func TestWaitTwice(t *testing.T) {
	b := startBroker(t)
	startService(t, b.URL())
	c := connect(t, b.URL())
	seq := publish(t, c, &servetest.State(t, 1, 1).State)
	if _, err := wait(t, c, seq); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // time for several retries
	defer cancel()
	if d, err := c.Wait(ctx, seq); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second wait: got %+v, %v, want deadline exceeded", d, err)
	}
	if stats := c.Stats(); stats.Received != 1 || stats.Duplicates == 0 {
		t.Errorf("got %+v, want 1 received and the repeats dropped", stats)
	}
}

// The state is published again until somebody listens.
func TestServiceStartsLater(t *testing.T) {
	b := startBroker(t)
	c := connect(t, b.URL())
	seq := publish(t, c, &servetest.State(t, 1, 1).State)
	got := make(chan error, 1)
	go func() {
		_, err := wait(t, c, seq)
		got <- err
	}()
	startService(t, b.URL())
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// The connection breaks after the state went out; the decision is made
// meanwhile. It is read back from the stream.
func TestDecisionMissedWhileDisconnected(t *testing.T) {
	b := startBroker(t)
	s := startService(t, b.URL())
	nc := raw(t, b.URL())
	proxy := servetest.NewProxy(t, b.URL())
	c, err := client.Connect(t.Context(), client.Config{URL: proxy.URL(), Cluster: "c1", Epoch: 3, Retry: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := servetest.State(t, 3, 1)
	proxy.Cut()
	// The publish may succeed into a dead socket, or fail: the same to Wait.
	seq, _ := c.PublishState(&state.State)
	if err := nc.Publish("yardmaster.v1.state.c1", servetest.Body(t, state)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); s.Stats().Stored < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("stored: got %d, want 2", s.Stats().Stored)
		}
	}
	proxy.Mend()
	if _, err := wait(t, c, seq); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Configuration(); !ok {
		t.Error("the configuration was not read back")
	}
	if stats := c.Stats(); stats.Recovered != 1 || stats.Reconnects == 0 {
		t.Errorf("got %+v, want the decision recovered after a reconnect", stats)
	}
	if n := s.Stats().Allocations; n != 1 {
		t.Errorf("decided %d times, want once", n)
	}
}

// The service's refusal ends the wait.
func TestRefusedState(t *testing.T) {
	b := startBroker(t)
	startService(t, b.URL())
	c := connect(t, b.URL())
	state := servetest.State(t, 1, 1).State
	state.Cluster.Nodes = nil
	seq := publish(t, c, &state)
	_, err := wait(t, c, seq)
	if refusal, ok := errors.AsType[*wire.Error](err); !ok || refusal.Code != wire.CodeInvalid || refusal.Path != "state.cluster" {
		t.Errorf("got %v, want invalid at state.cluster", err)
	}
	good := &servetest.State(t, 1, 1).State
	if _, err := wait(t, c, publish(t, c, good)); err != nil {
		t.Errorf("next state: %v", err)
	}
}

// A service gone mad: what does not fit is not handed out as a decision.
func TestBadDecisions(t *testing.T) {
	b := startBroker(t)
	nc := raw(t, b.URL())
	state := servetest.State(t, 9, 1)
	send := func(seq uint64, change func(*wire.Allocation)) {
		s := *state
		s.Seq = seq
		a := wire.NewAllocation(&s, env.NewAllocation(len(s.State.Jobs)))
		a.Source = wire.SourcePolicy
		change(a)
		data, err := wire.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Publish("yardmaster.v1.decision.c1.allocation", data); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.Connect(t.Context(), client.Config{URL: b.URL(), Cluster: "c1", Epoch: 9, Retry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	seq := publish(t, c, &state.State)
	if err := nc.Publish("yardmaster.v1.decision.c1.allocation", []byte("{")); err != nil {
		t.Fatal(err)
	}
	send(1, func(a *wire.Allocation) { a.Cluster = "c2" })
	send(1, func(a *wire.Allocation) { a.Epoch = 8 })
	send(1, func(a *wire.Allocation) { a.Picks = []wire.Pick{{Job: 1 << 40}} })
	d, err := wait(t, c, seq)
	if refusal, ok := errors.AsType[*wire.Error](err); !ok || refusal.Code != wire.CodeInvalid || d == nil || d.Allocation != nil {
		t.Errorf("unknown job: got %+v, %v, want the message and an error", d, err)
	}
	if stats := c.Stats(); stats.Malformed != 2 || stats.Foreign != 1 || stats.Received != 1 {
		t.Errorf("got %+v, want 2 malformed, 1 foreign, 1 received", stats)
	}

	seq = publish(t, c, &state.State)
	send(1, func(*wire.Allocation) {}) // late, for a state that is over
	send(2, func(a *wire.Allocation) { a.Source = wire.SourceLP })
	send(2, func(a *wire.Allocation) { a.Source = wire.SourceGreedy }) // a second one for the same state
	if d, err = wait(t, c, seq); err != nil || d.Message.Source != wire.SourceLP {
		t.Errorf("got %+v, %v, want the first decision for state 2", d, err)
	}
}

// An acknowledgement alone proves nothing: the broker may have been killed after it
// handed out the decision and before it had it on disk, and be back by now.
func TestAckStoredLooksForTheDecision(t *testing.T) {
	b := startBroker(t)
	startService(t, b.URL())
	c := connect(t, b.URL())
	state := &servetest.State(t, 1, 1).State
	js, err := jetstream.New(raw(t, b.URL()))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), wire.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d, err := wait(t, c, publish(t, c, state))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AckStored(t.Context(), d, nil); err != nil {
			t.Errorf("stored: %v", err)
		}
		if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("yardmaster.v1.decision.c1.allocation")); err != nil {
			t.Fatal(err)
		}
		if err := c.AckStored(t.Context(), d, nil); !errors.Is(err, client.ErrNotStored) {
			t.Errorf("lost: got %v, want ErrNotStored", err)
		}
	}
}

// small starts a broker that takes messages of at most limit bytes.
func small(t *testing.T, limit int32) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, MaxPayload: limit, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("broker is not ready")
	}
	return s.ClientURL()
}

// A broker's limit on messages is no limit on states: they are compressed and
// cut. Only the wire's own is.
func TestLargeForTheBroker(t *testing.T) {
	url := small(t, 4096)
	s := startService(t, url)
	c := connect(t, url)
	state := &servetest.State(t, 1, 1).State
	for range 3 {
		d, err := wait(t, c, publish(t, c, state))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ack(d, nil); err != nil {
			t.Fatal(err)
		}
		if d, err = c.Ask(t.Context(), state); err != nil || d.Allocation.Validate(state) != nil {
			t.Fatalf("ask: got %+v, %v", d, err)
		}
	}
	stats, got := c.Stats(), s.Stats()
	if stats.Chunks == 0 && stats.SentBytes > 6*4096 {
		t.Errorf("client: got %+v, want chunks or small messages", stats)
	}
	if got.EncodedBytes == 0 || got.DecodedBytes < 2*got.EncodedBytes || got.Chunks != stats.Chunks || got.ChunksDropped != 0 {
		t.Errorf("service: got %+v", got)
	}
	huge := *state
	for len(huge.Jobs) < 80 {
		huge.Jobs = append(huge.Jobs, huge.Jobs[0])
		huge.Jobs[len(huge.Jobs)-1].Model = strings.Repeat("x", 1<<20)
	}
	if _, err := c.PublishState(&huge); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("beyond the wire's limit: got %v, want ErrTooLarge", err)
	}
}

// Whichever of several services a request goes to has its chunks.
func TestChunksReachEveryService(t *testing.T) {
	url := small(t, 2048)
	one, two := startService(t, url), startService(t, url)
	c := connect(t, url)
	state := &servetest.State(t, 1, 1).State
	for range 20 {
		d, err := c.Ask(t.Context(), state)
		if err != nil || d.Allocation.Validate(state) != nil {
			t.Fatalf("got %+v, %v", d, err)
		}
	}
	if a, b := one.Stats(), two.Stats(); a.Allocations == 0 || b.Allocations == 0 || a.Allocations+b.Allocations != 20 || c.Stats().Chunks == 0 {
		t.Errorf("got %d and %d decisions on %d chunks, want both to decide, 20 in all, in chunks", a.Allocations, b.Allocations, c.Stats().Chunks)
	}
	if _, err := wait(t, c, publish(t, c, state)); err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsWait(t *testing.T) {
	b := startBroker(t)
	c := connect(t, b.URL())
	seq := publish(t, c, &servetest.State(t, 1, 1).State)
	got := make(chan error, 1)
	go func() {
		_, err := wait(t, c, seq)
		got <- err
	}()
	c.Close()
	if err := <-got; !errors.Is(err, client.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

func TestConnectFailsClearly(t *testing.T) {
	_, err := client.Connect(t.Context(), client.Config{Cluster: "a.b", Epoch: 1 << 60, Prefix: "a b", Retry: -1})
	for _, want := range []string{"URL", "Cluster", "Epoch", "Prefix", "Retry"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
	_, err = client.Connect(t.Context(), client.Config{URL: "nats://127.0.0.1:1", Cluster: "c1", ConnectTimeout: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("nobody listens: got %v, want an error that names the address", err)
	}
}
