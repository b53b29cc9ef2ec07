package serve_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/guard"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// strange is a policy to which every state is new.
type strange struct{ guard.Decider }

func (p strange) DecideScored(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	a, err := p.Decide(ctx, s)
	return a, 2, err
}

// States that are unlike training, published to a running service: the third is
// decided by the linear program, observers hear of it, and the status says so.
// Requests about the same cluster, before, change none of that.
func TestFault05UnfamiliarIsTold(t *testing.T) {
	cfg := servetest.Guard(t)
	cfg.Policy = strange{cfg.Policy}
	s := start(t, serve.Config{Guard: cfg})
	events := subscribe(t, s.nc, "yardmaster.v1.event.*.c1")
	decisions := s.follow(t, "c1")
	for seq := range uint64(4) {
		if _, code := s.request(t, servetest.Body(t, servetest.State(t, 9, seq+1))); code != "" {
			t.Fatalf("request: %s", code)
		}
	}
	var reasons []wire.Reason
	for seq := range uint64(3) {
		s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, seq+1)))
		reasons = append(reasons, nextAllocation(t, decisions).Reason)
	}
	if !slices.Equal(reasons, []wire.Reason{"", "", wire.ReasonOOD}) {
		t.Errorf("got reasons %q, want the third ood", reasons)
	}
	var told []string
	for range 2 {
		e, err := wire.DecodeEvent(next(t, events).Data)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, fmt.Sprint(e.Event, " ", e.Reason, " ", e.Source, " ", e.StateSeq, " ", e.Model))
	}
	if !slices.Equal(told, []string{"guard ood  3 srtf@1", "fallback ood lp 3 srtf@1"}) {
		t.Errorf("got events %q", told)
	}
	stats := s.Stats()
	if len(stats.Guards) != 1 || stats.Guards[0].Novelty != 2 || !stats.Guards[0].Unfamiliar || stats.Fallbacks["ood"] != 3 || stats.Programs[guard.ProgramOptimal] < 3 {
		t.Errorf("got guards %+v, fallbacks %v, programs %v", stats.Guards, stats.Fallbacks, stats.Programs)
	}
}

// Decisions of a running service are compared with the linear program's after they
// have left, at most one in ten.
func TestDecisionsAreCompared(t *testing.T) {
	cfg := servetest.Guard(t)
	compared := make(chan guard.Comparison, 256)
	cfg.OnComparison = func(c guard.Comparison) { compared <- c }
	s := start(t, serve.Config{Guard: cfg})
	decisions := s.follow(t, "c1")
	seq, seen := uint64(0), 0
	eventually(t, "two comparisons", func() bool {
		seq++
		s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, seq)))
		if a := nextAllocation(t, decisions); a.Source != wire.SourcePolicy {
			t.Fatalf("got %s, %q", a.Source, a.Reason)
		}
		select {
		case c := <-compared:
			seen++
			if c.State.Seq < 10 || !(c.LPIs > 0) || c.Model != "srtf@1" || c.Published != wire.SourcePolicy {
				t.Errorf("got %d: %v of %v by %s", c.State.Seq, c.PolicyIs, c.LPIs, c.Model)
			}
		default:
		}
		return seen == 2
	})
	eventually(t, "the status has the regret", func() bool {
		g := s.Stats().Guards
		return len(g) == 1 && g[0].Compared >= 2
	})
}
