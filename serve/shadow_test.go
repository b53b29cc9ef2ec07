package serve_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve"
	"github.com/yardmaster/yardmaster/serve/admin"
	"github.com/yardmaster/yardmaster/serve/decisionlog"
	"github.com/yardmaster/yardmaster/serve/live"
	"github.com/yardmaster/yardmaster/serve/servetest"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// kept is a decision log in memory.
type kept struct {
	mu   sync.Mutex
	rows []decisionlog.Row
	fail error
}

func (k *kept) create(string) (decisionlog.File, error) { return k, k.fail }

func (k *kept) Append(r *decisionlog.Row) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows = append(k.rows, *r)
	return nil
}
func (k *kept) Size() int64  { return 1 << 40 } // each file has one row
func (k *kept) Close() error { return nil }
func (k *kept) Abort() error { return nil }

// In shadow a cluster gets the linear program's decisions; the learned policy's
// answer to the same state is logged beside them, whole and with its regret.
func TestShadow(t *testing.T) {
	log := &kept{}
	h := startHouse(t, 1, func(c *serve.Config) {
		c.Models.Log = decisionlog.Config{Create: log.create, Dir: t.TempDir()}
		c.Models.Mode.Mode = live.Shadow
	})
	name := h.load(t, "latest", true).JobStrategy.Active
	decisions := h.follow(t, "c1")
	// A request is answered alike and leaves no trace: anyone may send any state.
	if m, code := h.request(t, servetest.Body(t, servetest.State(t, 9, 1))); code != "" || m.Header.Get(wire.HeaderSource) != "lp" {
		t.Fatalf("request: got %s: %s", code, m.Data)
	}
	const n = 5
	sim := servetest.Sim(t, 1, 12)
	var states []wire.State
	for seq := range uint64(n) {
		s := wire.State{Schema: wire.StateSchema, Cluster: "c1", Epoch: 1, Seq: seq + 1, State: *sim.State()}
		body := servetest.Body(t, &s)
		decoded, err := wire.DecodeState(body)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, *decoded)
		h.publish(t, "c1", body)
		a := nextAllocation(t, decisions)
		if a.Source != wire.SourceLP || a.Reason != wire.ReasonMode || a.Model != "" {
			t.Errorf("got %s, %q by %q, want the linear program for the mode", a.Source, a.Reason, a.Model)
		}
		if _, err := sim.Advance(a.Allocation(&s.State)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are logged", func() bool { return h.Stats().Models.Log.Written == n })
	m, err := h.repo.Load(h.only(t))
	if err != nil {
		t.Fatal(err)
	}
	policy, err := neural.NewPolicy(m)
	if err != nil {
		t.Fatal(err)
	}
	valuer := servetest.Guard(t).Fallback.(interface {
		Values(*env.State, ...env.Allocation) []float64
	})
	regrets, agreed := 0.0, int64(0)
	for i, row := range log.rows {
		s := &states[i].State
		if diff := cmp.Diff(s, row.State); diff != "" || row.StateSeq != states[i].Seq || row.Cluster != "c1" || row.Mode != "shadow" || row.Model != name {
			t.Errorf("row %d is not of its state: %+v\n%s", i, row, diff)
		}
		want, err := policy.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, row.Learned); diff != "" || !cmp.Equal(row.Published, row.Program) {
			t.Errorf("row %d: the learned answer (-want +got):\n%s", i, diff)
		}
		values := valuer.Values(s, row.Learned, row.Program)
		regret := (values[1] - values[0]) / values[1]
		if row.LearnedValue != values[0] || row.ProgramValue != values[1] || row.Regret != regret || row.Latency <= 0 {
			t.Errorf("row %d: got values %v, %v and regret %v, want %v and %v", i, row.LearnedValue, row.ProgramValue, row.Regret, values, regret)
		}
		regrets += row.Regret
		if cmp.Equal(row.Learned, row.Published) {
			agreed++
		}
	}
	if s := h.Stats().Models.Shadow; s.Compared != n || s.Valued != n || s.Agreed != agreed || s.RegretSum != regrets || s.Failed+s.Dropped != 0 {
		t.Errorf("got %+v, want %d compared with regrets %v", s, n, regrets)
	}
}

// A policy that fails, hangs or panics in shadow, and a log that cannot be written,
// hurt nobody.
func TestShadowHurtsNobody(t *testing.T) {
	for name, policy := range map[string]servetest.Decider{
		"error": func(context.Context, *env.State) (env.Allocation, error) {
			return nil, errors.New("boom ü " + strings.Repeat("ü", 300))
		},
		"panic":   func(context.Context, *env.State) (env.Allocation, error) { panic("boom") },
		"invalid": func(_ context.Context, s *env.State) (env.Allocation, error) { return nil, nil },
		"hangs":   func(ctx context.Context, _ *env.State) (env.Allocation, error) { <-ctx.Done(); return nil, ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			log := &kept{fail: errors.New("disk full")}
			cfg := serve.Config{Guard: servetest.Guard(t), Models: serve.Models{
				Mode: live.Setting{Mode: live.Shadow}, ShadowTimeout: 50 * time.Millisecond, Log: decisionlog.Config{Create: log.create, Dir: t.TempDir()},
			}}
			cfg.Guard.Policy = policy
			s := start(t, cfg)
			decisions := s.follow(t, "c1")
			for seq := range uint64(3) {
				s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, seq+1)))
				if a := nextAllocation(t, decisions); a.Source != wire.SourceLP {
					t.Errorf("got %s, %q", a.Source, a.Reason)
				}
			}
			eventually(t, "all failed", func() bool { m := s.Stats().Models; return m.Shadow.Failed == 3 && m.Log.Failed == 3 })
		})
	}
}

// What waits in shadow is bounded; what is too much is counted.
func TestShadowFallsBehind(t *testing.T) {
	release := make(chan struct{})
	cfg := serve.Config{Guard: servetest.Guard(t), Models: serve.Models{Mode: live.Setting{Mode: live.Shadow}}}
	cfg.Guard.Policy = servetest.Decider(func(context.Context, *env.State) (env.Allocation, error) {
		<-release
		return nil, errors.New("at last")
	})
	s := start(t, cfg)
	const n = 100
	decisions := s.follow(t, "c1")
	for seq := range uint64(n) {
		s.publish(t, "c1", servetest.Body(t, servetest.State(t, 1, seq+1)))
		nextAllocation(t, decisions)
	}
	dropped := s.Stats().Models.Shadow.Dropped
	if dropped < 30 || dropped > 40 { // 64 wait, one is looked at
		t.Errorf("got %d dropped of %d, want about 35", dropped, n)
	}
	close(release)
	eventually(t, "the others were looked at", func() bool { return s.Stats().Models.Shadow.Failed == n-dropped })
	// The mode of a service with fixed models can be changed as well.
	if _, refusal := ask(t, s.nc, admin.Mode, admin.ModeRequest{Mode: live.LP}); refusal != nil {
		t.Error(refusal)
	}
}
