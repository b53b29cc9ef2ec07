package serve_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestMain(m *testing.M) {
	servetest.Play(map[string]servetest.Part{"service": playService, "subscriber": playSubscriber})
	goleak.VerifyTestMain(m)
}

// patience bounds every wait of a test: long, because it ends the test anyway.
const patience = 20 * time.Second

// service is a running service and a connection to its broker.
type service struct {
	*serve.Server
	nc *nats.Conn
}

// start starts a service on an embedded broker.
func start(t *testing.T, cfg serve.Config) service {
	t.Helper()
	if cfg.Guard.Fallback == nil {
		cfg.Guard = servetest.Guard(t)
	}
	if cfg.URL == "" && cfg.Broker.StoreDir == "" {
		cfg.Broker.StoreDir = t.TempDir()
	}
	s, err := serve.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return service{s, connect(t, s.URL())}
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// external starts a broker that is no part of a service.
func external(t *testing.T, cfg broker.Config) *broker.Broker {
	t.Helper()
	if cfg.StoreDir == "" {
		cfg.StoreDir = t.TempDir()
	}
	b, err := broker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) // a second close does nothing
	return b
}

// follow subscribes to a cluster's decisions.
func (s service) follow(t *testing.T, cluster string) <-chan *nats.Msg {
	t.Helper()
	return subscribe(t, s.nc, "yardmaster.v1.decision."+cluster+".*")
}

func subscribe(t *testing.T, nc *nats.Conn, subject string) <-chan *nats.Msg {
	t.Helper()
	msgs := make(chan *nats.Msg, 1024)
	if _, err := nc.ChanSubscribe(subject, msgs); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return msgs
}

// publish sends a state and returns the subject of refusals.
func (s service) publish(t *testing.T, cluster string, body []byte) {
	t.Helper()
	if err := s.nc.Publish("yardmaster.v1.state."+cluster, body); err != nil {
		t.Fatal(err)
	}
}

// next returns the next message, or fails.
func next(t *testing.T, msgs <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-msgs:
		return m
	case <-time.After(patience):
		t.Fatal("no message came")
		return nil
	}
}

// nextAllocation returns the next message as an allocation.
func nextAllocation(t *testing.T, msgs <-chan *nats.Msg) *wire.Allocation {
	t.Helper()
	a, err := wire.DecodeAllocation(next(t, msgs).Data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// request asks the decide endpoint and returns the reply and its error code.
func (s service) request(t *testing.T, body []byte) (*nats.Msg, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m, err := s.nc.RequestWithContext(ctx, "yardmaster.v1.svc.decide", body)
	if err != nil {
		t.Fatal(err)
	}
	return m, m.Header.Get(micro.ErrorCodeHeader)
}

// eventually waits until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
