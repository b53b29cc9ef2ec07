package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// ErrNoMessage is returned by Last for a subject without messages.
var ErrNoMessage = errors.New("bus: no message on this subject")

// statusHeader carries the status of a direct get that found nothing.
const statusHeader = "Status"

// Last returns the newest message that a stream holds on one subject, by direct
// get (NATS ADR-31): no consumer that could leak, and one permission per
// subject. The stream must allow direct gets.
func Last(ctx context.Context, nc *nats.Conn, stream, subject string) (*nats.Msg, error) {
	m, err := nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
	if err != nil {
		return nil, fmt.Errorf("bus: last message of %s: %w", subject, err)
	}
	switch status := m.Header.Get(statusHeader); status {
	case "":
		return m, nil
	case "404":
		return nil, ErrNoMessage
	default:
		return nil, fmt.Errorf("bus: last message of %s: status %s %s", subject, status, m.Header.Get("Description"))
	}
}
