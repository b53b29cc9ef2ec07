package client

import (
	"context"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// Pauses between attempts to get an answer.
const (
	hurryPause   = 25 * time.Millisecond  // after a reconnect, or when nobody listens
	recoverLimit = 250 * time.Millisecond // for reading back
)

// Wait returns the decision for the state that was last published, whose
// number is seq. It publishes the state again while no decision comes, also
// where the service is overloaded or starting. It returns a *wire.Error if the
// service refuses the state; nats.ErrPermissionViolation if NATS does not let the
// state through; ctx's error at its end; ErrClosed after Close. If
// the decision does not fit the state, it returns both: the decision, to be
// acknowledged with the error, and not to be applied.
//
// A decision is returned once: waiting twice for one number waits until ctx
// ends.
func (c *Client) Wait(ctx context.Context, seq uint64) (*Decision, error) {
	retry := time.NewTimer(c.cfg.Retry)
	defer retry.Stop()
	for {
		d, hurry, err := c.poll(seq)
		if d != nil || err != nil {
			return d, err
		}
		if hurry {
			retry.Reset(hurryPause)
		}
		select {
		case <-c.wake:
		case <-retry.C:
			c.again(ctx, seq)
			retry.Reset(c.cfg.Retry)
		case <-ctx.Done():
			return nil, fmt.Errorf("client: no decision for state %d: %w", seq, context.Cause(ctx))
		case <-c.closing:
			return nil, ErrClosed
		}
	}
}

// poll takes the decision for seq if it came.
func (c *Client) poll(seq uint64) (d *Decision, hurry bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.pending; a != nil {
		c.pending = nil
		if a.StateSeq == seq {
			c.delivered = seq
			d, err = c.accept(a)
			return d, false, err
		}
		c.stats.Duplicates++ // for a state that was given up
	}
	if c.refusal != nil {
		return nil, false, c.refusal
	}
	if c.denied != nil {
		return nil, false, fmt.Errorf("client: %w", c.denied)
	}
	hurry, c.hurry = c.hurry, false
	return nil, hurry, nil
}

// accept checks a decision against the state it answers.
func (c *Client) accept(a *wire.Allocation) (*Decision, error) {
	return check(wire.Key{Cluster: c.cfg.Cluster, Epoch: c.cfg.Epoch, Seq: a.StateSeq}, c.state, a)
}

// check verifies that a answers state k and can be applied in s, twice and
// independently.
func check(k wire.Key, s *env.State, a *wire.Allocation) (*Decision, error) {
	if err := a.Check(k, s); err != nil {
		return &Decision{Message: a}, err
	}
	alloc := a.Allocation(s)
	if err := alloc.Validate(s); err != nil {
		return &Decision{Message: a}, err
	}
	return &Decision{Message: a, Allocation: alloc}, nil
}

// again looks into the stream and, if the decision is not there, publishes the
// state again: it may never have reached the service.
func (c *Client) again(ctx context.Context, seq uint64) {
	if !c.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recoverLimit)
	defer cancel()
	c.recover(ctx)
	c.mu.Lock()
	answered := c.pending != nil && c.pending.StateSeq == seq
	c.mu.Unlock()
	if answered || c.body == nil {
		return
	}
	if err := c.publish(); err != nil {
		c.cfg.Logger.Info("state not published again", "seq", seq, "error", err)
		return
	}
	c.mu.Lock()
	c.stats.Resent++
	c.mu.Unlock()
}
