package guard

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/lp"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/serve/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errScores = errors.New("scores are not finite")

// decider is a policy that takes some time and then does as told.
type decider struct {
	takes  time.Duration
	deaf   bool // does not listen to its context
	answer func(s *env.State) (env.Allocation, error)
}

func (d decider) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	if d.deaf {
		time.Sleep(d.takes)
	} else if err := sleep(ctx, d.takes); err != nil {
		return nil, err
	}
	return d.answer(s)
}

// gapDecider is an anytime algorithm: it answers when its time ends.
type gapDecider struct {
	decider
	gap float64
}

func (d gapDecider) DecideGap(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	_ = sleep(ctx, d.takes)
	a, err := d.answer(s)
	return a, d.gap, err
}

// pick returns an answer that runs job 0 on strategy k.
func pick(k int) func(*env.State) (env.Allocation, error) {
	return func(s *env.State) (env.Allocation, error) {
		a := env.NewAllocation(len(s.Jobs))
		a[0] = k
		return a, nil
	}
}

func fails(err error) func(*env.State) (env.Allocation, error) {
	return func(*env.State) (env.Allocation, error) { return nil, err }
}

func panics(*env.State) (env.Allocation, error) { panic("index out of range") }

func tooMuch(s *env.State) (env.Allocation, error) {
	return make(env.Allocation, len(s.Jobs)), nil // everyone on strategy 0
}

// state returns two jobs that both want all four GPUs; job 1 has them.
func state() *wire.State {
	strategy := func(gpus int) env.Strategy {
		return env.Strategy{GPUs: gpus, Nodes: 1, Throughput: float64(gpus), Plan: env.Plan{Data: gpus, Tensor: 1, Pipeline: 1, MicroBatch: 1}}
	}
	strategies := []env.Strategy{strategy(4), strategy(3), strategy(2), strategy(1)}
	s := &wire.State{Schema: wire.StateSchema, Cluster: "c", Epoch: 1, Seq: 1, State: env.State{
		Cluster:  env.Cluster{Types: []env.GPUType{{Name: "A", MemoryGiB: 16}}, Nodes: []env.Node{{GPUs: 4}}},
		RoundLen: time.Minute,
	}}
	for i := range 2 {
		s.State.Jobs = append(s.State.Jobs, env.JobState{ID: int64(i), Model: "m", Batch: 1, GPUs: 4, Weight: 1, Remaining: 100, Current: env.Idle, Strategies: strategies})
	}
	s.State.Jobs[1].Current = 0
	return s
}

// The strategy of job 0 in the answers of each source.
const (
	byPolicy = 1
	byLP     = 2
	byGreedy = 3
)

func TestDecide(t *testing.T) {
	const deadline = time.Second
	good := decider{answer: pick(byPolicy)}
	lpGood := decider{answer: pick(byLP)}
	greedy := decider{answer: pick(byGreedy)}
	slow := func(d decider, takes time.Duration) decider { d.takes = takes; return d }
	tests := []struct {
		name               string
		policy, lp, greedy Decider
		delay              time.Duration
		source             wire.Source
		reason             wire.Reason
		took               time.Duration
		failures           int
	}{
		{"in time", good, lpGood, greedy, 0, wire.SourcePolicy, "", 0, 0},
		{"in time after the linear program", slow(good, 800*time.Millisecond), lpGood, greedy, 0, wire.SourcePolicy, "", 800 * time.Millisecond, 0},
		{"late", slow(good, 2*time.Second), lpGood, greedy, 0, wire.SourceLP, "late", 900 * time.Millisecond, 1},
		{"late and deaf", decider{takes: 2 * time.Second, deaf: true, answer: pick(byPolicy)}, lpGood, greedy, 0, wire.SourceLP, "late", 900 * time.Millisecond, 1},
		{"delayed on purpose", good, lpGood, greedy, 5 * time.Second, wire.SourceLP, "late", 900 * time.Millisecond, 1},
		{"error", decider{answer: fails(errors.New("boom"))}, lpGood, greedy, 0, wire.SourceLP, "error", 0, 1},
		{"not finite", decider{answer: fails(errScores)}, lpGood, greedy, 0, wire.SourceLP, "nonfinite", 0, 1},
		{"panic", decider{answer: panics}, lpGood, greedy, 0, wire.SourceLP, "panic", 0, 1},
		{"over capacity", decider{answer: tooMuch}, lpGood, greedy, 0, wire.SourceLP, "invalid", 0, 1},
		{"no such strategy", decider{answer: pick(9)}, lpGood, greedy, 0, wire.SourceLP, "invalid", 0, 1},
		{"wrong length", decider{answer: fails(nil)}, lpGood, greedy, 0, wire.SourceLP, "invalid", 0, 1},
		{"no model", nil, lpGood, greedy, 0, wire.SourceLP, "no_model", 0, 1},
		{"both late", slow(good, time.Hour), slow(lpGood, time.Hour), greedy, 0, wire.SourceGreedy, "late", 900 * time.Millisecond, 2},
		{"both deaf", decider{takes: time.Hour, deaf: true, answer: pick(0)}, decider{takes: time.Hour, deaf: true, answer: pick(0)}, greedy, 0, wire.SourceGreedy, "late", 950 * time.Millisecond, 2},
		{"both panic", decider{answer: panics}, decider{answer: panics}, greedy, 0, wire.SourceGreedy, "panic", 0, 2},
		{"linear program panics, policy in time", slow(good, 600*time.Millisecond), decider{answer: panics}, greedy, 0, wire.SourcePolicy, "", 600 * time.Millisecond, 1},
		{"linear program panics, policy late", slow(good, time.Hour), decider{answer: panics}, greedy, 0, wire.SourceGreedy, "late", 900 * time.Millisecond, 2},
		{"all fail", decider{answer: tooMuch}, decider{answer: panics}, decider{answer: fails(errScores)}, 0, wire.SourceHold, "invalid", 0, 3},
		{"all late", slow(good, time.Hour), slow(lpGood, time.Hour), slow(greedy, time.Hour), 0, wire.SourceHold, "late", deadline, 3},
	}
	want := map[wire.Source]env.Allocation{
		wire.SourcePolicy: {byPolicy, env.Idle}, wire.SourceLP: {byLP, env.Idle}, wire.SourceGreedy: {byGreedy, env.Idle}, wire.SourceHold: {env.Idle, 0},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) { // time is fake: waits cost nothing and are exact
			g, err := New(Config{Policy: test.policy, Fallback: test.lp, Greedy: test.greedy, Deadline: deadline, PolicyDelay: test.delay, NonFinite: errScores, ModelName: "m@1"})
			if err != nil {
				t.Fatal(err)
			}
			s := state()
			start := time.Now()
			d := g.Decide(t.Context(), s)
			took := time.Since(start)
			if d.Message.Source != test.source || d.Message.Reason != test.reason || took != test.took || len(d.Failures) != test.failures {
				t.Errorf("%s: got %s, %q after %v with failures %v, want %s, %q after %v with %d", test.name, d.Message.Source, d.Message.Reason, took, d.Failures, test.source, test.reason, test.took, test.failures)
			}
			if err := d.Message.Check(s.Key(), &s.State); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			got := d.Message.Allocation(&s.State)
			if a := want[test.source]; got[0] != a[0] || got[1] != a[1] {
				t.Errorf("%s: got allocation %v, want %v", test.name, got, a)
			}
			if d.Message.Model != "m@1" || d.Message.DeadlineMS != 1000 {
				t.Errorf("%s: got model %q and deadline %v ms", test.name, d.Message.Model, d.Message.DeadlineMS)
			}
			if err := g.Wait(t.Context()); err != nil { // deaf policies end in their own time
				t.Error(err)
			}
		})
	}
}

// An anytime linear program is stopped early enough for its answer to be used,
// and its gap is in the message.
func TestAnytimeLinearProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for gap, sent := range map[float64]bool{0: true, 0.25: true, math.NaN(): false, math.Inf(1): false, -1: false} {
			g, err := New(Config{Policy: decider{takes: time.Hour, answer: pick(byPolicy)}, Fallback: gapDecider{decider{takes: time.Hour, answer: pick(byLP)}, gap}, Greedy: decider{answer: pick(byGreedy)}})
			if err != nil {
				t.Fatal(err)
			}
			m := g.Decide(t.Context(), state()).Message
			if m.Source != wire.SourceLP || (m.Gap != nil) != sent || sent && *m.Gap != gap {
				t.Errorf("gap %v: got %s with gap %v", gap, m.Source, m.Gap)
			}
		}
	})
}

// A policy that never returns keeps one place per decision until there is none
// left; answers go on.
func TestStuckPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := decider{answer: func(s *env.State) (env.Allocation, error) { <-release; return nil, nil }}
		g, err := New(Config{Policy: stuck, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)}, MaxInFlight: 3, Breaker: Breaker{Off: true}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			start := time.Now()
			m := g.Decide(t.Context(), state()).Message
			if m.Source != wire.SourceLP || m.Reason != wire.ReasonLate {
				t.Fatalf("decision %d: got %s, %q", i, m.Source, m.Reason)
			}
			if took := time.Since(start); i >= 3 && took != 0 {
				t.Errorf("decision %d: got %v of waiting for a policy that is stuck, want none", i, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait on a stuck policy: got %v, want deadline exceeded", err)
		}
		close(release)
		synctest.Wait()
	})
}

func TestCancelledDecisionStillAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := decider{takes: time.Hour, answer: pick(0)}
		g, err := New(Config{Policy: slow, Fallback: slow, Greedy: slow})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if m := g.Decide(ctx, state()).Message; m.Source != wire.SourceHold || m.Reason != wire.ReasonLate {
			t.Errorf("got %s, %q, want hold, late", m.Source, m.Reason)
		}
	})
}

// A parent that ends before the deadline leaves every source its part of the time.
func TestDecideKeepsToTheSoonerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program := deciderFunc(func(ctx context.Context, s *env.State) (env.Allocation, error) {
			<-ctx.Done() // as an anytime algorithm does
			return pick(byLP)(s)
		})
		g := mustNew(t, Config{Fallback: program, Greedy: decider{answer: pick(byGreedy)}, Deadline: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		d := g.Decide(ctx, state())
		if took := time.Since(start); d.Message.Source != wire.SourceLP || took != 1800*time.Millisecond {
			t.Errorf("got %s after %v, %+v, want lp after 1.8s", d.Message.Source, took, d.Failures)
		}
	})
}

type configurer func(context.Context) (env.Configuration, error)

func (c configurer) Configure(ctx context.Context, _ *env.State) (env.Configuration, error) {
	return c(ctx)
}

func TestConfigure(t *testing.T) {
	good := env.Configuration{Scheduler: "tiresias"}
	tests := []struct {
		name   string
		c      configurer
		reason wire.Reason
	}{
		{"good", func(context.Context) (env.Configuration, error) { return good, nil }, ""},
		{"error", func(context.Context) (env.Configuration, error) { return good, errors.New("boom") }, "error"},
		{"panic", func(context.Context) (env.Configuration, error) { panic("boom") }, "panic"},
		{"invalid", func(context.Context) (env.Configuration, error) { return env.Configuration{}, nil }, "invalid"},
		{"not finite", func(context.Context) (env.Configuration, error) {
			return env.Configuration{Scheduler: "x", Knobs: []env.Knob{{Name: "k", Values: []float64{math.NaN()}}}}, nil
		}, "invalid"},
		{"late", func(ctx context.Context) (env.Configuration, error) { return good, sleep(ctx, time.Hour) }, "late"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			g, err := New(Config{Fallback: decider{}, Greedy: decider{}, Configurer: test.c})
			if err != nil {
				t.Fatal(err)
			}
			c, reason, err := g.Configure(t.Context(), state())
			if reason != test.reason || (err == nil) != (test.reason == "") || err == nil && !c.Equal(good) {
				t.Errorf("%s: got %v, %q, %v, want reason %q", test.name, c, reason, err, test.reason)
			}
			synctest.Wait()
		})
	}
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := New(Config{Deadline: -1, Hedge: 0.5, Reserve: 0.95, MaxInFlight: -1, PolicyDelay: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 7 {
		t.Errorf("got %v, want 7 problems", err)
	}
}

// Whatever the policies answer, the decision passes both checks and names why
// it is not the learned policy's.
func TestEveryDecisionIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomState(t)
		wild := func(name string) decider {
			return decider{answer: func(s *env.State) (env.Allocation, error) {
				switch rapid.IntRange(0, 9).Draw(t, name) {
				case 0:
					panic(name)
				case 1:
					return nil, errScores
				}
				a := make(env.Allocation, max(0, len(s.Jobs)+rapid.IntRange(-1, 1).Draw(t, "length")))
				for i := range a {
					a[i] = rapid.IntRange(-2, 4).Draw(t, "strategy")
				}
				return a, nil
			}}
		}
		// Hedge and deadline leave the policies to run one after the other, as
		// rapid draws from one goroutine at a time.
		g, err := New(Config{Policy: wild("policy"), Fallback: wild("lp"), Greedy: wild("greedy"), NonFinite: errScores, Deadline: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		d := g.Decide(context.Background(), s)
		if err := d.Message.Check(s.Key(), &s.State); err != nil {
			t.Fatal(err)
		}
		if err := d.Message.Allocation(&s.State).Validate(&s.State); err != nil {
			t.Fatal(err)
		}
		if (d.Message.Reason == "") != (d.Message.Source == wire.SourcePolicy) {
			t.Fatalf("got source %s with reason %q", d.Message.Source, d.Message.Reason)
		}
	})
}

// Hold is valid on every state, also where what ran no longer fits, and keeps
// all of what ran where it does.
func TestHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomState(t)
		ran := env.NewAllocation(len(s.State.Jobs))
		for i := range ran {
			ran[i] = s.State.Jobs[i].Current
		}
		a := Hold(&s.State)
		if err := a.Validate(&s.State); err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if a[i] != env.Idle && a[i] != ran[i] {
				t.Fatalf("job %d: got strategy %d, ran %d", i, a[i], ran[i])
			}
			if ran.Validate(&s.State) == nil && a[i] != ran[i] {
				t.Fatalf("job %d: got strategy %d though all of %v fits", i, a[i], ran)
			}
		}
	})
}

func randomState(t *rapid.T) *wire.State {
	s := state()
	proto := s.State.Jobs[0]
	s.State.Cluster.Nodes[0].GPUs = rapid.IntRange(1, 12).Draw(t, "gpus")
	s.State.Jobs = nil
	for i := range rapid.IntRange(0, 6).Draw(t, "jobs") {
		proto.ID = int64(i)
		proto.Current = rapid.IntRange(env.Idle, 3).Draw(t, "current")
		s.State.Jobs = append(s.State.Jobs, proto)
	}
	return s
}

// The policies this is built for fit in.
func TestRealPolicies(t *testing.T) {
	program, err := lp.New("lp:throughput", lp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Fallback: LP{program}, Greedy: heuristic.FIFO{}})
	if err != nil {
		t.Fatal(err)
	}
	m := g.Decide(t.Context(), state()).Message
	if m.Source != wire.SourceLP || m.Gap == nil || *m.Gap > 1e-6 || len(m.Picks) == 0 {
		t.Errorf("got %+v, want the linear program's answer with a gap", m)
	}
}

func BenchmarkDecide(b *testing.B) {
	answer := decider{answer: pick(byPolicy)}
	g, err := New(Config{Policy: instant{}, Fallback: answer, Greedy: answer})
	if err != nil {
		b.Fatal(err)
	}
	s := state()
	b.ReportAllocs()
	for b.Loop() {
		g.Decide(b.Context(), s)
	}
}

// instant answers at once: what is left is the guard's own time.
type instant struct{}

func (instant) Decide(_ context.Context, s *env.State) (env.Allocation, error) {
	return env.NewAllocation(len(s.Jobs)), nil
}
