//go:build unix

package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// learned returns a policy of the default size with random parameters: what it
// decides does not matter, what it takes does.
func learned(b *testing.B) *neural.Policy {
	b.Helper()
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 32, Value: 64})
	p.Initialize(rng.New(1, "bench/policy"))
	policy, err := neural.NewPolicy(models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p))
	if err != nil {
		b.Fatal(err)
	}
	return policy
}

// crowd returns a state of so many jobs with so many strategies each, on a
// cluster of four GPU types with this many GPUs of each.
func crowd(jobs, strategies, gpus int) *wire.State {
	r := rng.New(1, "bench/crowd")
	s := &wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: 1, Seq: 1}
	s.State = env.State{Now: time.Hour, RoundLen: 6 * time.Minute}
	for t := range 4 {
		s.State.Cluster.Types = append(s.State.Cluster.Types, env.GPUType{Name: fmt.Sprintf("G%d", t), MemoryGiB: 32})
		for range gpus / 8 {
			s.State.Cluster.Nodes = append(s.State.Cluster.Nodes, env.Node{Type: t, GPUs: 8})
		}
	}
	for i := range jobs {
		j := env.JobState{
			ID: int64(i + 1), Model: "ResNet-50", Batch: 32, GPUs: 2, Weight: 1, Submit: time.Duration(i) * time.Millisecond,
			Remaining: 1000 * (1 + r.Float64()), Current: env.Idle, Waiting: time.Minute,
		}
		for k := range strategies {
			j.Strategies = append(j.Strategies, env.Strategy{Type: k % 4, GPUs: 1 << (k / 4), Nodes: 1, Restart: 30 * time.Second, Throughput: (1 + r.Float64()) * float64(int(1)<<(k/4))})
		}
		s.State.Jobs = append(s.State.Jobs, j)
	}
	return s
}

// quantile returns a quantile of times in microseconds.
func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[int(q*float64(len(times)-1))]) / 1e3
}

// BenchmarkLatency is a decision over NATS by a learned policy, beside its parts
// measured in turn with it: a bare round trip of the same bytes, and the policy's
// own time on the same state. What is left is what the service adds: reading,
// guarding, writing.
func BenchmarkLatency(b *testing.B) {
	for _, size := range []struct {
		name                   string
		jobs, strategies, gpus int
	}{{"64-gpus", 30, 6, 16}, {"1000-jobs", 1000, 16, 256}, {"10000-jobs", 10_000, 16, 2560}} {
		b.Run(size.name, func(b *testing.B) { benchLatency(b, crowd(size.jobs, size.strategies, size.gpus)) })
	}
}

func benchLatency(b *testing.B, state *wire.State) {
	policy := learned(b)
	g := servetest.Guard(b)
	g.Policy, g.Greedy = policy, heuristic.FIFO{}
	s, nc := benchService(b, g)
	body := servetest.Body(b, state)
	answer, err := s.Decide(b.Context(), body)
	if err != nil {
		b.Fatal(err)
	}
	message := packed(b, state, body)
	responder, err := nats.Connect(s.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(responder.Close)
	if _, err := responder.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(answer) }); err != nil {
		b.Fatal(err)
	}
	if err := responder.Flush(); err != nil {
		b.Fatal(err)
	}
	var bare, own, decide, added []time.Duration
	clock := func(f func()) time.Duration {
		start := time.Now()
		f()
		return time.Since(start)
	}
	for b.Loop() {
		trip := clock(func() { askPacked(b, nc, "echo", message) })
		alone := clock(func() {
			if _, err := policy.Decide(b.Context(), &state.State); err != nil {
				b.Fatal(err)
			}
		})
		whole := clock(func() { askPacked(b, nc, "yardmaster.v1.svc.decide", message) })
		bare, own, decide, added = append(bare, trip), append(own, alone), append(decide, whole), append(added, whole-trip-alone)
	}
	for _, part := range []struct {
		name  string
		times []time.Duration
	}{{"bare", bare}, {"policy", own}, {"decide", decide}, {"added", added}} {
		b.ReportMetric(quantile(part.times, 0.5), part.name+"-p50-µs")
		b.ReportMetric(quantile(part.times, 0.99), part.name+"-p99-µs")
	}
	b.ReportMetric(float64(len(body)), "bytes")
	b.ReportMetric(float64(len(message.Data)), "sent-bytes")
	if s.Stats().BySource[string(wire.SourcePolicy)] < int64(len(decide)) {
		b.Fatalf("not all decisions are the policy's: %v", s.Stats().BySource)
	}
}

// packed returns the request for a decision on state, whose text is body, as the
// client sends it: compressed where it is large.
func packed(b *testing.B, state *wire.State, body []byte) *nats.Msg {
	b.Helper()
	p, err := wire.Pack(body, 256<<10)
	if err != nil {
		b.Fatal(err)
	}
	m := &nats.Msg{Data: p.Data, Header: nats.Header{}}
	if p.Encoding != "" {
		m.Header.Set(wire.HeaderEncoding, p.Encoding)
		m.Header.Set(wire.HeaderCluster, state.Cluster)
		m.Header.Set(wire.HeaderEpoch, strconv.FormatUint(state.Epoch, 10))
		m.Header.Set(wire.HeaderStateSeq, strconv.FormatUint(state.Seq, 10))
	}
	return m
}

// askPacked sends a copy of m as a request and fails unless it is answered.
func askPacked(b *testing.B, nc *nats.Conn, subject string, m *nats.Msg) {
	reply, err := nc.RequestMsg(&nats.Msg{Subject: subject, Data: m.Data, Header: m.Header}, patience)
	if err != nil || reply.Header.Get("Nats-Service-Error-Code") != "" {
		b.Fatalf("%s: %v, %v", subject, reply, err)
	}
}

// BenchmarkClusters is how many decisions are made in a second of processor
// time, the clients' included, while this many clusters publish as fast as they
// are answered. Each cluster is a goroutine of eight connections.
func BenchmarkClusters(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchClusters(b, n) })
	}
}

func benchClusters(b *testing.B, n int) {
	g := servetest.Guard(b)
	g.Policy = learned(b)
	s, _ := benchService(b, g)
	var conns []*nats.Conn
	for range min(8, n) {
		nc, err := nats.Connect(s.URL())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		conns = append(conns, nc)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	var left atomic.Int64
	left.Store(int64(b.N))
	var work sync.WaitGroup
	before := processTime(b)
	b.ResetTimer()
	for i := range n {
		work.Go(func() { pretend(ctx, b, conns[i%len(conns)], fmt.Sprintf("c%d", i), &left) })
	}
	work.Wait()
	b.ReportMetric(float64(b.N)/(processTime(b)-before).Seconds(), "decisions/cpu-s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

// pretend publishes states of one cluster, each once the one before is answered,
// while some are left.
func pretend(ctx context.Context, b *testing.B, nc *nats.Conn, cluster string, left *atomic.Int64) {
	state := crowd(30, 6, 16)
	state.Cluster = cluster
	msgs := make(chan *nats.Msg, 16)
	sub, err := nc.ChanSubscribe("yardmaster.v1.decision."+cluster+".allocation", msgs)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = sub.Unsubscribe() }()
	for left.Add(-1) >= 0 {
		body := servetest.Body(b, state)
		state.Seq++
		if err := nc.Publish("yardmaster.v1.state."+cluster, body); err != nil {
			b.Error(err)
			return
		}
		select {
		case <-msgs:
		case <-ctx.Done():
			b.Error("no decision came")
			return
		}
	}
}

// processTime returns the processor time that this process took.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
