package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/yardmaster/yardmaster/serve/broker"
	"github.com/yardmaster/yardmaster/serve/lease"
	"github.com/yardmaster/yardmaster/serve/servetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// A holder that is cut off from the broker loses its lease by its own clock before
// another gets it. Back, it stands by.
func TestCutOffHolder(t *testing.T) {
	b := startBroker(t)
	proxy := servetest.NewProxy(t, b.URL())
	var j journal
	one := start(t, proxy.URL(), "one", &j)
	one.Want("c1")
	eventually(t, "one holds", func() bool { return one.Leading("c1") })
	other := start(t, b.URL(), "other", nil)
	other.Want("c1")
	eventually(t, "other knows", func() bool { return other.Holder("c1") == "one" })
	proxy.Cut()
	cut := time.Now()
	for !other.Leading("c1") {
		if time.Since(cut) > patience {
			t.Fatal("other never holds")
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(cut)
	if one.Leading("c1") {
		t.Error("both hold the lease")
	}
	t.Logf("taken over %v after the holder was cut off", took.Round(time.Millisecond))
	proxy.Mend()
	eventually(t, "one knows", func() bool { return one.Holder("c1") == "other" })
	if one.Leading("c1") || !other.Leading("c1") {
		t.Error("one took its lease back")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if want := []string{"c1 true", "c1 false"}; !slices.Equal(j.changes, want) {
		t.Errorf("one was told %v, want %v", j.changes, want)
	}
}

// Two services of one name are two services.
func TestSameName(t *testing.T) {
	b := startBroker(t)
	one, two := start(t, b.URL(), "same", nil), start(t, b.URL(), "same", nil)
	one.Want("c1")
	eventually(t, "one holds", func() bool { return one.Leading("c1") })
	two.Want("c1")
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if !one.Leading("c1") || two.Leading("c1") {
			t.Fatal("the second took the lease of the first")
		}
	}
}

// A cluster that is no longer wanted is free at once.
func TestForget(t *testing.T) {
	b := startBroker(t)
	var j journal
	one := start(t, b.URL(), "one", &j)
	one.Want("c1")
	eventually(t, "held", func() bool { return one.Leading("c1") })
	one.Forget("c1")
	if one.Leading("c1") || one.Holder("c1") != "" {
		t.Error("leading after Forget")
	}
	other := start(t, b.URL(), "other", nil)
	other.Want("c1")
	began := time.Now()
	eventually(t, "free at once", func() bool { return other.Leading("c1") })
	t.Logf("another has it %v later", time.Since(began).Round(time.Millisecond))
}

func TestConfigIsChecked(t *testing.T) {
	_, err := lease.Start(t.Context(), lease.Config{TTL: time.Millisecond})
	for _, want := range []string{"Conn", "Bucket", "ID", "TTL"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in: %v", want, err)
		}
	}
}
