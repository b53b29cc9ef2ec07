// Package client is what a cluster's scheduler imports to use the service.
//
//	c, err := client.Connect(ctx, client.Config{URL: url, Cluster: "c1"})
//	…
//	seq, err := c.PublishState(&state)
//	d, err := c.Wait(ctx, seq)     // the decision for this state, checked
//	…                              // apply d.Allocation
//	err = c.Ack(d, nil)
//
// # Delivery
//
// Decisions are level-triggered: only the one for the newest state matters.
// The client listens on its own subjects, and reads the newest decision back
// from the stream after a reconnect and whenever an answer is slow. A state
// whose decision does not come is published again with the same number; the
// service answers a number once, so this is safe.
//
// A state of any size within the limits of package wire is sent: compressed where
// it is large, and in chunks where the broker takes no message of its size. Ask
// asks for a decision by request and reply, without any of this.
//
// What a scheduler did with a decision it tells by Ack, or AckJobs where it worked
// for some jobs only. Nobody relies on that: what runs, the next state says.
//
// A decision is delivered at most once: it is identified by (epoch, sequence
// number), and anything not newer than what was delivered is dropped and
// counted. The client checks each decision against the state it answers before
// it hands it out.
package client
