package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/client"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// run is a replay in progress.
type run struct {
	cfg       Config
	client    *client.Client
	report    *Report
	latency   []time.Duration
	applied   uint64    // seq of the last decision applied
	scheduler Scheduler // where configurations are applied
	newest    uint64    // StateSeq of the last configuration received
}

// Run replays until the cluster is done or ctx ends. The report tells how far
// it came also beside an error.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, report: newReport()}
	if cfg.Apply == Configurations {
		var err error
		if r.scheduler, err = cfg.Build(cfg.Initial); err != nil {
			return nil, fmt.Errorf("replay: initial configuration %v: %w", cfg.Initial, err)
		}
	}
	c, err := client.Connect(ctx, cfg.Client)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r.client = c
	err = r.rounds(ctx)
	r.finish()
	return r.report, err
}

func (r *run) rounds(ctx context.Context) error {
	for !r.cfg.Cluster.Done() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay: after %d rounds: %w", r.report.Rounds, err)
		}
		s := r.cfg.Cluster.State()
		a, err := r.decide(ctx, s)
		if err != nil {
			return fmt.Errorf("replay: round %d: %w", s.Round, err)
		}
		if err := r.cfg.Cluster.Advance(a); err != nil {
			return fmt.Errorf("replay: round %d: %w", s.Round, err)
		}
		r.report.Rounds++
		if r.cfg.Progress != nil {
			r.cfg.Progress(r.report.Rounds, s)
		}
	}
	return nil
}

// decide returns the allocation for s: the service's, else what ran before.
func (r *run) decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	d, err := r.ask(ctx, s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		r.count(d)
	} else {
		r.hold(d, err)
	}
	if err := r.follow(); err != nil {
		return nil, err
	}
	switch {
	case r.cfg.Apply == Configurations:
		return r.scheduler.Decide(ctx, s)
	case err != nil:
		return guard.Hold(s), nil
	}
	return d.Allocation, nil
}

// ask publishes s and waits for its decision.
func (r *run) ask(ctx context.Context, s *env.State) (*client.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	start := time.Now()
	seq, err := r.client.PublishState(s)
	if errors.Is(err, client.ErrTooLarge) {
		return nil, err // waiting would not help
	}
	d, err := r.client.Wait(ctx, seq)
	if err == nil {
		r.latency = append(r.latency, time.Since(start))
	}
	return d, err
}

// count records a decision, and acknowledges it where it is applied.
func (r *run) count(d *client.Decision) {
	if d.Message.StateSeq <= r.applied {
		r.report.AppliedTwice++
	}
	r.applied = d.Message.StateSeq
	r.report.Allocations++
	r.report.BySource[string(d.Message.Source)]++
	if d.Message.Reason != wire.ReasonNone {
		r.report.Fallbacks[string(d.Message.Reason)]++
	}
	if r.cfg.Apply == Allocations {
		_ = r.client.Ack(d, nil) // if it is lost, so is a count
	}
}

// hold records a round without a decision to apply.
func (r *run) hold(d *client.Decision, err error) {
	r.report.Held++
	switch _, refused := errors.AsType[*wire.Error](err); {
	case d != nil:
		r.report.Rejected++
		_ = r.client.Ack(d, err)
	case refused:
		r.report.Refused++
	}
}

// follow counts the newest configuration if it is new and, where configurations
// are applied, puts it into force. It comes before the allocation for the same
// state, so that none is missed by looking once per round.
func (r *run) follow() error {
	c, ok := r.client.Configuration()
	if !ok || c.StateSeq <= r.newest {
		return nil
	}
	r.newest = c.StateSeq
	r.report.Configurations++
	r.report.Configuration = &c.Configuration
	if r.cfg.Apply != Configurations {
		return nil
	}
	next, err := r.cfg.Build(c.Configuration)
	_ = r.client.AckConfiguration(c, err) // if it is lost, so is a count
	if err != nil {
		return fmt.Errorf("configuration %v: %w", c.Configuration, err)
	}
	r.scheduler = next
	return nil
}

// finish completes the report.
func (r *run) finish() {
	s := r.client.Stats()
	r.report.Duplicates = s.Duplicates
	r.report.Recovered = s.Recovered
	r.report.Reconnects = s.Reconnects
	r.report.Resent = s.Resent
	r.report.Latency = quantiles(r.latency)
}
