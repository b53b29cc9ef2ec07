package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/micro"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// asks is how often Ask tries where chunks of the state were lost.
const asks = 3

// Ask returns the service's decision on s by request and reply: any service
// answers, nothing is published or stored, and the state counts as none of the
// cluster's. Where the connection is lost meanwhile it asks again. It is safe for
// concurrent use, unlike Wait. It returns a *wire.Error if the service refuses the
// state.
func (c *Client) Ask(ctx context.Context, s *env.State) (*Decision, error) {
	key := wire.Key{Cluster: c.cfg.Cluster, Epoch: c.cfg.Epoch, Seq: c.asked.Add(1)}
	data, err := wire.Encode(&wire.State{Schema: wire.StateSchema, Cluster: key.Cluster, Epoch: key.Epoch, Seq: key.Seq, State: *s})
	if err != nil {
		return nil, err
	}
	b := newBody(data)
	for range asks {
		var a *wire.Allocation
		err = bus.Retry(ctx, c.nc, func(ctx context.Context) (err error) { // chunks, too, go again
			a, err = c.ask(ctx, b, key)
			return err
		})
		if err == nil {
			return check(key, s, a)
		}
		if refusal, ok := errors.AsType[*wire.Error](err); !ok || refusal.Code != wire.CodeIncomplete {
			break
		}
	}
	return nil, err
}

func (c *Client) ask(ctx context.Context, b *body, key wire.Key) (*wire.Allocation, error) {
	m, err := c.post(c.subjects.Endpoint("decide"), b, key.Seq)
	if err != nil {
		return nil, err
	}
	reply, err := c.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("client: ask: %w", err)
	}
	if code := reply.Header.Get(micro.ErrorCodeHeader); code != "" {
		if refusal, err := wire.DecodeError(reply.Data); err == nil {
			return nil, refusal
		}
		n, _ := strconv.Atoi(code) // 0 is as unknown as another number
		return nil, wire.Errorf(wire.Code(n), "", "%s", reply.Header.Get(micro.ErrorHeader))
	}
	data, err := wire.Decompress(reply.Data, reply.Header.Get(wire.HeaderEncoding), nil)
	if err != nil {
		return nil, fmt.Errorf("client: ask: %w", err)
	}
	return wire.DecodeAllocation(data)
}
