package serve_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// idle answers at once: what is measured is everything but the policy.
type idle struct{}

func (idle) Decide(_ context.Context, s *env.State) (env.Allocation, error) {
	return env.NewAllocation(len(s.Jobs)), nil
}

// idleGuard decides nothing, whoever is asked.
func idleGuard() guard.Config { return guard.Config{Policy: idle{}, Fallback: idle{}, Greedy: idle{}} }

// benchService returns a service on an embedded broker and a connection to it.
func benchService(b *testing.B, g guard.Config) (*serve.Server, *nats.Conn) {
	b.Helper()
	s, err := serve.New(serve.Config{Guard: g, Broker: broker.Config{StoreDir: b.TempDir()}})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	nc, err := nats.Connect(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	return s, nc
}

// measure reports the quantiles of f's time.
func measure(b *testing.B, f func()) {
	b.Helper()
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		f()
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	for name, q := range map[string]float64{"p50-µs": 0.5, "p99-µs": 0.99} {
		b.ReportMetric(float64(times[int(q*float64(len(times)-1))])/1e3, name)
	}
}

func request(b *testing.B, nc *nats.Conn, subject string, body []byte) {
	m, err := nc.Request(subject, body, patience)
	if err != nil || m.Header.Get("Nats-Service-Error-Code") != "" {
		b.Fatalf("%v, %v", m, err)
	}
}

// BenchmarkRequest compares a decision on 12 jobs with a bare round trip of the
// same bytes to a responder on the same broker.
func BenchmarkRequest(b *testing.B) {
	s, nc := benchService(b, idleGuard())
	body := servetest.Body(b, servetest.State(b, 1, 1))
	b.Run("bare", func(b *testing.B) {
		responder, err := nats.Connect(s.URL())
		if err != nil {
			b.Fatal(err)
		}
		defer responder.Close()
		if _, err := responder.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data[:100]) }); err != nil {
			b.Fatal(err)
		}
		if err := responder.Flush(); err != nil {
			b.Fatal(err)
		}
		measure(b, func() { request(b, nc, "echo", body) })
	})
	b.Run("decide", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		measure(b, func() { request(b, nc, "yardmaster.v1.svc.decide", body) })
	})
}

// BenchmarkPublished is the way of a replayed round: from a published state to
// the subscriber's decision, with every decision synced to disk meanwhile.
func BenchmarkPublished(b *testing.B) {
	_, nc := benchService(b, idleGuard())
	msgs := make(chan *nats.Msg, 16)
	if _, err := nc.ChanSubscribe("yardmaster.v1.decision.c1.*", msgs); err != nil {
		b.Fatal(err)
	}
	state := servetest.State(b, 1, 1)
	measure(b, func() {
		state.Seq++
		if err := nc.Publish("yardmaster.v1.state.c1", servetest.Body(b, state)); err != nil {
			b.Fatal(err)
		}
		if a, err := wire.DecodeAllocation((<-msgs).Data); err != nil || a.StateSeq != state.Seq {
			b.Fatalf("%+v, %v", a, err)
		}
	})
}
