package guard

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func mustNew(t testing.TB, cfg Config) *Guard {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func program(t testing.TB) LP {
	t.Helper()
	p, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return LP{p}
}

// message returns s as a cluster would send it.
func message(cluster string, seq int, s *env.State) *wire.State {
	return &wire.State{Schema: wire.StateSchema, Cluster: cluster, Epoch: 1, Seq: uint64(seq), State: *s}
}

// A policy that sleeps past its deadline costs no deadline, and once it did so
// often it is not asked any more, until a trial shows that it is awake.
func TestFault02PolicyLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, takes := 0, time.Hour
		policy := deciderFunc(func(ctx context.Context, s *env.State) (env.Allocation, error) {
			asked++
			if err := sleep(ctx, takes); err != nil {
				return nil, err
			}
			return pick(byPolicy)(s)
		})
		var told []*wire.Event
		g := mustNew(t, Config{
			Policy: policy, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)}, Deadline: time.Second,
			OnEvent: func(e *wire.Event) { told = append(told, e) },
		})
		decide := func(seq int) (*wire.Allocation, time.Duration) {
			start := time.Now()
			m := g.Decide(t.Context(), message("c", seq, &state().State)).Message
			took := time.Since(start)
			synctest.Wait()
			return m, took
		}
		for i := range 5 {
			if m, took := decide(i); m.Source != wire.SourceLP || m.Reason != wire.ReasonLate || took > time.Second {
				t.Fatalf("decision %d: got %s, %q after %v, want the linear program's within the deadline", i, m.Source, m.Reason, took)
			}
		}
		for i := range 20 {
			if m, took := decide(5 + i); m.Reason != wire.ReasonBreaker || took != 0 || asked != 5 {
				t.Fatalf("decision %d: got %q after %v, asked %d times, want breaker at once and 5", 5+i, m.Reason, took, asked)
			}
		}
		if m, _ := decide(25); m.Reason != wire.ReasonLate || asked != 6 {
			t.Errorf("trial: got %q, asked %d times, want late and 6", m.Reason, asked)
		}
		takes = time.Millisecond
		for i := range 40 { // twice the pause
			if m, _ := decide(26 + i); m.Reason != wire.ReasonBreaker {
				t.Fatalf("decision %d: got %q, want breaker", 26+i, m.Reason)
			}
		}
		if m, _ := decide(66); m.Source != wire.SourcePolicy || asked != 7 {
			t.Errorf("trial of the policy awake: got %s, %q, want its answer", m.Source, m.Reason)
		}
		if m, _ := decide(67); m.Source != wire.SourcePolicy {
			t.Errorf("after the trial: got %s, %q", m.Source, m.Reason)
		}
		var turns []bool
		fallbacks := 0
		for _, e := range told {
			switch e.Event {
			case wire.EventGuard:
				turns = append(turns, e.Active)
			case wire.EventFallback:
				fallbacks++
			}
		}
		if !slices.Equal(turns, []bool{true, false}) || fallbacks != 66 {
			t.Errorf("got turns %v and %d fallbacks told, want on, off and 66", turns, fallbacks)
		}
	})
}

// deciderFunc is a policy made of a function.
type deciderFunc func(ctx context.Context, s *env.State) (env.Allocation, error)

func (f deciderFunc) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	return f(ctx, s)
}

// Weights that are not numbers, overflow or are next to nothing, in a real network:
// what it computes from them is used only where it is finite.
func TestFault03NonFinite(t *testing.T) {
	for name, test := range map[string]struct {
		weight float32
		reason wire.Reason
	}{
		"NaN": {float32(math.NaN()), wire.ReasonNonFinite}, "infinite": {float32(math.Inf(1)), wire.ReasonNonFinite},
		"overflow": {3e38, wire.ReasonNonFinite}, "denormal": {1e-45, wire.ReasonNone},
	} {
		for _, tensor := range []int{nn.ScoreOutputWeight, nn.ScoreLinearWeight} {
			m := priorModel(t)
			data := m.Params.Tensors[tensor].Data
			for i := range data {
				data[i] = test.weight
			}
			policy, err := neural.NewPolicy(m)
			if err != nil {
				t.Fatal(err)
			}
			g := mustNew(t, Config{Policy: policy, Fallback: program(t), Greedy: heuristic.FIFO{}, NonFinite: neural.ErrNonFinite, Deadline: time.Minute})
			r := rng.New(1, "nonfinite")
			for i := range 5 {
				s := message(name, i+1, agenttest.RandomState(r, agenttest.Options{Jobs: 20}))
				d := g.Decide(t.Context(), s)
				if d.Message.Reason != test.reason || (d.Message.Source == wire.SourcePolicy) != (test.reason == wire.ReasonNone) {
					t.Errorf("%s in tensor %d: got %s, %q, want reason %q", name, tensor, d.Message.Source, d.Message.Reason, test.reason)
				}
				if err := d.Message.Check(s.Key(), &s.State); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A cluster without any GPU in service leaves nothing to choose: all idle, by the
// learned policy.
func TestFault03EmptyMask(t *testing.T) {
	policy, err := neural.NewPolicy(priorModel(t))
	if err != nil {
		t.Fatal(err)
	}
	s := state()
	s.State.Down = []int{0}
	g := mustNew(t, Config{Policy: policy, Fallback: program(t), Greedy: heuristic.FIFO{}, NonFinite: neural.ErrNonFinite, Deadline: time.Minute})
	if m := g.Decide(t.Context(), s).Message; m.Source != wire.SourcePolicy || len(m.Picks) != 0 {
		t.Errorf("got %s with %v, want the policy's, empty", m.Source, m.Picks)
	}
}

// Whatever is decided by whom, on states with quotas, nodes out of service, shared
// GPUs and jobs that starve: it passes the checker that shares no code with the
// service, which wild answers do not.
func TestFault04InvalidAction(t *testing.T) {
	r := rng.New(1, "invalid")
	model := priorModel(t)
	for i := range model.Params.Flat {
		model.Params.Flat[i] = float32(0.3 * r.NormFloat64())
	}
	network, err := neural.NewPolicy(model)
	if err != nil {
		t.Fatal(err)
	}
	wild := deciderFunc(func(_ context.Context, s *env.State) (env.Allocation, error) {
		a := make(env.Allocation, max(0, len(s.Jobs)+len(s.Jobs)%3-1))
		for i := range a {
			a[i] = (i*7+int(s.Round))%7 - 2
		}
		return a, nil
	})
	policies := []Decider{network, wild, nil, decider{answer: panics}, decider{answer: fails(errScores)}}
	programs := []Decider{program(t), wild, decider{answer: panics}}
	greedies := []Decider{heuristic.FIFO{}, wild}
	sources, starved := map[wire.Source]int{}, 0
	for i := range 1500 {
		g := mustNew(t, Config{
			Policy: policies[i%len(policies)], Fallback: programs[i%len(programs)], Greedy: greedies[i%len(greedies)],
			Deadline: time.Minute, Hedge: -1, Breaker: Breaker{Off: true}, Starvation: Starvation{Factor: 1e-9, AtLeast: time.Hour},
		})
		for seq := range 2 { // the second with jobs that are being helped
			s := message("c", seq+1, agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(15), Constrained: i%4 > 0}))
			d := g.Decide(t.Context(), s)
			if err := d.Message.Check(s.Key(), &s.State); err != nil {
				t.Fatalf("state %d: %s, %q: %v", i, d.Message.Source, d.Message.Reason, err)
			}
			if err := d.Message.Allocation(&s.State).Validate(&s.State); err != nil {
				t.Fatalf("state %d: %v", i, err)
			}
			sources[d.Message.Source]++
			if d.Message.Reason == wire.ReasonStarving {
				starved++
			}
		}
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range wire.Sources() {
		if sources[source] < 100 {
			t.Errorf("%d decisions by %s, too few to show anything: %v", sources[source], source, sources)
		}
	}
	if starved < 100 {
		t.Errorf("%d decisions for starving jobs, too few to show anything", starved)
	}
}

// infeasible is a program without an answer, solved for real: a job is owed twice
// what the only GPU gives.
func infeasible(ctx context.Context, _ *env.State) (env.Allocation, error) {
	result, err := simplex.Solve(ctx, &simplex.Problem{
		Objective: simplex.Sum, Capacity: []float64{1}, Usages: []simplex.Usage{{{Resource: 0, Amount: 1}}},
		Offsets: []int32{0, 1}, Rate: []float64{1}, Usage: []int32{0}, Value: []float64{1}, Floor: []float64{2},
	}, simplex.Options{})
	if err != nil {
		return nil, err
	}
	return nil, feasible(result.Status)
}

// A linear program that has no answer, or a wrong one, is replaced by the heuristic,
// and the state that it failed on is kept for whoever wants to know why.
func TestFault16ProgramInfeasible(t *testing.T) {
	for name, test := range map[string]struct {
		program Decider
		reason  wire.Reason
		status  string
	}{
		"infeasible":    {deciderFunc(infeasible), wire.ReasonInfeasible, ProgramInfeasible},
		"over capacity": {decider{answer: tooMuch}, wire.ReasonInvalid, ProgramFailed},
		"panic":         {decider{answer: panics}, wire.ReasonPanic, ProgramFailed},
	} {
		dir := t.TempDir()
		g := mustNew(t, Config{Fallback: test.program, Greedy: decider{answer: pick(byGreedy)}, Deadline: time.Minute, DumpDir: dir})
		s := message("c", 1, &state().State)
		d := g.Decide(t.Context(), s)
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := Failure{Source: wire.SourceLP, Reason: test.reason}
		if d.Message.Source != wire.SourceGreedy || len(d.Failures) != 2 || d.Failures[1].Source != want.Source || d.Failures[1].Reason != want.Reason || d.Program.Status != test.status {
			t.Errorf("%s: got %s, %v, program %q, want the heuristic's for %v and %q", name, d.Message.Source, d.Failures, d.Program.Status, want, test.status)
		}
		data, err := os.ReadFile(filepath.Join(dir, "lp-00.json"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := wire.DecodeState(data); err != nil || got.Key() != s.Key() {
			t.Errorf("%s: dumped %v, %v", name, got, err)
		}
	}
}

// Dumps are bounded, and a folder that cannot be written changes no decision.
func TestFault16DumpsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for _, cfg := range []Config{{DumpDir: dir}, {DumpDir: filepath.Join(dir, "missing")}} {
		cfg.Fallback, cfg.Greedy, cfg.Deadline = decider{answer: panics}, decider{answer: pick(byGreedy)}, time.Minute
		g := mustNew(t, cfg)
		for i := range 3 * maxDumps {
			if m := g.Decide(t.Context(), message("c", i+1, &state().State)).Message; m.Source != wire.SourceGreedy {
				t.Errorf("got %s", m.Source)
			}
			if err := g.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != maxDumps {
		t.Errorf("got %d files, %v, want %d", len(files), err, maxDumps)
	}
}

// States that somebody asked about replace none that a cluster sent.
func TestRequestsAreNotDumped(t *testing.T) {
	dir := t.TempDir()
	g := mustNew(t, Config{Fallback: decider{answer: panics}, Greedy: decider{answer: pick(byGreedy)}, Deadline: time.Minute, DumpDir: dir})
	for i, ctx := range []context.Context{t.Context(), Requested(t.Context()), Hypothetical(t.Context())} {
		g.Decide(ctx, message("c", i+1, &state().State))
		if err := g.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if want := []string{filepath.Join(dir, "lp-00.json")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %q, %v, want %q", files, err, want)
	}
}

// hurried is a context that ends after it was asked so often: a deadline that does
// not depend on the machine.
type hurried struct {
	context.Context
	left *int
}

func (h hurried) Err() error {
	if *h.left--; *h.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// hurriedLP is the linear program under such a deadline.
type hurriedLP struct {
	LP
	asks int
}

func (p hurriedLP) DecideGap(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	left := p.asks
	return p.LP.DecideGap(hurried{ctx, &left}, s)
}

// A linear program that is stopped gives the best answer so far and says how far
// from the optimum that is at most; with no time at all the heuristic answers.
func TestFault17ProgramTimeout(t *testing.T) {
	s := message("c", 1, agenttest.RandomState(rng.New(3, "timeout"), agenttest.Options{Jobs: 200, Knowledge: []env.Knowledge{env.Oracle}}))
	decide := func(asks int) Decision {
		g := mustNew(t, Config{Fallback: hurriedLP{program(t), asks}, Greedy: heuristic.FIFO{}, Deadline: time.Minute})
		d := g.Decide(t.Context(), s)
		if err := d.Message.Check(s.Key(), &s.State); err != nil {
			t.Error(err)
		}
		return d
	}
	full := decide(1 << 30)
	if full.Program.Status != ProgramOptimal || full.Message.Gap == nil || *full.Message.Gap > closed {
		t.Fatalf("with all the time: got %+v", full.Program)
	}
	p, stopped := program(t), 0
	for asks := 1; asks < 40; asks++ {
		d := decide(asks)
		if d.Program.Status != ProgramStopped {
			continue
		}
		stopped++
		if d.Message.Source != wire.SourceLP || d.Message.Gap == nil || !(*d.Message.Gap > closed) || math.IsInf(*d.Message.Gap, 0) {
			t.Errorf("stopped after %d looks at the clock: got %s, %+v, want the linear program's with a gap", asks, d.Message.Source, d.Program)
			continue
		}
		values := p.Values(&s.State, d.Message.Allocation(&s.State), full.Message.Allocation(&s.State))
		if regret := regretOf(values[0], values[1]); regret > *d.Message.Gap+0.1 {
			t.Errorf("the stopped answer misses %v of the value, the gap says at most %v", regret, *d.Message.Gap)
		}
	}
	if stopped == 0 {
		t.Error("no answer was a stopped one")
	}
	if none := decide(0); none.Message.Source != wire.SourceGreedy || none.Program.Status != ProgramLate {
		t.Errorf("without time: got %s, %+v, want the heuristic's", none.Message.Source, none.Program)
	}
}

// If all are late, what ran keeps running, as far as its jobs, GPUs and quotas are
// still there.
func TestFault18Hold(t *testing.T) {
	r := rng.New(2, "hold")
	held := 0
	for i := range 200 {
		s := message("c", i+1, agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(30), Busy: agenttest.AllBusy, Constrained: true}))
		shrink(r.IntN(3), &s.State)
		synctest.Test(t, func(t *testing.T) {
			asleep := decider{takes: time.Hour, deaf: i%2 == 0, answer: pick(0)}
			g := mustNew(t, Config{Policy: asleep, Fallback: asleep, Greedy: asleep, Deadline: time.Second, Starvation: Starvation{Off: true}})
			start := time.Now()
			m := g.Decide(t.Context(), s).Message
			if took := time.Since(start); m.Source != wire.SourceHold || took != time.Second {
				t.Errorf("got %s after %v, want hold at the deadline", m.Source, took)
			}
			if err := m.Check(s.Key(), &s.State); err != nil {
				t.Error(err)
			}
			for _, p := range m.Picks {
				j := slices.IndexFunc(s.State.Jobs, func(j env.JobState) bool { return j.ID == p.Job })
				if s.State.Jobs[j].Current != p.Strategy {
					t.Errorf("job %d runs strategy %d, it ran %d", p.Job, p.Strategy, s.State.Jobs[j].Current)
				}
				held++
			}
			if err := g.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	if held < 500 {
		t.Errorf("%d jobs were held, too few to show anything", held)
	}
}

// shrink takes a node out of service, halves quotas, or removes jobs.
func shrink(how int, s *env.State) {
	switch how {
	case 0:
		if len(s.Down) < len(s.Cluster.Nodes) {
			for n := range s.Cluster.Nodes {
				if at, down := slices.BinarySearch(s.Down, n); !down {
					s.Down = slices.Insert(s.Down, at, n)
					return
				}
			}
		}
	case 1:
		for i := range s.Quotas {
			s.Quotas[i].GPUs /= 2
		}
	case 2:
		s.Jobs = s.Jobs[:len(s.Jobs)/2]
	}
}
