package soak_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/replay"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/soak"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// killsEnv raises the number of kills; `make soak` sets it.
const killsEnv = "YARDMASTER_KILLS"

// patience bounds every wait: long, because it ends the test anyway.
const patience = 30 * time.Second

// book is what the clusters acknowledged.
type book struct {
	mu       sync.Mutex
	acked    map[string][]string // IDs by cluster, in order
	applied  map[string]bool     // by ID
	twice    int
	answered chan struct{} // capacity 1

	// playing is held by every cluster for each of its rounds, and by who looks
	// into the stream: else the limit per subject would remove meanwhile what is
	// looked for.
	playing sync.RWMutex
}

// ackLimit bounds the wait for an acknowledgement, which may die with the
// broker.
const ackLimit = 250 * time.Millisecond

func (b *book) apply(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.applied[id] {
		b.twice++
	}
	b.applied[id] = true
}

func (b *book) acknowledge(cluster, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acked[cluster] = append(b.acked[cluster], id)
	select {
	case b.answered <- struct{}{}:
	default:
	}
}

// newest returns the newest n IDs that each cluster acknowledged.
func (b *book) newest(n int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for _, of := range b.acked {
		ids = append(ids, of[max(0, len(of)-n):]...)
	}
	return ids
}

// drive plays a cluster as fast as it is answered until ctx ends.
func (b *book) drive(ctx context.Context, url, name string, s replay.Cluster) error {
	c, err := client.Connect(ctx, client.Config{URL: url, Cluster: name, Epoch: 7, Retry: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	defer c.Close()
	for !s.Done() && ctx.Err() == nil {
		if err := b.round(ctx, c, name, s); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// round publishes a state, applies the decision and acknowledges it.
func (b *book) round(ctx context.Context, c *client.Client, name string, s replay.Cluster) error {
	b.playing.RLock()
	defer b.playing.RUnlock()
	seq, err := c.PublishState(s.State())
	if errors.Is(err, client.ErrTooLarge) {
		return err
	}
	d, err := c.Wait(ctx, seq)
	if err != nil {
		return err
	}
	b.apply(d.Message.ID)
	if err := s.Advance(d.Allocation); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, ackLimit)
	defer cancel()
	if err := c.AckStored(bounded, d, nil); err == nil {
		b.acknowledge(name, d.Message.ID)
	}
	return nil
}

// The service and its broker are killed at random moments while clusters
// publish, apply and acknowledge. Whatever a cluster acknowledged is in the
// stream after the restart, and nothing is applied twice.
func TestFault24KilledWhilePublishing(t *testing.T) {
	kills := 6
	if raw := os.Getenv(killsEnv); raw != "" {
		var err error
		if kills, err = strconv.Atoi(raw); err != nil {
			t.Fatalf("%s: %v", killsEnv, err)
		}
	}
	at := newAddress(t)
	p := soak.NewProcess(at.command(t), at.http())
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	b := &book{acked: map[string][]string{}, applied: map[string]bool{}, answered: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		name := fmt.Sprintf("c%d", i)
		s := replay.Of(servetest.Sim(t, uint64(i), 100_000))
		work.Go(func() { errs[i] = b.drive(ctx, at.nats(), name, s) })
	}
	r := rng.New(1, "kill")
	lost := 0
	for range kills {
		<-b.answered
		time.Sleep(time.Duration(r.IntN(40_000)) * time.Microsecond)
		p.Kill()
		acked := b.newest(8)
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.playing.Lock()
		lost += missing(t, at.nats(), acked)
		b.playing.Unlock()
		select {
		case <-b.answered: // of the process that was killed
		default:
		}
	}
	cancel()
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	acked := len(b.newest(len(b.applied)))
	t.Logf("%d kills, %d decisions applied, %d acknowledged, %d acknowledged ones lost, %d applied twice", kills, len(b.applied), acked, lost, b.twice)
	if lost != 0 || b.twice != 0 || acked < kills {
		t.Errorf("got %d acknowledged decisions lost and %d applied twice of %d, want none", lost, b.twice, len(b.applied))
	}
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

// missing returns how many of these decisions the stream does not hold.
func missing(t *testing.T, url string, ids []string) int {
	t.Helper()
	nc := connect(t, url)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := js.Stream(ctx, wire.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if m, err := stream.GetMsg(ctx, seq); err == nil { // else removed by the limit per subject
			held[m.Header.Get(jetstream.MsgIDHeader)] = true
		}
	}
	n := 0
	for _, id := range ids {
		if !held[id] {
			t.Logf("lost: %s", id)
			n++
		}
	}
	return n
}
