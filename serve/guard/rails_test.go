package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/serve/wire"
)

// scored is a policy that says how novel states are.
type scored struct {
	decider
	novelty *float64
}

func (d scored) DecideScored(ctx context.Context, s *env.State) (env.Allocation, float64, error) {
	a, err := d.Decide(ctx, s)
	return a, *d.novelty, err
}

// The fallback for unfamiliar states begins with the third of five, ends after ten
// calm ones, and is of one cluster.
func TestUnfamiliar(t *testing.T) {
	novelty := 0.0
	var told []*wire.Event
	g := mustNew(t, Config{
		Policy: scored{decider{answer: pick(byPolicy)}, &novelty}, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)},
		Deadline: time.Minute, ModelName: "m@1", OnEvent: func(e *wire.Event) { told = append(told, e) },
	})
	seq := 0
	step := func(cluster string, x float64) wire.Reason {
		novelty, seq = x, seq+1
		d := g.Decide(t.Context(), message(cluster, seq, &state().State))
		if d.Novelty != x {
			t.Errorf("got novelty %v, want %v", d.Novelty, x)
		}
		return d.Message.Reason
	}
	want := func(what string, x float64, reason wire.Reason, n int) {
		t.Helper()
		for i := range n {
			if got := step("c", x); got != reason {
				t.Fatalf("%s, decision %d at %v: got %q, want %q", what, i, x, got, reason)
			}
		}
	}
	want("two above", 1.5, "", 2)
	want("three calm", 0.5, "", 3)
	want("two above, the others long ago", 1.5, "", 2)
	want("one more", 1.5, wire.ReasonOOD, 1)
	want("between the limits", 0.9, wire.ReasonOOD, 20)
	want("nine calm", 0.5, wire.ReasonOOD, 9)
	want("one not", 1.1, wire.ReasonOOD, 1)
	want("nine calm again", 0.5, wire.ReasonOOD, 9)
	if got := step("other", 0.5); got != "" {
		t.Errorf("another cluster: got %q", got)
	}
	want("the tenth", 0.5, "", 1)
	want("two above afterwards", 2, "", 2)
	if status := g.cfg.Memory.Status(); len(status) != 2 || status[0].Cluster != "c" || status[0].Novelty != 2 || status[0].Unfamiliar {
		t.Errorf("got %+v", status)
	}
	var turns []string
	for _, e := range told {
		if e.Event == wire.EventGuard {
			turns = append(turns, fmt.Sprint(e.Cluster, " ", e.Reason, " ", e.Active, " ", e.Value, " of ", e.Limit, " ", e.Model))
		}
	}
	if !slices.Equal(turns, []string{"c ood true 1.5 of 1 m@1", "c ood false 0.5 of 1 m@1"}) {
		t.Errorf("got events %q", turns)
	}
}

func TestUnfamiliarOffAndUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		off     bool
		novelty float64
	}{"off": {true, 5}, "unknown": {false, -1}} {
		g := mustNew(t, Config{
			Policy: scored{decider{answer: pick(byPolicy)}, &test.novelty}, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)},
			Deadline: time.Minute, Unfamiliar: Unfamiliar{Off: test.off},
		})
		for i := range 10 {
			if m := g.Decide(t.Context(), message("c", i+1, &state().State)).Message; m.Source != wire.SourcePolicy {
				t.Fatalf("%s: got %s, %q", name, m.Source, m.Reason)
			}
		}
	}
}

// What is requested moves nothing that is decided for the cluster, and is not told.
func TestRequestsAreApart(t *testing.T) {
	novelty := 5.0
	g := mustNew(t, Config{
		Policy: scored{decider{answer: pick(byPolicy)}, &novelty}, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)},
		Deadline: time.Minute, OnEvent: func(e *wire.Event) { t.Errorf("told %+v", e) },
	})
	for i := range 10 {
		m := g.Decide(Requested(t.Context()), message("c", i+1, &state().State)).Message
		if (m.Reason == wire.ReasonOOD) != (i >= 2) {
			t.Errorf("request %d: got %q", i, m.Reason)
		}
	}
	novelty = 0.5
	if m := g.Decide(t.Context(), message("c", 11, &state().State)).Message; m.Source != wire.SourcePolicy {
		t.Errorf("published: got %s, %q, want the policy's", m.Source, m.Reason)
	}
	if status := g.cfg.Memory.Status(); len(status) != 1 || status[0].Novelty != 0.5 {
		t.Errorf("got %+v, want the published one alone", status)
	}
}

// A hypothetical decision is the first about its cluster, and the last that anyone
// knows of.
func TestHypotheticalDecisionsAreForgotten(t *testing.T) {
	g := mustNew(t, Config{
		Policy: decider{answer: fails(errors.New("boom"))}, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)},
		Deadline: time.Minute, Breaker: Breaker{Failures: 2, Window: 4}, OnEvent: func(e *wire.Event) { t.Errorf("told %+v", e) },
	})
	ask := func(ctx context.Context, want wire.Reason) {
		t.Helper()
		if m := g.Decide(ctx, message("c", 1, &state().State)).Message; m.Source != wire.SourceLP || m.Reason != want {
			t.Errorf("got %s, %q, want lp, %q", m.Source, m.Reason, want)
		}
	}
	for range 4 {
		ask(Hypothetical(t.Context()), wire.ReasonError)
	}
	if n := len(g.cfg.Memory.requested.byCluster) + len(g.cfg.Memory.published.byCluster); n != 0 {
		t.Errorf("%d clusters are remembered", n)
	}
	ask(Requested(t.Context()), wire.ReasonError)
	ask(Requested(t.Context()), wire.ReasonError)
	ask(Requested(t.Context()), wire.ReasonBreaker)
	ask(Hypothetical(t.Context()), wire.ReasonError)
}

// What is known of a cluster outlives a guard; a new policy that had failed as
// another is tried at once, and only once if it fails too.
func TestMemoryOutlivesGuards(t *testing.T) {
	memory := NewMemory(0)
	make := func(name string, policy Decider) *Guard {
		return mustNew(t, Config{Policy: policy, ModelName: name, Memory: memory, Fallback: decider{answer: pick(byLP)}, Greedy: decider{answer: pick(byGreedy)}, Deadline: time.Minute})
	}
	seq := 0
	reason := func(g *Guard) wire.Reason {
		seq++
		return g.Decide(t.Context(), message("c", seq, &state().State)).Message.Reason
	}
	first := make("m@1", decider{answer: fails(errors.New("boom"))})
	for range 5 {
		reason(first)
	}
	again := make("m@1", decider{answer: pick(byPolicy)})
	if got := reason(again); got != wire.ReasonBreaker {
		t.Errorf("the same policy in a new guard: got %q, want breaker", got)
	}
	bad := make("m@2", decider{answer: panics})
	if got := reason(bad); got != wire.ReasonPanic {
		t.Errorf("a new policy: got %q, want panic", got)
	}
	if got := reason(bad); got != wire.ReasonBreaker {
		t.Errorf("a new policy that failed: got %q, want breaker", got)
	}
	good := make("m@3", decider{answer: pick(byPolicy)})
	for range 3 {
		if got := reason(good); got != "" {
			t.Errorf("a new policy that works: got %q", got)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := NewMemory(8)
	kept := m.track("kept", false)
	kept.unlike(&Config{Unfamiliar: Unfamiliar{Off: true}}, 7)
	for i := range 500 {
		m.track(fmt.Sprint("c", i), false)
		m.track("kept", false)
	}
	for i := range 500 { // requests about any number of clusters displace none that publishes
		m.track(fmt.Sprint("c", i), true)
	}
	for _, known := range []*tracks{&m.published, &m.requested} {
		if n := len(known.byCluster); n != 8 || known.recent.Len() != n {
			t.Errorf("got %d clusters, want 8", n)
		}
	}
	if m.track("kept", false) != kept {
		t.Error("the cluster used last was forgotten")
	}
}

// A policy that gives away all the program's value is caught by its regret, which
// is measured after decisions have left, and trusted again once it has mended.
func TestRegret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := state()
		good, bad := pick(0), func(s *env.State) (env.Allocation, error) { return env.NewAllocation(len(s.Jobs)), nil }
		policy := decider{answer: bad}
		var mu sync.Mutex
		var compared []Comparison
		var told []*wire.Event
		memory := NewMemory(0)
		make := func(d Decider) *Guard {
			return mustNew(t, Config{
				Policy: d, Memory: memory, Fallback: program(t), Greedy: heuristic.FIFO{}, Deadline: time.Second,
				OnComparison: func(c Comparison) { mu.Lock(); compared = append(compared, c); mu.Unlock() },
				OnEvent:      func(e *wire.Event) { mu.Lock(); told = append(told, e); mu.Unlock() },
			})
		}
		g, seq := make(policy), 0
		step := func() *wire.Allocation {
			seq++
			m := g.Decide(t.Context(), message("c", seq, &s.State)).Message
			synctest.Wait() // the comparison
			return m
		}
		for i := range 200 {
			if m := step(); m.Source != wire.SourcePolicy {
				t.Fatalf("decision %d: got %s, %q before the window is full", i, m.Source, m.Reason)
			}
		}
		if m := step(); m.Source != wire.SourceLP || m.Reason != wire.ReasonRegret {
			t.Fatalf("got %s, %q, want the linear program's for regret", m.Source, m.Reason)
		}
		if len(compared) != 21 || compared[0].Regret != 1 || compared[0].Published != wire.SourcePolicy || compared[20].Published != wire.SourceLP {
			t.Errorf("got %d comparisons, the first %+v", len(compared), compared[0])
		}
		g = make(decider{answer: good})
		n := 0
		for step().Reason == wire.ReasonRegret {
			n++
		}
		if n < 10 || n > 20 {
			t.Errorf("the policy that mended was trusted after %d decisions, want some 12 to 20", n)
		}
		status := memory.Status()
		if len(status) != 1 || status[0].Compared != 20 || !(status[0].Regret < 0.5) || status[0].OverBudget {
			t.Errorf("got %+v", status)
		}
		var turns []bool
		for _, e := range told {
			if e.Event == wire.EventGuard {
				turns = append(turns, e.Active)
			}
		}
		if !slices.Equal(turns, []bool{true, false}) {
			t.Errorf("got turns %v, want on and off", turns)
		}
	})
}

func TestRegretOf(t *testing.T) {
	for _, test := range []struct{ policy, program, want float64 }{{1, 2, 0.5}, {2, 2, 0}, {3, 2, -0.5}, {9, 2, -1}, {0, 0, 0}, {1, 0, 0}, {0, 2, 1}} {
		if got := regretOf(test.policy, test.program); got != test.want {
			t.Errorf("policy %v, program %v: got %v, want %v", test.policy, test.program, got, test.want)
		}
	}
}

// queue returns a state of four GPUs and jobs that all want them: job 1 runs, the
// others wait for some hours.
func queue(waiting ...int) *env.State {
	s := state().State
	s.Now = 1000 * time.Hour
	proto := s.Jobs[0]
	s.Jobs = nil
	for i, h := range append([]int{0}, waiting...) {
		j := proto
		j.ID, j.Waiting, j.Ran = int64(i+1), time.Duration(h)*time.Hour, time.Hour
		if i == 0 {
			j.Current = 0
		}
		s.Jobs = append(s.Jobs, j)
	}
	return &s
}

// running returns which jobs a message runs.
func running(m *wire.Allocation) []int64 {
	var ids []int64
	for _, p := range m.Picks {
		ids = append(ids, p.Job)
	}
	return ids
}

// A job that waited longer than 20 times the median run, and than 12 h, runs; then
// for as long as its lease, whatever the policy wants.
func TestStarvation(t *testing.T) {
	var told []*wire.Event
	g := mustNew(t, Config{
		Policy: decider{answer: pick(0)}, Fallback: program(t), Greedy: heuristic.FIFO{}, Deadline: time.Minute,
		OnEvent: func(e *wire.Event) { told = append(told, e) },
	})
	seq := 0
	step := func(s *env.State) *wire.Allocation {
		seq++
		return g.Decide(t.Context(), message("c", seq, s)).Message
	}
	if m := step(queue(19, 20)); m.Source != wire.SourcePolicy {
		t.Errorf("within the bound: got %s, %q", m.Source, m.Reason)
	}
	m := step(queue(19, 30, 25))
	if m.Source != wire.SourceLP || m.Reason != wire.ReasonStarving || !slices.Contains(running(m), 3) {
		t.Fatalf("got %s, %q running %v, want job 3 by the linear program", m.Source, m.Reason, running(m))
	}
	after := queue(20, 0, 26) // job 3 runs now
	after.Jobs[0].Current, after.Jobs[2].Current = env.Idle, 0
	for i := range 9 {
		if m := step(after); m.Reason != wire.ReasonStarving || !slices.Equal(running(m), []int64{3}) {
			t.Fatalf("decision %d of the lease: got %q running %v, want job 3", i, m.Reason, running(m))
		}
	}
	if m := step(after); m.Reason != wire.ReasonStarving || !slices.Contains(running(m), 4) {
		t.Errorf("after the lease: got %q running %v, want job 4, which waits longest now", m.Reason, running(m))
	}
	if m := step(queue()); m.Source != wire.SourcePolicy {
		t.Errorf("jobs left: got %s, %q", m.Source, m.Reason)
	}
	var texts []string
	for _, e := range told {
		if e.Event == wire.EventGuard {
			texts = append(texts, e.Message)
		}
	}
	if !slices.Equal(texts, []string{"job 3 runs: it waited for 30.0 h", "job 4 runs: it waited for 26.0 h"}) {
		t.Errorf("got %q", texts)
	}
}

// A policy that runs the starving job itself is let be, and so is one whose job
// cannot run at all.
func TestStarvationSparesThePolicy(t *testing.T) {
	g := mustNew(t, Config{Policy: decider{answer: func(s *env.State) (env.Allocation, error) {
		a := env.NewAllocation(len(s.Jobs))
		a[1] = 0
		return a, nil
	}}, Fallback: program(t), Greedy: heuristic.FIFO{}, Deadline: time.Minute})
	if m := g.Decide(t.Context(), message("c", 1, queue(30))).Message; m.Source != wire.SourcePolicy {
		t.Errorf("policy runs the job: got %s, %q", m.Source, m.Reason)
	}
	s := queue(5, 30)
	s.Jobs[2].Strategies = []env.Strategy{{GPUs: 5, Nodes: 1, Throughput: 1}}
	if m := g.Decide(t.Context(), message("c", 2, s)).Message; m.Source != wire.SourcePolicy {
		t.Errorf("a job that fits nowhere: got %s, %q", m.Source, m.Reason)
	}
}

// Whoever is helped, the state of the others is valid, and any allocation of it is
// one of the whole together with the pinned jobs.
func TestOthersAreAValidState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rng.New(rapid.Uint64().Draw(t, "seed"), "aid")
		s := agenttest.RandomState(r, agenttest.Options{Jobs: 1 + r.IntN(10), Constrained: true})
		track := &track{}
		cfg := Starvation{Factor: 1e-9, AtLeast: 1, Lease: 5}
		for _, j := range s.Jobs[:r.IntN(len(s.Jobs))] {
			track.leases = append(track.leases, lease{j.ID, 3})
		}
		a := track.helps(&cfg, s)
		if a == nil {
			return
		}
		others := a.others()
		if err := others.Validate(); err != nil {
			t.Fatal(err)
		}
		density, err := heuristic.NewDensity(heuristic.DensityConfig{})
		if err != nil {
			t.Fatal(err)
		}
		rest, err := density.Decide(context.Background(), others)
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.with(rest)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Validate(s); err != nil {
			t.Fatal(err)
		}
		if !a.granted(all) {
			t.Fatalf("%v does not run all of %v", all, a.pins)
		}
		if err := holdWith(s, a).Validate(s); err != nil {
			t.Fatal(err)
		}
	})
}

// A configurer on states unlike its training leaves the cluster what it has.
func TestConfigureUnfamiliar(t *testing.T) {
	good, novelty := env.Configuration{Scheduler: "tiresias"}, 2.0
	g := mustNew(t, Config{Fallback: decider{}, Greedy: decider{}, Configurer: scoredConfigurer{good, &novelty}, Deadline: time.Minute})
	for i := range 6 {
		c, reason, err := g.Configure(t.Context(), state())
		if i < 2 && (err != nil || !c.Equal(good)) || i >= 2 && reason != wire.ReasonOOD {
			t.Errorf("configuration %d: got %v, %q, %v", i, c, reason, err)
		}
	}
}

type scoredConfigurer struct {
	c       env.Configuration
	novelty *float64
}

func (c scoredConfigurer) Configure(context.Context, *env.State) (env.Configuration, error) {
	return c.c, nil
}

func (c scoredConfigurer) ConfigureScored(context.Context, *env.State) (env.Configuration, float64, error) {
	return c.c, *c.novelty, nil
}

// slowHysteresis recounts all scores since the last change.
func slowHysteresis(u Unfamiliar, scores []float64) (active bool) {
	since := 0
	for i := range scores {
		if !active {
			n := 0
			for _, x := range scores[max(since, i+1-u.Window) : i+1] {
				if x > 1 {
					n++
				}
			}
			if n >= u.Enter {
				active, since = true, i+1
			}
			continue
		}
		calm := 0
		for k := i; k >= since && scores[k] < u.Leave; k-- {
			calm++
		}
		if calm >= u.Calm {
			active, since = false, i+1
		}
	}
	return active
}

func TestHysteresisTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := Unfamiliar{Window: rapid.IntRange(1, 64).Draw(t, "window"), Calm: rapid.IntRange(1, 12).Draw(t, "calm"), Leave: 0.8}
		u.Enter = rapid.IntRange(1, u.Window).Draw(t, "enter")
		scores := rapid.SliceOfN(rapid.SampledFrom([]float64{0.5, 0.5, 0.9, 1, 1.5, 1.5}), 0, 200).Draw(t, "scores")
		var h hysteresis
		was := false
		for i, x := range scores {
			changed := h.add(&u, x)
			if want := slowHysteresis(u, scores[:i+1]); h.active != want || changed != (was != h.active) {
				t.Fatalf("after %d scores: got %v, changed %v, want %v", i+1, h.active, changed, want)
			}
			was = h.active
		}
	})
}

func TestRailsReportAllProblems(t *testing.T) {
	_, err := New(Config{
		Fallback: decider{}, Greedy: decider{}, Unfamiliar: Unfamiliar{Enter: 9}, Starvation: Starvation{Factor: -1},
		Regret: Regret{Window: 100}, Breaker: Breaker{Failures: 11},
	})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"Unfamiliar", "Starvation", "Regret", "Breaker"} {
		if !strings.Contains(err.Error(), "config: "+want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}
