package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/yardmaster/yardmaster/serve/bus"
)

// writers bounds the writes to the bucket at once.
const writers = 16

// Keeper holds the leases of one service. It is safe for concurrent use.
type Keeper struct {
	cfg  Config
	me   string // ID and a name of this process: what it writes
	kv   jetstream.KeyValue
	sub  *nats.Subscription
	kick chan struct{} // something to do; capacity 1
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	leases map[string]*lease // of the clusters that this service wants
}

// lease is what a service knows of one cluster's lease.
type lease struct {
	leading  bool
	told     bool      // what OnChange was told last
	revision uint64    // of this service's last write
	until    time.Time // of a lease that is held
	renew    time.Time // when to write again
	holder   string    // who holds it, as last heard; "" nobody
	heard    time.Time // when another holder was last heard
	busy     bool      // a write is on its way
	failures int       // in a row, for the pause before the next try
	next     time.Time // not to be tried before
}

// Start makes the bucket if needed, and keeps leases until Close. ctx bounds
// only the start.
func Start(ctx context.Context, cfg Config) (*Keeper, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	k := &Keeper{cfg: cfg, me: cfg.ID + " " + rand.Text()[:8], kick: make(chan struct{}, 1), leases: make(map[string]*lease)}
	if err := bus.Retry(ctx, cfg.Conn, k.Ensure); err != nil {
		return nil, err
	}
	var err error
	if k.sub, err = cfg.Conn.Subscribe("$KV."+cfg.Bucket+".*", k.hear); err != nil {
		return nil, fmt.Errorf("lease: subscribe to %s: %w", cfg.Bucket, err)
	}
	loop, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.work.Go(func() { k.loop(loop) })
	return k, nil
}

// Ensure makes the bucket if it is not there, such as after a restart of the
// broker: leases are kept in memory.
func (k *Keeper) Ensure(ctx context.Context) error {
	js, err := jetstream.New(k.cfg.Conn)
	if err != nil {
		return fmt.Errorf("lease: jetstream: %w", err)
	}
	kv, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: k.cfg.Bucket, Description: "who publishes Yardmaster's decisions, by cluster",
		TTL: k.cfg.TTL, Replicas: k.cfg.Replicas, Storage: jetstream.MemoryStorage, MaxValueSize: 512, // headers included
	})
	if err != nil {
		return fmt.Errorf("lease: bucket %s: %w", k.cfg.Bucket, err)
	}
	k.mu.Lock()
	k.kv = kv
	for _, l := range k.leases {
		l.failures, l.next = 0, time.Time{} // what failed before may work now
	}
	k.mu.Unlock()
	k.wake()
	return nil
}

// Want asks for a cluster's lease, now and whenever nobody else holds it.
func (k *Keeper) Want(cluster string) {
	k.mu.Lock()
	_, known := k.leases[cluster]
	if !known {
		k.leases[cluster] = &lease{}
	}
	k.mu.Unlock()
	if !known {
		k.wake()
	}
}

// Leading reports whether this service holds a cluster's lease now.
func (k *Keeper) Leading(cluster string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.leases[cluster]
	return l != nil && l.leading && time.Now().Before(l.until)
}

// Holder returns who holds a cluster's lease, as far as this service knows, or
// "" where nobody does.
func (k *Keeper) Holder(cluster string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.leases[cluster]
	switch {
	case l == nil:
		return ""
	case l.leading && time.Now().Before(l.until):
		return k.cfg.ID
	case time.Since(l.heard) > k.cfg.TTL:
		return ""
	}
	return l.holder
}

// Held returns how many leases this service holds.
func (k *Keeper) Held() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, now := 0, time.Now()
	for _, l := range k.leases {
		if l.leading && now.Before(l.until) {
			n++
		}
	}
	return n
}

// Forget gives up a cluster that is no longer wanted.
func (k *Keeper) Forget(cluster string) {
	k.mu.Lock()
	l := k.leases[cluster]
	delete(k.leases, cluster)
	k.mu.Unlock()
	if l != nil && l.leading {
		k.work.Go(func() { k.release(context.Background(), cluster, l.revision) })
	}
}

// Close gives all leases up, so that others take over at once, and returns when
// nothing runs any more. Nothing may be published after it began.
func (k *Keeper) Close(ctx context.Context) {
	k.stop()
	k.work.Wait()
	_ = k.sub.Unsubscribe() // of a closed connection: nothing to end
	k.mu.Lock()
	held := make(map[string]uint64)
	for cluster, l := range k.leases {
		if l.leading {
			held[cluster] = l.revision
		}
	}
	clear(k.leases)
	k.mu.Unlock()
	if !k.cfg.Conn.IsConnected() {
		return
	}
	places := make(chan struct{}, writers)
	var wg sync.WaitGroup
	for cluster, revision := range held {
		places <- struct{}{}
		wg.Go(func() {
			k.release(ctx, cluster, revision)
			<-places
		})
	}
	wg.Wait()
}

// release deletes a key unless another service wrote it since.
func (k *Keeper) release(ctx context.Context, cluster string, revision uint64) {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.TTL)
	defer cancel()
	err := k.bucket().Delete(ctx, cluster, jetstream.LastRevision(revision))
	if err != nil { // then it ends by itself, one TTL later
		k.cfg.Logger.Debug("lease not released", "cluster", cluster, "error", err)
	}
}

func (k *Keeper) bucket() jetstream.KeyValue {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kv
}

func (k *Keeper) wake() {
	select {
	case k.kick <- struct{}{}:
	default:
	}
}

// idOf returns the id of the service that wrote a value.
func idOf(value []byte) string {
	id, _, _ := strings.Cut(string(value), " ")
	return id
}

var (
	errLost  = errors.New("lease: another service wrote it") // a renewal that came too late
	errTaken = errors.New("lease: another service holds it")
)
