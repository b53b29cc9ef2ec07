package broker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/serve/broker"
)

// A restart keeps address and messages; clients, in the process and on a socket,
// come back by themselves.
func TestRestartInPlace(t *testing.T) {
	b := start(t, broker.Config{StoreDir: t.TempDir()})
	if err := errors.Join(b.Health(), b.Probe()); err != nil {
		t.Fatal(err)
	}
	again := make(chan struct{}, 2)
	var conns []*nats.Conn
	for _, where := range []struct {
		url  string
		opts []nats.Option
	}{{b.URL(), nil}, {"", []nats.Option{b.InProcess()}}} {
		opts := append(where.opts, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectHandler(func(*nats.Conn) { again <- struct{}{} }))
		nc, err := nats.Connect(where.url, opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		conns = append(conns, nc)
	}
	js, err := jetstream.New(conns[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte("before")); err != nil {
		t.Fatal(err)
	}
	url := b.URL()
	if err := b.Restart(); err != nil {
		t.Fatal(err)
	}
	if b.URL() != url {
		t.Errorf("URL after the restart: got %s, want %s", b.URL(), url)
	}
	for range conns {
		select {
		case <-again:
		case <-time.After(20 * time.Second):
			t.Fatal("a client did not come back")
		}
	}
	for i, nc := range conns {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		ack, err := js.Publish(t.Context(), "s", []byte("after"))
		if err != nil || ack.Sequence != uint64(2+i) {
			t.Errorf("connection %d: got %+v, %v, want sequence %d", i, ack, err, 2+i)
		}
	}
	if err := b.Health(); err != nil {
		t.Error(err)
	}
}
