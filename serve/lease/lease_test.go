package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/lease"
)

const patience = 20 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// journal notes the changes that a keeper tells.
type journal struct {
	mu      sync.Mutex
	changes []string
}

func (j *journal) note(cluster string, leading bool) {
	j.mu.Lock()
	j.changes = append(j.changes, fmt.Sprint(cluster, " ", leading))
	j.mu.Unlock()
}

func start(t *testing.T, url, id string, j *journal) *lease.Keeper {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	cfg := lease.Config{Conn: nc, Bucket: "LEASES", ID: id, TTL: 600 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if j != nil {
		cfg.OnChange = j.note
	}
	k, err := lease.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close(context.Background()) })
	return k
}

func startBroker(t *testing.T) *broker.Broker {
	t.Helper()
	b, err := broker.Start(broker.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// One of two holds a lease at any time; the other takes over at once when it is
// given up.
func TestOneHolds(t *testing.T) {
	b := startBroker(t)
	var ja, jb journal
	one, other := start(t, b.URL(), "one", &ja), start(t, b.URL(), "other", &jb)
	for i := range 20 {
		c := fmt.Sprint("c", i)
		one.Want(c)
		other.Want(c)
	}
	eventually(t, "all are held", func() bool { return one.Held()+other.Held() == 20 })
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for i := range 20 {
			c := fmt.Sprint("c", i)
			if a, b := one.Leading(c), other.Leading(c); a == b {
				t.Fatalf("%s: leading %v and %v, want one", c, a, b)
			}
		}
	}
	eventually(t, "each knows who holds", func() bool {
		for i := range 20 {
			c := fmt.Sprint("c", i)
			if h := one.Holder(c); h == "" || h != other.Holder(c) {
				return false
			}
		}
		return true
	})
	began := time.Now()
	one.Close(t.Context())
	eventually(t, "the other holds all", func() bool { return other.Held() == 20 })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took over after %v", took)
	}
}
