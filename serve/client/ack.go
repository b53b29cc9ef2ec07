package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/yardmaster/yardmaster/serve/bus"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// maxReason bounds the reason of an acknowledgement, in bytes.
const maxReason = 256

// Ack tells the service what became of an allocation; a nil reason means that
// it was applied. It does not wait: what it says may be lost with the broker.
func (c *Client) Ack(d *Decision, reason error) error {
	return c.ack(d.Message.StateSeq, d.Message.ID, reason, nil)
}

// AckJobs tells the service that an allocation was applied in part: what became
// of the jobs in failed, and that all others were. It is only told: the next
// state must say what runs, and that is what is decided on.
func (c *Client) AckJobs(d *Decision, failed map[int64]error) error {
	if len(failed) == 0 {
		return c.Ack(d, nil)
	}
	results := make([]wire.JobResult, 0, len(d.Message.Picks))
	for _, p := range d.Message.Picks {
		if _, ok := failed[p.Job]; !ok {
			results = append(results, wire.JobResult{Job: p.Job, Applied: true})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(failed)) { // also of jobs that should stop
		results = append(results, wire.JobResult{Job: id, Reason: clip(failed[id])})
	}
	return c.ack(d.Message.StateSeq, d.Message.ID, fmt.Errorf("%d jobs not as decided", len(failed)), results)
}

// AckConfiguration does the same for a configuration.
func (c *Client) AckConfiguration(m *wire.Configuration, reason error) error {
	return c.ack(m.StateSeq, m.ID, reason, nil)
}

// AckStored is Ack that returns once the broker holds both the acknowledgement and
// the decision on disk: neither is lost any more. It takes as long as the disk takes
// to sync, a millisecond or a few, and is to be called before the next state is
// published. The decision is looked for because subscribers hear it before it is on
// disk, and a broker that was killed in between is back without it. Then the error is
// ErrNotStored. Where AckStored fails it may be called again: a service that lives
// publishes its last decisions again after a reconnect.
func (c *Client) AckStored(ctx context.Context, d *Decision, reason error) error {
	m, err := c.ackMsg(d.Message.StateSeq, d.Message.ID, reason, nil)
	if err != nil {
		return err
	}
	var reply *nats.Msg
	err = bus.Retry(ctx, c.nc, func(ctx context.Context) (err error) { // stored once, by its id
		reply, err = c.nc.RequestMsgWithContext(ctx, m)
		return err
	})
	if err != nil {
		return fmt.Errorf("client: acknowledge: %w", err)
	}
	var stored struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &stored); err != nil {
		return fmt.Errorf("client: acknowledge: the broker's answer: %w", err)
	}
	if stored.Error != nil {
		return errors.New("client: acknowledge: " + stored.Error.Description)
	}
	return c.findStored(ctx, d.Message.ID)
}

// findStored returns nil if the stream's newest allocation has this id. One of several
// brokers may be a moment behind the others, so it looks again for a while.
func (c *Client) findStored(ctx context.Context, id string) error {
	subject := c.subjects.Decision(c.cfg.Cluster, wire.KindAllocation)
	for end := time.Now().Add(recoverLimit); ; {
		var newest *nats.Msg
		err := bus.Retry(ctx, c.nc, func(ctx context.Context) (err error) {
			newest, err = bus.Last(ctx, c.nc, c.cfg.Stream, subject)
			return err
		})
		switch {
		case err == nil && newest.Header.Get(nats.MsgIdHdr) == id:
			return nil
		case err != nil && !errors.Is(err, bus.ErrNoMessage):
			return fmt.Errorf("client: acknowledge: look for the decision: %w", err)
		case time.Now().After(end):
			return fmt.Errorf("%w: %s", ErrNotStored, id)
		}
		select {
		case <-time.After(hurryPause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", ErrNotStored, id, context.Cause(ctx))
		}
	}
}

func (c *Client) ack(seq uint64, id string, reason error, jobs []wire.JobResult) error {
	m, err := c.ackMsg(seq, id, reason, jobs)
	if err != nil {
		return err
	}
	if err := c.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("client: acknowledge: %w", err)
	}
	return nil
}

// clip returns the text of an error as it may stand in a message.
func clip(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

func (c *Client) ackMsg(seq uint64, id string, reason error, jobs []wire.JobResult) (*nats.Msg, error) {
	a := wire.Ack{Schema: wire.AckSchema, Cluster: c.cfg.Cluster, Epoch: c.cfg.Epoch, StateSeq: seq, ID: id, Applied: reason == nil, Jobs: jobs}
	if reason != nil {
		a.Reason = clip(reason)
	}
	data, err := wire.Encode(&a)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(c.subjects.Ack(c.cfg.Cluster))
	m.Header.Set(nats.MsgIdHdr, id+":ack") // said twice, it is stored once
	m.Data = data
	return m, nil
}
