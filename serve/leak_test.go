package serve_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

// What clusters do again and again leaves nothing behind: new schedulers that
// connect and go, states that are decided, refused and asked about. The
// soak of package soak watches a whole process for minutes.
func TestFault28NothingLeaks(t *testing.T) {
	s := start(t, serve.Config{Guard: servetest.Guard(t), MaxClusters: 8})
	epoch := uint64(0)
	day := func() { // of 40 schedulers
		for i := range 40 {
			epoch++
			name := fmt.Sprintf("c%d", i%12) // more than are remembered
			c, err := client.Connect(t.Context(), client.Config{URL: s.URL(), Cluster: name, Epoch: epoch})
			if err != nil {
				t.Fatal(err)
			}
			state := servetest.State(t, epoch, 1).State
			for range 3 {
				seq, err := c.PublishState(&state)
				if err != nil {
					t.Fatal(err)
				}
				d, err := c.Wait(t.Context(), seq)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Ack(d, nil); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
			s.publish(t, name, []byte("{}"))
			if _, code := s.request(t, []byte("[")); code == "" {
				t.Fatal("no error for what is no state")
			}
		}
	}
	for range 2 { // tables and pools fill
		day()
	}
	heap, routines := settled(t, s.nc)
	for range 5 {
		day()
	}
	heapAfter, routinesAfter := settled(t, s.nc)
	if grown := int64(heapAfter) - int64(heap); grown > 2<<20 {
		t.Errorf("the heap grew from %d to %d bytes over 200 schedulers and 600 states", heap, heapAfter)
	}
	if routinesAfter > routines+4 {
		t.Errorf("goroutines went from %d to %d", routines, routinesAfter)
	}
}

// settled returns the live heap in bytes and the number of goroutines, once what
// was begun has ended.
func settled(t *testing.T, nc *nats.Conn) (heap uint64, routines int) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	// The broker ends the goroutines of closed connections in its own time.
	for last := -1; last != routines || last < 0; {
		last = routines
		time.Sleep(50 * time.Millisecond)
		runtime.GC()
		routines = runtime.NumGoroutine()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, routines
}
