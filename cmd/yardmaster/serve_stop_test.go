package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

const (
	patience        = 20 * time.Second
	allocationsOfC1 = "yardmaster.v1.decision.c1.allocation"
)

// witness is a cluster that sends states as fast as they are answered, and
// remembers every decision that it heard.
type witness struct {
	t     *testing.T
	state *wire.State
	mu    sync.Mutex
	heard map[uint64][]byte // by state_seq
	last  uint64            // newest heard
}

// hear notes a decision. One that was heard before must be the same.
func (w *witness) hear(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get(wire.HeaderStateSeq), 10, 64)
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, again := w.heard[seq]; err != nil || again && !bytes.Equal(before, m.Data) {
		w.t.Errorf("decision %d: heard %s, before %s, %v", seq, m.Data, before, err)
	}
	w.heard[seq] = m.Data
	w.last = max(w.last, seq)
}

func (w *witness) newest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// send publishes states until the connection is gone or stop is closed.
func (w *witness) send(nc *nats.Conn, stop <-chan struct{}) {
	for nc.IsConnected() {
		w.state.Seq++
		body, err := wire.Encode(w.state)
		if err != nil {
			w.t.Error(err)
			return
		}
		if nc.Publish("yardmaster.v1.state.c1", body) != nil || nc.Flush() != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// stored checks that the stream kept what was heard: a service that was told to
// stop has stored what it published, or published nothing.
func (w *witness) stored(nc *nats.Conn) {
	w.t.Helper()
	if w.newest() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	m, err := bus.Last(ctx, nc, wire.DefaultStream, allocationsOfC1)
	if err != nil {
		w.t.Fatalf("heard decision %d, but the stream has none: %v", w.newest(), err)
	}
	got, err := strconv.ParseUint(m.Header.Get(wire.HeaderStateSeq), 10, 64)
	if err != nil || got < w.newest() {
		w.t.Errorf("heard decision %d, but the stream ends with %d: %v", w.newest(), got, err)
	}
	w.hear(m)
}

func connect(t *testing.T, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

// Fault 23: a real process gets a SIGTERM at a random moment while it publishes,
// or while it starts. It exits with 0, and what its subscriber heard is in the
// stream of the next process. YARDMASTER_STOPS=500 tries more moments.
func TestFault23StoppedWhilePublishing(t *testing.T) {
	runs := 20
	if text := os.Getenv("YARDMASTER_STOPS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(23, 0))
	store := filepath.Join(t.TempDir(), "store")
	w := &witness{t: t, state: servetest.State(t, 5, 0), heard: make(map[uint64][]byte)}
	published := 0
	for i := range runs {
		if t.Failed() {
			break
		}
		before := w.newest()
		stopOnce(t, w, store, r, i)
		if w.newest() > before {
			published++
		}
	}
	if published < runs/2 {
		t.Errorf("only %d of %d processes published anything before they were stopped", published, runs)
	}
	p := startProcess(t, nil, "serve", "--run", t.TempDir(), "--store", store, "--port", "0")
	nc := connect(t, p.await(t, "serving", 0)["url"].(string))
	defer nc.Close()
	w.stored(nc)
	t.Logf("%d processes stopped, %d of them after they had published, %d decisions heard", runs, published, len(w.heard))
}

// stopOnce runs a service for a random time.
func stopOnce(t *testing.T, w *witness, store string, r *rand.Rand, i int) {
	t.Helper()
	p := startProcess(t, nil, "serve", "--run", t.TempDir(), "--store", store, "--port", "0", "--http", "127.0.0.1:0")
	if r.IntN(5) == 0 { // while it starts
		p.await(t, "operations", 0)
		time.Sleep(time.Duration(r.Int64N(int64(50 * time.Millisecond))))
		p.signal(t, syscall.SIGTERM)
		if code := p.exit(t); code != 0 {
			t.Errorf("run %d: stopped while starting: exit %d:\n%s", i, code, p.log())
		}
		return
	}
	nc := connect(t, p.await(t, "serving", 0)["url"].(string))
	defer nc.Close()
	w.stored(nc)
	if _, err := nc.Subscribe("yardmaster.v1.decision.c1.>", w.hear); err != nil {
		t.Fatal(err)
	}
	stop, sent := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sent)
		w.send(nc, stop)
	}()
	time.Sleep(time.Duration(r.Int64N(int64(80 * time.Millisecond))))
	p.signal(t, syscall.SIGTERM)
	code := p.exit(t)
	close(stop)
	<-sent
	if code != 0 {
		t.Errorf("run %d: exit %d, want 0:\n%s", i, code, p.log())
	}
}

// saveModel puts a model into a run. It knows nothing and fits.
func saveModel(t *testing.T, run string) {
	t.Helper()
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 4, Value: 4})
	p.Initialize(rand.New(rand.NewPCG(1, 1)))
	if err := models.Save(filepath.Join(run, "model"), models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p)); err != nil {
		t.Fatal(err)
	}
}

// Fault 23: a second SIGTERM does not wait for what the first one waits for: here
// for a policy that takes a minute.
func TestFault23SecondSignal(t *testing.T) {
	dir := t.TempDir()
	saveModel(t, dir)
	service, url, _ := serveProcess(t, nil, "--run", dir, "--deadline", "2m", "--guard-hedge", "0.5", "--drill-policy-delay", "1m")
	nc := connect(t, url)
	defer nc.Close()
	if err := nc.Publish("yardmaster.v1.state.c1", servetest.Body(t, servetest.State(t, 5, 1))); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for { // until it works on the state
		m, err := nc.Request("yardmaster.v1.svc.status", nil, patience)
		if err != nil {
			t.Fatal(err)
		}
		var stats struct{ States int64 }
		if err := json.Unmarshal(m.Data, &stats); err != nil {
			t.Fatal(err)
		}
		if stats.States == 1 {
			break
		}
	}
	service.signal(t, syscall.SIGTERM)
	service.await(t, "stopping", 0)
	select {
	case <-service.ended:
		t.Fatalf("it did not wait for the decision in work:\n%s", service.log())
	case <-time.After(100 * time.Millisecond):
	}
	service.signal(t, syscall.SIGTERM)
	if code := service.exit(t); code != -int(syscall.SIGTERM) {
		t.Errorf("exit %d, want the end by SIGTERM (143 in a shell):\n%s", code, service.log())
	}
}
