package serve

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/yardmaster/yardmaster/serve/wire"
)

// However the clock jumps, a bucket lets at most a burst and its rate through.
func TestBucket(t *testing.T) {
	var b bucket
	now := time.Unix(1e9, 0)
	passed := func(n int) (count int) {
		for range n {
			if b.take(now, 10) {
				count++
			}
		}
		return count
	}
	if got := passed(50); got != 10 {
		t.Errorf("burst: got %d, want 10", got)
	}
	now = now.Add(500 * time.Millisecond)
	if got := passed(50); got != 5 {
		t.Errorf("after half a second: got %d, want 5", got)
	}
	now = now.Add(-time.Hour)
	if got := passed(50); got != 0 {
		t.Errorf("clock put back: got %d, want 0", got)
	}
	now = now.Add(100 * time.Millisecond)
	if got := passed(50); got != 1 {
		t.Errorf("after that: got %d, want 1", got)
	}
	now = now.Add(1000 * time.Hour)
	if got := passed(50); got != 10 {
		t.Errorf("clock put forward: got %d, want a burst", got)
	}
}

func TestLostStates(t *testing.T) {
	k := func(epoch, seq uint64) wire.Key { return wire.Key{Cluster: "c", Epoch: epoch, Seq: seq} }
	for _, test := range []struct {
		before, now wire.Key
		between     int64
		want        int64
	}{
		{k(1, 5), k(1, 6), 0, 0},
		{k(1, 5), k(1, 9), 0, 3},
		{k(1, 5), k(1, 9), 2, 1},
		{k(1, 5), k(1, 9), 7, 0}, // some of them came twice
		{k(1, 5), k(2, 9), 0, 0},
		{k(1, 5), k(1, 4), 0, 0},
		{k(1, 1), k(1, wire.MaxSafeInteger), 0, wire.MaxSafeInteger - 2},
	} {
		if got := lost(test.before, test.now, test.between); got != test.want {
			t.Errorf("%v, %v, %d between: got %d, want %d", test.before, test.now, test.between, got, test.want)
		}
	}
}

// Fault 10 and 11 on a clock of the test's own: a cluster is stale after three of
// its rounds, at least 30 s, whatever the length of rounds says, and told once.
func TestFault11StaleByItsOwnRounds(t *testing.T) {
	for _, test := range []struct{ configured, round, want time.Duration }{
		{0, 0, 30 * time.Second},
		{0, time.Second, 30 * time.Second},
		{0, 6 * time.Minute, 18 * time.Minute},
		{0, 1<<63 - 1, 24 * time.Hour},
		{5 * time.Second, 6 * time.Minute, 5 * time.Second},
	} {
		if got := staleAfter(test.configured, test.round); got != test.want {
			t.Errorf("configured %v, rounds of %v: got %v, want %v", test.configured, test.round, got, test.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		table := clusters{max: 2, byID: make(map[string]*cluster)}
		c := table.get("c1")
		c.round = 6 * time.Minute
		arrive := func(seq uint64) {
			a := &arrival{key: wire.Key{Cluster: "c1", Epoch: 1, Seq: seq}, received: time.Now()}
			c.offer(a, 10)
		}
		arrive(1)
		time.Sleep(18 * time.Minute)
		if found := table.sweep(time.Now(), 0); len(found) != 0 {
			t.Errorf("after 18 min: got %d stale, want none", len(found))
		}
		time.Sleep(time.Second)
		if found := table.sweep(time.Now(), 0); len(found) != 1 || len(table.stale()) != 1 {
			t.Errorf("a second later: got %d stale, want 1", len(found))
		}
		if found := table.sweep(time.Now(), 0); len(found) != 0 || len(table.stale()) != 1 {
			t.Error("told twice")
		}
		arrive(2)
		if stale := table.stale(); len(stale) != 0 {
			t.Errorf("after a state: got %v, want none", stale)
		}
	})
}

func TestSkew(t *testing.T) {
	now := time.Now()
	if d, ok := skew(now.Add(3*time.Second).UTC().Format(time.RFC3339Nano), now); !ok || d.Round(time.Second) != 3*time.Second {
		t.Errorf("got %v, %v, want 3 s", d, ok)
	}
	for _, header := range []string{"", "yesterday", "2026-13-01T00:00:00Z"} {
		if d, ok := skew(header, now); ok {
			t.Errorf("%q: got %v, want nothing", header, d)
		}
	}
	var s spacing
	if !s.pass("a", now) || s.pass("a", now.Add(time.Second)) || !s.pass("b", now) || !s.pass("a", now.Add(time.Hour)) {
		t.Error("spacing lets more or less than one a minute through")
	}
}
