package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// errLost ends a try whose connection is gone: its answer will not come.
var errLost = errors.New("bus: the connection was lost meanwhile")

// lost are the errors of calls that met a connection that was just away.
var lost = []error{errLost, nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionReconnecting, nats.ErrConnectionClosed, nats.ErrStaleConnection}

// patientAttempts bounds the tries while nobody answers: with the pauses between them
// some six seconds.
const patientAttempts = 8

// Retry calls f, which must be harmless if repeated, until it ends otherwise than by
// losing the connection: what is sent while there is none fails at once, because
// nothing is buffered, and what was asked before it was lost is never answered. Who
// answers may be back later than the connection, so after a loss it also tries again for
// some seconds where nobody does. It gives up when ctx ends or the connection is closed
// for good.
func Retry(ctx context.Context, nc *nats.Conn, f func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := try(ctx, nc, f)
		switch {
		case err == nil:
			return nil
		case nc.IsClosed():
			return err
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err, nc.LastError())
		case attempt > 1 && attempt < patientAttempts && errors.Is(err, nats.ErrNoResponders):
		case !slices.ContainsFunc(lost, func(l error) bool { return errors.Is(err, l) }):
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay(attempt)):
		}
	}
}

// try calls f with a context that ends with the connection.
func try(ctx context.Context, nc *nats.Conn, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed := nc.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer nc.RemoveStatusListener(changed)
	go func() {
		select {
		case <-changed: // also once it is no longer listened to
			cancel(errLost)
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLost) {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}
