package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Flush returns once the broker has what was sent before, subscriptions
// included. Where the connection is lost meanwhile, a flush of NATS ends with
// nats.ErrConnectionClosed although the connection comes back and subscribes
// again; Flush waits for that until ctx, which needs a deadline, ends. Messages
// that were lost with the connection stay lost.
func Flush(ctx context.Context, nc *nats.Conn) error {
	if err := Retry(ctx, nc, nc.FlushWithContext); err != nil {
		return fmt.Errorf("bus: flush: %w", err)
	}
	return nil
}
