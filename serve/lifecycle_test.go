package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestRunDrains(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	port := freePort(t)
	s, err := serve.New(serve.Config{Guard: servetest.Guard(t), Broker: broker.Config{StoreDir: t.TempDir(), Port: port}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	up, err := bus.Connect(ctx, bus.Config{URL: fmt.Sprint("nats://127.0.0.1:", port)})
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	eventually(t, "the service is up", func() bool {
		_, err := up.Request("yardmaster.v1.svc.status", nil, patience)
		return err == nil
	})
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
}

// Two services on one store folder would both write to it.
func TestTwoServicesOneFolder(t *testing.T) {
	dir := t.TempDir()
	first := start(t, serve.Config{Broker: broker.Config{StoreDir: dir}})
	second, err := serve.New(serve.Config{Guard: servetest.Guard(t), Broker: broker.Config{StoreDir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	err = second.Start(t.Context())
	if !errors.Is(err, broker.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("second service: got %v, want ErrLocked with the folder's name", err)
	}
	if _, code := first.request(t, servetest.Body(t, servetest.State(t, 1, 1))); code != "" {
		t.Errorf("first service after the second tried: got code %s", code)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, serve.Config{Broker: broker.Config{StoreDir: dir}}) // the folder is free again
}

// A state that is in work when the service is told to stop is still decided and
// stored, and the next service knows it.
func TestDrainFinishesWorkAndRestartResumes(t *testing.T) {
	dir := t.TempDir()
	guard := servetest.Guard(t)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	guard.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		entered <- struct{}{}
		<-release
		return heuristic.SRTF{}.Decide(ctx, s)
	})
	guard.ConfigurerName = "tuner@1"
	guard.Configurer = servetest.Configurer(func(context.Context, *env.State) (env.Configuration, error) {
		return env.Configuration{Scheduler: "tiresias"}, nil
	})
	first := start(t, serve.Config{Guard: guard, Broker: broker.Config{StoreDir: dir}})
	msgs := first.follow(t, "c1")
	body := servetest.Body(t, servetest.State(t, 1, 5))
	first.publish(t, "c1", body)
	<-entered
	closed := make(chan error)
	go func() { closed <- first.Close() }()
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	next(t, msgs) // the configuration
	sent := next(t, msgs)

	// Another policy, so that deciding again would show.
	guard.Policy = heuristic.FIFO{}
	second := start(t, serve.Config{Guard: guard, Broker: broker.Config{StoreDir: dir}})
	msgs = second.follow(t, "c1")
	second.publish(t, "c1", body)
	next(t, msgs)
	if again := next(t, msgs); !bytes.Equal(sent.Data, again.Data) {
		t.Errorf("after the restart: got %s, want %s", again.Data, sent.Data)
	}
	state := servetest.State(t, 1, 6)
	second.publish(t, "c1", servetest.Body(t, state))
	if a := nextAllocation(t, msgs); a.StateSeq != 6 { // and no configuration: the window goes on
		t.Errorf("got %d, want 6", a.StateSeq)
	}
	if stats := second.Stats(); stats.Resumed != 1 || stats.Duplicates != 1 || stats.Allocations != 1 || stats.Configurations != 0 {
		t.Errorf("got %+v", stats)
	}
}

// freePort returns a port that nobody listens on now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A service starts through a connection that is lost again and again meanwhile, and
// asks the stream for earlier decisions through one.
func TestStartOutlivesTheConnection(t *testing.T) {
	b := external(t, broker.Config{})
	proxy := servetest.NewProxy(t, b.URL())
	ctx, cancel := context.WithCancel(t.Context())
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for i := range 20 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Duration(i) * time.Millisecond):
			}
			proxy.Cut()
			proxy.Mend()
		}
	})
	defer cutting.Wait()
	defer cancel()
	s := service{startQuietly(t, serve.Config{URL: proxy.URL(), Guard: servetest.Guard(t)}), connect(t, b.URL())}
	decisions := s.follow(t, "c1")
	state := servetest.State(t, 1, 1)
	eventually(t, "a decision", func() bool {
		s.publish(t, "c1", servetest.Body(t, state))
		state.Seq++
		select {
		case <-decisions:
			return true
		case <-time.After(100 * time.Millisecond): // the service may be connecting again
			return false
		}
	})
}

// After a reconnect the stream cannot be restored, because it is another's: the
// service is not ready and says why, and is once that is mended.
func TestStreamIsRestoredWhenItCan(t *testing.T) {
	port, dir := freePort(t), t.TempDir()
	first := external(t, broker.Config{Port: port})
	s := start(t, serve.Config{URL: first.URL()})
	other := external(t, broker.Config{StoreDir: dir})
	streams := func(nc *nats.Conn) jetstream.JetStream {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	if _, err := streams(connect(t, other.URL())).CreateStream(t.Context(), jetstream.StreamConfig{Name: wire.DefaultStream, Subjects: []string{"other.>"}}); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := external(t, broker.Config{Port: port, StoreDir: dir})
	reason := func() string {
		for _, c := range s.Checks() {
			if c.Name == serve.CheckStream && c.Err != nil {
				return c.Err.Error()
			}
		}
		return ""
	}
	eventually(t, "not ready", func() bool { return strings.Contains(reason(), "other.>") })
	if err := streams(connect(t, second.URL())).DeleteStream(t.Context(), wire.DefaultStream); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready again", func() bool { return reason() == "" })
}

// The broker goes and comes back with an empty folder: the service reconnects,
// makes its stream again, publishes what nobody heard, and goes on.
func TestBrokerRestart(t *testing.T) {
	port := freePort(t)
	first := external(t, broker.Config{Port: port})
	guard := servetest.Guard(t)
	entered, release := make(chan struct{}, 16), make(chan struct{})
	guard.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		entered <- struct{}{}
		<-release
		return heuristic.SRTF{}.Decide(ctx, s)
	})
	s := start(t, serve.Config{Guard: guard, URL: first.URL()})
	s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, 1)))
	<-entered
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	close(release)
	eventually(t, "the publish failed", func() bool { return s.Stats().PublishErrors > 0 })

	second := external(t, broker.Config{Port: port})
	back := service{s.Server, connect(t, second.URL())}
	msgs := back.follow(t, "c1")
	if a := nextAllocation(t, msgs); a.StateSeq != 1 {
		t.Errorf("after the reconnect: got %d, want 1", a.StateSeq)
	}
	back.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, 2)))
	if a := nextAllocation(t, msgs); a.StateSeq != 2 {
		t.Errorf("next state: got %d, want 2", a.StateSeq)
	}
	eventually(t, "stored", func() bool { return s.Stats().Stored >= 2 })
}

func TestStartFailsClearly(t *testing.T) {
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	tests := []struct {
		name string
		cfg  serve.Config
		want string
	}{
		{"folder is a file", serve.Config{Broker: broker.Config{StoreDir: file}}, file},
		{"port is taken", serve.Config{Broker: broker.Config{StoreDir: t.TempDir(), Port: port}}, strconv.Itoa(port)},
		{"not a loopback address", serve.Config{Broker: broker.Config{StoreDir: t.TempDir(), Host: "0.0.0.0"}}, "loopback"},
		{"not a URL", serve.Config{URL: "nats://127.0.0.1:x"}, "127.0.0.1:x"},
	}
	for _, test := range tests {
		test.cfg.Guard = servetest.Guard(t)
		s, err := serve.New(test.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error that names %s", test.name, err, test.want)
			s.Close()
		}
	}
}

// Another prefix and stream: two services side by side on one broker.
func TestPrefix(t *testing.T) {
	b := external(t, broker.Config{})
	one := start(t, serve.Config{URL: b.URL()})
	other := start(t, serve.Config{URL: b.URL(), Prefix: "acme.yard"})
	thief, err := serve.New(serve.Config{Guard: servetest.Guard(t), URL: b.URL(), Prefix: "thief", Stream: wire.DefaultStream})
	if err != nil {
		t.Fatal(err)
	}
	if err := thief.Start(t.Context()); err == nil || !strings.Contains(err.Error(), wire.DefaultStream) {
		t.Errorf("service on another's stream: got %v, want an error that names it", err)
	}
	msgs := subscribe(t, one.nc, "acme.yard.v1.decision.c1.*")
	if err := one.nc.Publish("acme.yard.v1.state.c1", servetest.Body(t, servetest.State(t, 1, 1))); err != nil {
		t.Fatal(err)
	}
	if a := nextAllocation(t, msgs); a.Source != wire.SourcePolicy {
		t.Errorf("got %+v", a)
	}
	if one.Stats().States != 0 || other.Stats().States != 1 {
		t.Errorf("states: got %d and %d, want 0 and 1", one.Stats().States, other.Stats().States)
	}
}

// The stream is deleted under a service that shares its broker: decisions are
// still heard, and counted as not stored.
func TestDecisionsWithoutStream(t *testing.T) {
	b := external(t, broker.Config{})
	s := start(t, serve.Config{URL: b.URL()})
	msgs := s.follow(t, "c1")
	state := servetest.State(t, 1, 1)
	for ; state.Seq <= 4; state.Seq++ {
		if state.Seq == 2 {
			// A decision is heard before the stream has it.
			eventually(t, "the first is stored", func() bool { return s.Stats().Stored == 1 })
			js, err := jetstream.New(s.nc)
			if err != nil {
				t.Fatal(err)
			}
			if err := js.DeleteStream(t.Context(), wire.DefaultStream); err != nil {
				t.Fatal(err)
			}
		}
		s.publish(t, "c1", servetest.Body(t, state))
		if a := nextAllocation(t, msgs); a.StateSeq != state.Seq {
			t.Errorf("got %d, want %d", a.StateSeq, state.Seq)
		}
	}
	eventually(t, "counted", func() bool { return s.Stats().PublishErrors == 3 })
	if stats := s.Stats(); stats.Stored != 1 || stats.Unconfirmed != 2 || stats.Fenced != 0 {
		t.Errorf("got %d stored, %d unconfirmed, %d fenced, errors %v, want 1, 2, 0", stats.Stored, stats.Unconfirmed, stats.Fenced, stats.PublishErrorsBy)
	}
}
