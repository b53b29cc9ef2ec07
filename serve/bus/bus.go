// Package bus connects to NATS the way the service and its clients need it, and
// reads the newest message of a stream without a consumer.
package bus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// Config configures a connection.
type Config struct {
	URL     string        // "" is allowed where Options holds another way in
	Name    string        // shown in the broker's list of connections
	Inbox   string        // prefix of reply subjects; "" is _INBOX
	Timeout time.Duration // how long the first connect may take; 10 s
	Options []nats.Option // added last: TLS, credentials, an in-process server

	OnUp   func()      // after each reconnect; must not block
	OnDown func(error) // after each loss; must not block
	OnFail func(error) // asynchronous errors: permissions, slow consumers
}

// Connect connects, trying again until the timeout while nobody listens. Once
// connected it reconnects forever, also to a broker that refuses it meanwhile.
func Connect(ctx context.Context, cfg Config) (*nats.Conn, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		nc, err := nats.Connect(cfg.URL, options(&cfg)...)
		if err == nil {
			return nc, nil
		}
		if !transient(err) {
			return nil, fmt.Errorf("bus: connect to %s: %w", cfg.URL, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("bus: connect to %s: no answer within %v: %w", cfg.URL, cfg.Timeout, err)
		case <-time.After(delay(attempt)):
		}
	}
}

// transient reports whether a later attempt may succeed.
func transient(err error) bool {
	var op *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, io.EOF) || errors.As(err, &op)
}

// delay grows from 50 ms to 2 s, with jitter, so that a fleet of clusters does
// not come back all at once.
func delay(attempt int) time.Duration {
	base := 50 * time.Millisecond << min(attempt-1, 5)
	return base + rand.N(base/4)
}

func options(cfg *Config) []nats.Option {
	up, down, fail := cfg.OnUp, cfg.OnDown, cfg.OnFail
	opts := []nats.Option{
		nats.Name(cfg.Name),
		nats.MaxReconnects(-1),
		nats.CustomReconnectDelay(delay),
		nats.PingInterval(20 * time.Second),
		// Never buffer while disconnected: a stale decision or state would be
		// stored after the reconnect, ahead of the fresh one, and the retry
		// with its Nats-Msg-Id dropped as its duplicate.
		nats.ReconnectBufSize(-1),
		// A broker that refuses who comes back may know them again in a moment, such
		// as while its users are changed: without this two refusals end it for good.
		nats.IgnoreAuthErrorAbort(),
		// Who closes the connection knows it, and may have closed its log as well.
		nats.NoCallbacksAfterClientClose(),
		nats.ReconnectHandler(func(*nats.Conn) {
			if up != nil {
				up()
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if down != nil {
				down(err)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if fail != nil {
				fail(err)
			}
		}),
	}
	if cfg.Inbox != "" {
		opts = append(opts, nats.CustomInboxPrefix(cfg.Inbox))
	}
	return append(opts, cfg.Options...)
}
