package serve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Fault 1, the broker is killed and started again: the service is not ready but
// alive, nothing it decided meanwhile is buffered, and it goes on within seconds.
func TestFault01BrokerKilled(t *testing.T) {
	n := servetest.StartNATS(t, 0)
	g := servetest.Guard(t)
	entered, release := make(chan struct{}, 16), make(chan struct{})
	g.Policy = servetest.Decider(func(ctx context.Context, s *env.State) (env.Allocation, error) {
		entered <- struct{}{}
		<-release
		return heuristic.SRTF{}.Decide(ctx, s)
	})
	s := startQuietly(t, serve.Config{Guard: g, URL: n.URL, UnreadyAfter: 200 * time.Millisecond})
	c, err := client.Connect(t.Context(), client.Config{URL: n.URL, Cluster: "c1", Epoch: 1, Retry: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	state := &servetest.State(t, 1, 1).State
	if _, err := c.PublishState(state); err != nil {
		t.Fatal(err)
	}
	<-entered
	n.Kill()
	close(release)
	eventually(t, "the decision is withheld or fails", func() bool { stats := s.Stats(); return stats.PublishErrors+stats.Fenced > 0 })
	unready := func() bool { return failing(s) == serve.CheckNATS }
	eventually(t, "not ready", unready)
	stored := s.Stats().Stored
	n.Restart(t)
	back := time.Now()
	d := decision(t, c, state) // of a state that the service never saw before
	took := time.Since(back)
	t.Logf("a decision %v after the broker was back", took.Round(time.Millisecond))
	if d.Message.StateSeq != 2 || took > 5*time.Second {
		t.Errorf("got a decision for %d after %v, want 2 within 5 s", d.Message.StateSeq, took)
	}
	eventually(t, "ready", func() bool { return failing(s) == "" })
	eventually(t, "stored", func() bool { return s.Stats().Stored > stored })
	checkOrder(t, n.URL, "c1")
}

// failing returns the first check that fails, or "".
func failing(s *serve.Server) string {
	for _, c := range s.Checks() {
		if c.Err != nil {
			return c.Name
		}
	}
	return ""
}

// stored is a decision in the stream.
type stored struct {
	seq    uint64 // of the state
	server string
	term   uint64
}

// checkOrder checks that the stream holds each decision of a cluster once, in
// the order of its states and of the terms, and returns them.
func checkOrder(t *testing.T, url, cluster string) (list []stored) {
	t.Helper()
	nc := connect(t, url)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), wire.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.State.Consumers != 0 {
		t.Errorf("the stream has %d consumers, want none", info.State.Consumers)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil || m.Subject != "yardmaster.v1.decision."+cluster+".allocation" {
			continue // removed by a limit, or another subject
		}
		d := stored{server: m.Header.Get(wire.HeaderServer)}
		d.seq, _ = strconv.ParseUint(m.Header.Get(wire.HeaderStateSeq), 10, 64)
		d.term, _ = strconv.ParseUint(m.Header.Get(wire.HeaderTerm), 10, 64)
		if n := len(list); n > 0 && (d.seq <= list[n-1].seq || d.term < list[n-1].term) {
			t.Errorf("the stream holds %+v after %+v", d, list[n-1])
		}
		list = append(list, d)
	}
	return list
}

// playService is a service in a process of its own: URL and id.
func playService(args []string) int {
	s, err := serve.New(serve.Config{
		Guard: guard.Config{Policy: heuristic.SRTF{}, ModelName: "srtf@1", Fallback: heuristic.FIFO{}, Greedy: heuristic.FIFO{}, Deadline: 10 * time.Second},
		URL:   args[0], ID: args[1], LeaseTTL: 700 * time.Millisecond,
	})
	if err == nil {
		err = s.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	select {}
}

// heard is a decision as a subscriber hears it.
type heard struct {
	stored
	at    time.Time
	newer bool // than all before: what the protocol lets a cluster take
}

// listen collects the decisions for c1 that subscribers hear.
func listen(t *testing.T, nc *nats.Conn) (all func() []heard) {
	t.Helper()
	var mu sync.Mutex
	var list []heard
	newest := uint64(0)
	_, err := nc.Subscribe("yardmaster.v1.decision.c1.allocation", func(m *nats.Msg) {
		d := heard{at: time.Now()}
		d.server = m.Header.Get(wire.HeaderServer)
		d.seq, _ = strconv.ParseUint(m.Header.Get(wire.HeaderStateSeq), 10, 64)
		d.newer = d.seq > newest
		newest = max(newest, d.seq)
		mu.Lock()
		list = append(list, d)
		mu.Unlock()
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() []heard {
		mu.Lock()
		defer mu.Unlock()
		return append([]heard(nil), list...)
	}
}

// publishEvery publishes states of c1 until the test ends.
func publishEvery(t *testing.T, nc *nats.Conn, pause time.Duration) (newest *atomic.Uint64) {
	t.Helper()
	newest = new(atomic.Uint64)
	state := servetest.State(t, 1, 1)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for seq := uint64(1); ; seq++ {
			state.Seq = seq
			data, err := wire.Encode(state)
			if err == nil && nc.Publish("yardmaster.v1.state.c1", data) == nil {
				newest.Store(seq)
			}
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return newest
}

// Fault 19, two services: one publishes. It is stopped, as by a hypervisor, in the
// middle of its work, again and again: the other takes over; when the first goes
// on it publishes nothing that is stored or that a cluster would take, at most the
// one message that was on its way, and stands by until the second is stopped.
func TestFault19ZombieLeader(t *testing.T) {
	b := external(t, broker.Config{})
	services := map[string]*servetest.Process{}
	for _, id := range []string{"one", "two"} {
		services[id] = servetest.Start(t, "service", b.URL(), id)
		if line := <-services[id].Lines(); line != "ready" {
			t.Fatalf("service %s: got %q", id, line)
		}
	}
	nc := connect(t, b.URL())
	all := listen(t, nc)
	newest := publishEvery(t, nc, 3*time.Millisecond)
	eventually(t, "a first decision", func() bool { return len(all()) > 0 })
	r := rand.New(rand.NewPCG(19, 19))
	for round := range 4 {
		time.Sleep(time.Duration(r.IntN(300_000)) * time.Microsecond)
		decisions := all()
		leader := decisions[len(decisions)-1].server
		other := map[string]string{"one": "two", "two": "one"}[leader]
		if other == "" {
			t.Fatalf("decision by %q", leader)
		}
		services[leader].Stop()
		stopped := time.Now()
		var first heard
		eventually(t, other+" takes over", func() bool {
			first = all()[len(all())-1]
			return first.server == other
		})
		recovery := first.at.Sub(stopped)
		if recovery > 3*time.Second {
			t.Errorf("round %d: took over after %v, want at most 3 s", round, recovery)
		}
		services[leader].Continue()
		woken := time.Now()
		time.Sleep(900 * time.Millisecond)
		seen, late := 0, 0
		for _, d := range all() {
			switch {
			case !d.at.After(woken):
			case d.server == other:
				seen++
			case d.newer:
				t.Errorf("round %d: %s published a decision for %d that a cluster would take, %v after it went on", round, leader, d.seq, d.at.Sub(woken))
			default:
				late++
			}
		}
		// One may have been between the look at the lease and the socket.
		if late > 1 {
			t.Errorf("round %d: %s published %d decisions after it went on, want none, or the one that was on its way", round, leader, late)
		}
		if seen == 0 {
			t.Errorf("round %d: no decision after %s went on", round, leader)
		}
		t.Logf("round %d: %s took over from %s after %v", round, other, leader, recovery.Round(time.Millisecond))
	}
	last := newest.Load()
	eventually(t, "all is decided", func() bool { d := all(); return d[len(d)-1].seq >= last })
	list := checkOrder(t, b.URL(), "c1") // in which no late one is
	if len(list) < 20 || list[len(list)-1].term < 2 {
		t.Errorf("the stream holds %d decisions, the last %+v", len(list), list[len(list)-1])
	}
}

// playSubscriber follows the decisions for c1 and prints the sequence number of
// each newer one: URL.
func playSubscriber(args []string) int {
	up := make(chan struct{}, 1)
	up <- struct{}{}
	nc, err := bus.Connect(context.Background(), bus.Config{URL: args[0], OnUp: func() {
		select {
		case up <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var mu sync.Mutex
	newest := uint64(0)
	take := func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if a, err := wire.DecodeAllocation(m.Data); err == nil && a.StateSeq > newest {
			newest = a.StateSeq
			fmt.Println(newest)
		}
	}
	if _, err := nc.Subscribe("yardmaster.v1.decision.c1.allocation", take); err != nil {
		return 1
	}
	for range up { // after each connect what was missed
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if m, err := bus.Last(ctx, nc, wire.DefaultStream, "yardmaster.v1.decision.c1.allocation"); err == nil {
			take(m)
		}
		cancel()
	}
	return 0
}

// Fault 25, a subscriber is stopped while decisions go on: nobody else notices,
// and when it goes on it has the newest decision, not each of those it missed.
func TestFault25StoppedSubscriber(t *testing.T) {
	s := start(t, serve.Config{})
	p := servetest.Start(t, "subscriber", s.URL())
	other := s.follow(t, "c2")
	state := servetest.State(t, 1, 1)
	send := func(cluster string) {
		state.Cluster = cluster
		s.publish(t, cluster, servetest.Body(t, state))
	}
	send("c1")
	if line := <-p.Lines(); line != "1" {
		t.Fatalf("subscriber: got %q, want 1", line)
	}
	p.Stop()
	var slowest time.Duration
	for state.Seq = 2; state.Seq <= 300; state.Seq++ {
		send("c1")
		began := time.Now()
		send("c2")
		if a := nextAllocation(t, other); a.StateSeq != state.Seq {
			t.Fatalf("c2: got %d, want %d", a.StateSeq, state.Seq)
		}
		slowest = max(slowest, time.Since(began))
	}
	newest := state.Seq - 1
	eventually(t, "all is decided", func() bool { stats := s.Stats(); return stats.Allocations+stats.Superseded >= 2*300-1 })
	if stats := s.Stats(); stats.PublishErrors != 0 {
		t.Errorf("while a subscriber was stopped: %d publish errors", stats.PublishErrors)
	}
	t.Logf("slowest decision for another cluster: %v", slowest.Round(time.Microsecond))
	p.Continue()
	want := strconv.FormatUint(newest, 10)
	for line := range p.Lines() {
		if line == want {
			return
		}
	}
	t.Errorf("the subscriber never got decision %s", want)
}

// Fault 26, all clusters lose their connection and come back at once: each gets
// its decision, no consumer is left behind, and a cluster that floods is held to
// its rate without harm to others.
func TestFault26ReconnectStorm(t *testing.T) {
	clusters := 1000
	if servetest.Race {
		clusters = 100
	}
	b := external(t, broker.Config{})
	proxy := servetest.NewProxy(t, b.URL())
	g := servetest.Guard(t)
	g.Policy = idle{}
	s := startQuietly(t, serve.Config{Guard: g, URL: b.URL(), Lease: serve.LeaseOff, MaxRate: 50})
	state := &servetest.State(t, 1, 1).State
	list := make([]*client.Client, clusters)
	each(clusters, func(i int) {
		c, err := client.Connect(t.Context(), client.Config{URL: proxy.URL(), Cluster: fmt.Sprint("c", i), ConnectTimeout: patience, Retry: 2 * time.Second})
		if err != nil {
			t.Error(err)
			return
		}
		list[i] = c
	})
	if t.Failed() {
		t.FailNow()
	}
	defer each(clusters, func(i int) { list[i].Close() })
	decide := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		each(clusters, func(i int) {
			seq, _ := list[i].PublishState(state) // Wait tries again
			if _, err := list[i].Wait(ctx, seq); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	decide()
	proxy.Cut()
	proxy.Mend()
	began := time.Now()
	decide()
	t.Logf("%d clusters have their decision %v after all were cut off", clusters, time.Since(began).Round(time.Millisecond))
	if stats := s.Stats(); stats.Clusters != clusters {
		t.Errorf("got %d clusters, want %d", stats.Clusters, clusters)
	}
	checkOrder(t, b.URL(), "c0")

	flood := servetest.State(t, 1, 1)
	nc := connect(t, b.URL())
	for flood.Seq = 1; flood.Seq <= 500; flood.Seq++ {
		flood.Cluster = "flood"
		if err := nc.Publish("yardmaster.v1.state.flood", servetest.Body(t, flood)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	decision(t, list[1], state)
	eventually(t, "the flood is held back", func() bool { return s.Stats().RateLimited > 300 })
	if refused := s.Stats().Refused["overloaded"]; refused < 300 {
		t.Errorf("refused %d, want the flood", refused)
	}
}

// each calls f for 0 to n-1, some at once, and waits.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	places := make(chan struct{}, 50)
	for i := range n {
		places <- struct{}{}
		wg.Go(func() {
			f(i)
			<-places
		})
	}
	wg.Wait()
}
