package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// flushAttempt bounds one round trip, which may die with the connection.
const flushAttempt = time.Second

// Flush returns once the broker has what was sent before, subscriptions
// included. Where the connection is lost meanwhile, a flush of NATS ends with
// nats.ErrConnectionClosed although the connection comes back and subscribes
// again; Flush waits for that until ctx ends. Messages that were lost with the
// connection stay lost.
func Flush(ctx context.Context, nc *nats.Conn) error {
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(ctx, flushAttempt)
		err := nc.FlushWithContext(bounded)
		cancel()
		switch {
		case err == nil:
			return nil
		case nc.IsClosed():
			return fmt.Errorf("bus: flush: %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("bus: flush: %w", errors.Join(context.Cause(ctx), nc.LastError()))
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay(attempt)):
		}
	}
}
