package bus_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func startBroker(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func await(t *testing.T, what <-chan struct{}) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(patience):
		t.Fatal("did not happen")
	}
}

// A message published while disconnected fails at once and never lands: a stale
// decision must not be stored after the reconnect.
func TestNothingIsBuffered(t *testing.T) {
	b := startBroker(t)
	proxy := servetest.NewProxy(t, b.URL())
	up, down := make(chan struct{}, 8), make(chan struct{}, 8)
	nc, err := bus.Connect(t.Context(), bus.Config{
		URL: proxy.URL(), OnUp: func() { up <- struct{}{} }, OnDown: func(error) { down <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	listener, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sub, err := listener.SubscribeSync("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Flush(); err != nil {
		t.Fatal(err)
	}
	proxy.Cut()
	await(t, down)
	if err := nc.Publish("x", []byte("stale")); err == nil {
		t.Error("publish while disconnected: got no error")
	}
	proxy.Mend()
	await(t, up)
	if err := nc.Publish("x", []byte("fresh")); err != nil {
		t.Fatal(err)
	}
	m, err := sub.NextMsg(patience)
	if err != nil || string(m.Data) != "fresh" {
		t.Errorf("got %v, %v, want the fresh message only", m, err)
	}
}

// A connection that breaks under a flush breaks it only if it stays away.
func TestFlushOutlivesTheConnection(t *testing.T) {
	proxy := servetest.NewProxy(t, startBroker(t).URL())
	nc, err := bus.Connect(t.Context(), bus.Config{URL: proxy.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 20 {
		flushed := make(chan error, 1)
		go func() { flushed <- bus.Flush(ctx, nc) }()
		proxy.Cut()
		proxy.Mend()
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
	}
	proxy.Cut()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := bus.Flush(short, nc); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("away: got %v, want the end of the context", err)
	}
	nc.Close()
	if err := bus.Flush(ctx, nc); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("closed: got %v, want ErrConnectionClosed", err)
	}
}

// A broker that refuses who comes back, such as while its users are changed, is tried
// until it does not.
func TestReconnectOutlivesRefusals(t *testing.T) {
	run := func(port int, password string) *server.Server {
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, Username: "me", Password: password, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(s.Shutdown)
		if !s.ReadyForConnections(patience) {
			t.Fatal("NATS server is not ready")
		}
		return s
	}
	first := run(server.RANDOM_PORT, "right")
	port := first.Addr().(*net.TCPAddr).Port
	up, refused := make(chan struct{}, 8), make(chan struct{}, 64)
	nc, err := bus.Connect(t.Context(), bus.Config{
		URL: first.ClientURL(), Options: []nats.Option{nats.UserInfo("me", "right")}, OnUp: func() { up <- struct{}{} },
		OnFail: func(err error) {
			if errors.Is(err, nats.ErrAuthorization) {
				refused <- struct{}{}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	first.Shutdown()
	first.WaitForShutdown()
	second := run(port, "another")
	for range 3 { // two in a row end a connection of the client library by default
		await(t, refused)
	}
	second.Shutdown()
	second.WaitForShutdown()
	run(port, "right")
	await(t, up)
	if _, err := nc.RTT(); err != nil {
		t.Error(err)
	}
}

// A request whose connection is lost before or after it is sent is asked again; one
// that ends otherwise is not, and nobody waits beyond the context.
func TestRetryOutlivesTheConnection(t *testing.T) {
	b := startBroker(t)
	proxy := servetest.NewProxy(t, b.URL())
	down := make(chan struct{}, 8)
	nc, err := bus.Connect(t.Context(), bus.Config{URL: proxy.URL(), OnDown: func(error) { down <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	service, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	asked := make(chan struct{}, 64)
	first := true
	if _, err := service.Subscribe("ask", func(m *nats.Msg) { // the first question gets no answer
		if asked <- struct{}{}; !first {
			_ = m.Respond([]byte("yes"))
		}
		first = false
	}); err != nil {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var answer *nats.Msg
	done := make(chan error, 1)
	ask := func() {
		done <- bus.Retry(ctx, nc, func(ctx context.Context) (err error) {
			answer, err = nc.RequestWithContext(ctx, "ask", nil)
			return err
		})
	}
	go ask()
	<-asked
	proxy.Cut() // after it was sent
	proxy.Mend()
	if err := <-done; err != nil || string(answer.Data) != "yes" {
		t.Fatalf("got %v, %v", answer, err)
	}
	await(t, down)
	proxy.Cut()
	go ask() // before it is sent
	proxy.Mend()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	await(t, down)

	boom, calls := errors.New("boom"), 0
	if err := bus.Retry(ctx, nc, func(context.Context) error { calls++; return boom }); !errors.Is(err, boom) || calls != 1 {
		t.Errorf("got %v after %d calls, want the error at once", err, calls)
	}
	// Who answers may be back later than the connection; without a loss it is not waited for.
	for i, answers := range [][]error{{nats.ErrDisconnected, nats.ErrNoResponders, nats.ErrNoResponders, nil}, {nats.ErrNoResponders}} {
		calls = 0
		err := bus.Retry(ctx, nc, func(context.Context) error { calls++; return answers[calls-1] })
		if calls != len(answers) || !errors.Is(err, answers[calls-1]) {
			t.Errorf("%d: got %v after %d calls", i, err, calls)
		}
	}
	proxy.Cut()
	await(t, down)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := bus.Retry(short, nc, func(context.Context) error { return nc.Publish("x", nil) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("away: got %v, want the end of the context", err)
	}
}

func TestLast(t *testing.T) {
	b := startBroker(t)
	nc, err := bus.Connect(t.Context(), bus.Config{URL: b.URL(), Inbox: "_INBOX_me"})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := bus.Last(ctx, nc, "NONE", "s.a"); err == nil || errors.Is(err, bus.ErrNoMessage) {
		t.Errorf("no such stream: got %v, want an error", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.*"}, AllowDirect: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.Last(ctx, nc, "S", "s.a"); !errors.Is(err, bus.ErrNoMessage) {
		t.Errorf("empty subject: got %v, want ErrNoMessage", err)
	}
	for _, text := range []string{"old", "new"} {
		if _, err := js.Publish(ctx, "s.a", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := bus.Last(ctx, nc, "S", "s.a"); err != nil || string(m.Data) != "new" {
		t.Errorf("got %v, %v, want the newest", m, err)
	}
}

func TestConnectErrors(t *testing.T) {
	began := time.Now()
	if _, err := bus.Connect(t.Context(), bus.Config{URL: "nats://127.0.0.1:x"}); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("impossible URL: got %v after %v, want an error at once", err, time.Since(began))
	}
	_, err := bus.Connect(t.Context(), bus.Config{URL: "nats://127.0.0.1:1", Timeout: 120 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "120ms") {
		t.Errorf("nobody listens: got %v, want the address and the time", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bus.Connect(ctx, bus.Config{URL: "nats://127.0.0.1:1"}); err == nil {
		t.Error("cancelled: got no error")
	}
}
