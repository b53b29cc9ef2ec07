package lease

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Pauses between tries, in parts of the TTL.
const (
	renewals = 3  // renewals per TTL
	ticks    = 20 // looks at the clock per TTL
	margin   = 8  // a lease counts until one part before its end
)

// loop renews what is held and tries to get what is free.
func (k *Keeper) loop(ctx context.Context) {
	ticker := time.NewTicker(k.cfg.TTL / ticks)
	defer ticker.Stop()
	places := make(chan struct{}, writers)
	var writing sync.WaitGroup
	defer writing.Wait()
	for {
		clusters, changes := k.due()
		for _, c := range changes { // without the mutex: whoever is told may ask back
			k.cfg.OnChange(c.cluster, c.leading)
		}
		for _, cluster := range clusters {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			writing.Go(func() {
				k.write(ctx, cluster)
				<-places
			})
		}
		select {
		case <-ticker.C:
		case <-k.kick:
		case <-ctx.Done():
			return
		}
	}
}

// change is what OnChange is told.
type change struct {
	cluster string
	leading bool
}

// due returns the clusters whose lease is to be written now, and what changed.
func (k *Keeper) due() (clusters []string, changes []change) {
	now := time.Now()
	connected := k.cfg.Conn.IsConnected()
	k.mu.Lock()
	defer k.mu.Unlock()
	for cluster, l := range k.leases {
		if l.leading && !now.Before(l.until) {
			l.leading = false
		}
		if l.told != l.leading {
			l.told = l.leading
			changes = append(changes, change{cluster, l.leading})
		}
		switch {
		case l.busy || !connected || now.Before(l.next):
			continue
		case l.leading && now.Before(l.renew):
			continue
		case !l.leading && !l.heard.IsZero() && now.Sub(l.heard) < k.cfg.TTL:
			continue
		}
		l.busy = true
		clusters = append(clusters, cluster)
	}
	return clusters, changes
}

// write renews a lease or tries to get it.
func (k *Keeper) write(ctx context.Context, cluster string) {
	k.mu.Lock()
	l := k.leases[cluster]
	if l == nil {
		k.mu.Unlock()
		return
	}
	leading, revision := l.leading, l.revision
	k.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, k.cfg.TTL/2)
	defer cancel()
	sent := time.Now()
	holder, err := "", error(nil)
	if leading {
		revision, err = k.renew(ctx, cluster, revision)
	}
	if !leading || errors.Is(err, errLost) { // lost with the broker's memory, perhaps, and free
		revision, holder, err = k.acquire(ctx, cluster)
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	l.busy = false
	k.settle(l, sent, revision, holder, err)
	if l.told != l.leading {
		k.wake()
	}
	if l.failures == 1 {
		k.cfg.Logger.Warn("lease not written", "cluster", cluster, "leading", l.leading, "error", err)
	}
}

// settle takes in the result of a write that was sent at this time.
func (k *Keeper) settle(l *lease, sent time.Time, revision uint64, holder string, err error) {
	switch {
	case errors.Is(err, errTaken):
		if l.leading {
			l.leading, l.heard = false, time.Now()
		}
		l.failures, l.holder = 0, holder
		l.next = time.Now().Add(k.cfg.TTL / ticks) // its TTL is over, but the broker has not dropped it yet
		if l.heard.IsZero() {
			l.next = time.Now().Add(k.cfg.TTL / renewals) // by then its holder was heard, if it lives
		}
	case err != nil: // held on to until it ends; tried again after a pause that grows to a TTL
		l.failures++
		l.next = time.Now().Add(min(k.cfg.TTL, k.cfg.TTL/ticks<<min(l.failures, 6)))
	default:
		l.leading, l.revision, l.failures = true, revision, 0
		l.until = sent.Add(k.cfg.TTL - k.cfg.TTL/margin)
		l.renew = sent.Add(k.cfg.TTL / renewals)
	}
}

func (k *Keeper) renew(ctx context.Context, cluster string, revision uint64) (uint64, error) {
	revision, err := k.bucket().Update(ctx, cluster, []byte(k.me), revision)
	if refused(err) {
		err = errLost
	}
	return revision, err
}

// acquire returns the revision of the lease, or errTaken and who holds it.
func (k *Keeper) acquire(ctx context.Context, cluster string) (revision uint64, holder string, err error) {
	kv := k.bucket()
	revision, err = kv.Create(ctx, cluster, []byte(k.me))
	if !errors.Is(err, jetstream.ErrKeyExists) && !refused(err) {
		return revision, "", err
	}
	entry, err := kv.Get(ctx, cluster)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, "", errTaken // and dropped meanwhile
	case err != nil:
		return 0, "", err
	case string(entry.Value()) == k.me: // written by a try whose answer was lost
		revision, err = kv.Update(ctx, cluster, []byte(k.me), entry.Revision())
		return revision, "", err
	}
	return 0, idOf(entry.Value()), errTaken
}

// refused reports whether a write failed because the key has another revision.
func refused(err error) bool {
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return true
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// hear takes in what other services write, refused or not: a service writes only
// what it holds, or tries to get, which is told by the expected revision 0.
func (k *Keeper) hear(m *nats.Msg) {
	cluster := m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.leases[cluster]
	if l == nil || string(m.Data) == k.me {
		return
	}
	switch {
	case m.Header.Get("KV-Operation") != "":
		if !l.leading {
			l.holder, l.heard, l.next = "", time.Time{}, time.Time{}
			k.wake()
		}
	case m.Header.Get("Nats-Expected-Last-Subject-Sequence") != "0":
		l.holder, l.heard = idOf(m.Data), time.Now()
	}
}
