package sim

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// TestGPUTimeWithinCapacity plays random allocations with every switch on and
// checks, at every instant, that jobs hold no more of a type than its nodes in
// service have, and nothing of a node out of service.
func TestGPUTimeWithinCapacity(t *testing.T) {
	for seed := range uint64(4) {
		cfg := allOn()
		cfg.Failures = Failures{Outages: outagesOf(&cfg, 6*time.Hour)}
		_, rec := recorded(t, cfg, seed)
		type change struct {
			at      time.Duration
			gpuType int
			gpus    float64
		}
		var changes []change
		add := func(from, to time.Duration, gpuType int, gpus float64) {
			changes = append(changes, change{from, gpuType, gpus}, change{to, gpuType, -gpus})
		}
		for _, g := range rec.Segments {
			add(g.From, g.To, g.Strategy.Type, g.Strategy.Held())
			for _, o := range cfg.Failures.Outages {
				on := slices.ContainsFunc(g.Pieces, func(p Piece) bool { return p.Node == o.Node })
				if on && g.From < o.To && o.From < g.To {
					t.Fatalf("seed %d: job %d is on node %d from %v to %v, which is out of service from %v to %v", seed, g.Job, o.Node, g.From, g.To, o.From, o.To)
				}
			}
		}
		for _, o := range cfg.Failures.Outages {
			node := cfg.Cluster.Nodes[o.Node]
			add(o.From, o.To, node.Type, float64(node.GPUs))
		}
		slices.SortFunc(changes, func(a, b change) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return int(math.Copysign(1, a.gpus)) - int(math.Copysign(1, b.gpus)) // what ends first
		})
		held, capacity := make([]float64, len(cfg.Cluster.Types)), cfg.Cluster.Capacity()
		for _, c := range changes {
			if held[c.gpuType] += c.gpus; held[c.gpuType] > float64(capacity[c.gpuType]) {
				t.Fatalf("seed %d: %v GPUs of type %d in use or out of service at %v, there are %d", seed, held[c.gpuType], c.gpuType, c.at, capacity[c.gpuType])
			}
		}
	}
}

// TestOnlyFailuresLoseWork follows the steps of every job from round to round:
// they stay while it waits, go up while it runs, also where it changes its GPUs,
// and a failure takes them back by less than a checkpoint interval's worth.
func TestOnlyFailuresLoseWork(t *testing.T) {
	interruptions, lost := 0, 0
	for seed := range uint64(6) {
		cfg := allOn()
		s := mustNew(t, cfg)
		mustReset(t, s, seed)
		decide := randomly(rng.New(seed, "policy"))
		before := clone(s.State())
		var last env.Allocation
		play(t, s, func(st *env.State, a env.Allocation) {
			for i := range before.Jobs {
				was := &before.Jobs[i]
				n := slices.IndexFunc(st.Jobs, func(j env.JobState) bool { return j.ID == was.ID })
				if n < 0 || last == nil {
					continue
				}
				is := &st.Jobs[n]
				killed := last[i] != env.Idle && is.Current == env.Idle
				most := s.fastest(s.active[n].job) * cfg.Checkpoint.Seconds()
				switch {
				case last[i] == env.Idle && is.Done != was.Done:
					t.Fatalf("seed %d: job %d waited and went from %v to %v steps", seed, is.ID, was.Done, is.Done)
				case !killed && is.Done < was.Done:
					t.Fatalf("seed %d: job %d ran and went from %v to %v steps", seed, is.ID, was.Done, is.Done)
				case killed && is.Done < was.Done-most:
					t.Fatalf("seed %d: job %d lost %v steps, an interval is worth at most %v", seed, is.ID, was.Done-is.Done, most)
				case killed && is.Waiting == 0:
					t.Fatalf("seed %d: job %d lost a node and does not wait", seed, is.ID)
				case killed && is.Done < was.Done:
					lost++
				}
			}
			decide(st, a)
			before, last = clone(st), slices.Clone(a)
		})
		schedule := s.Schedule()
		for i := range schedule.Jobs {
			interruptions += schedule.Jobs[i].Interruptions
		}
	}
	if interruptions < 20 || lost < 5 {
		t.Errorf("%d interruptions, %d with work lost, want at least 20 and 5: the test has to see some", interruptions, lost)
	}
}

// TestRandomFailuresHaveTheirMeans lets many nodes fail for a long time.
func TestRandomFailuresHaveTheirMeans(t *testing.T) {
	cfg := Config{
		Cluster: cluster(1, 200), Candidates: &elastic{perNode: 1, onlyOwn: true}, Round: time.Hour,
		Workload: func(uint64) ([]env.Job, error) {
			return []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 1e12, Weight: 1}}, nil
		},
		Failures:  Failures{MTBF: 90 * time.Hour, MTTR: 10 * time.Hour},
		MaxRounds: 5000,
	}
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	down, failed, was := 0, 0, map[int]bool{}
	play(t, s, func(st *env.State, a env.Allocation) {
		a[0] = env.Idle
		is := map[int]bool{}
		for _, n := range st.Down {
			is[n] = true
			if !was[n] {
				failed++
			}
		}
		down += len(st.Down)
		was = is
	})
	rounds := 200.0 * 5000
	if share := float64(down) / rounds; math.Abs(share-0.1) > 0.004 {
		t.Errorf("a node is out of service %v of the time, want MTTR / (MTBF + MTTR) = 0.1", share)
	}
	// Outages within an hour are not seen: 1 - exp(-1/10) of them at most.
	if every := rounds / float64(failed); every < 95 || every > 112 {
		t.Errorf("a node fails every %v h, want MTBF + MTTR = 100 h or a little more", every)
	}
}

// TestFailuresDependOnTheSeedAlone compares the nodes out of service under two
// policies, and under two workloads.
func TestFailuresDependOnTheSeedAlone(t *testing.T) {
	cfg := allOn()
	down := func(cfg Config, seed uint64, decide decider) [][]int {
		s := mustNew(t, cfg)
		mustReset(t, s, seed)
		var all [][]int
		play(t, s, func(st *env.State, a env.Allocation) {
			if st.Now < 20*time.Hour {
				round := int(st.Now / st.RoundLen)
				for len(all) < round {
					all = append(all, nil)
				}
				all = append(all, slices.Clone(st.Down))
			}
			decide(st, a)
		})
		return all
	}
	a, b, other := down(cfg, 1, fifo()), down(cfg, 1, las()), down(cfg, 2, fifo())
	same, differ := 0, 0
	for i := range min(len(a), len(b), len(other)) {
		if !slices.Equal(a[i], b[i]) {
			t.Fatalf("round %d: %v are down under one policy, %v under another", i, a[i], b[i])
		}
		if len(a[i]) > 0 {
			same++
		}
		if !slices.Equal(a[i], other[i]) {
			differ++
		}
	}
	if same < 20 || differ < 20 {
		t.Errorf("%d rounds with nodes down, %d unlike those of another seed, want at least 20 each", same, differ)
	}
}

// TestResetToKeepsNodesDown starts from states with nodes out of service.
func TestResetToKeepsNodesDown(t *testing.T) {
	for _, random := range []bool{false, true} {
		cfg := smallConfig()
		if random {
			cfg.Failures = Failures{MTBF: 10 * time.Hour, MTTR: time.Hour}
		}
		s := mustNew(t, cfg)
		state := &env.State{Cluster: cfg.Cluster, Now: 1000 * time.Second, RoundLen: time.Minute, Down: []int{1, 4}, Quotas: []env.Quota{{Tenant: "t", Type: 0, GPUs: 1}}}
		future := []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 8e5, Submit: 1000 * time.Second, Weight: 1, Tenant: "t"}}
		if err := s.ResetTo(3, Start{State: state, Future: future}); err != nil {
			t.Fatal(err)
		}
		if got := s.State(); !slices.Equal(got.Down, state.Down) || !slices.Equal(got.Quotas, state.Quotas) {
			t.Fatalf("starts with %v down and quotas %v, want %v and %v", got.Down, got.Quotas, state.Down, state.Quotas)
		}
		checkPlacement(t, s)
		back := false
		play(t, s, func(st *env.State, a env.Allocation) {
			back = back || !slices.Contains(st.Down, 1)
			fifo()(st, a)
		})
		if back != random {
			t.Errorf("failures at random: %v, node 1 came back: %v; without failures it stays away", random, back)
		}
	}
}

// TestResetToAfterALoss starts from states in which jobs ran on nodes that are
// down now, and beyond a quota that was cut.
func TestResetToAfterALoss(t *testing.T) {
	cfg := smallConfig()
	cfg.Workload = poisson(40, time.Minute)
	s := mustNew(t, cfg)
	mustReset(t, s, 2)
	playRounds(t, s, fifo(), 12)
	state := clone(s.State())
	state.Down, state.Quotas = []int{0, 1, 2}, []env.Quota{{Tenant: "t", Type: env.AnyType, GPUs: 1}}
	if err := s.ResetTo(1, Start{State: state, Remaining: s.Remaining(nil)}); err != nil {
		t.Fatal(err)
	}
	stopped, goOn := 0, 0
	for i := range state.Jobs {
		switch is := s.State().Jobs[i].Current; {
		case is != env.Idle:
			goOn++
		case state.Jobs[i].Current != env.Idle:
			stopped++
		}
	}
	if stopped == 0 || goOn < 2 {
		t.Errorf("%d jobs stopped and %d go on, want some and at least 2: the quota stops nobody before a decision", stopped, goOn)
	}
	checkPlacement(t, s)
}

// TestWithdrawnBeforeTheFirstDecision: such an episode has nothing to decide.
func TestWithdrawnBeforeTheFirstDecision(t *testing.T) {
	cfg := smallConfig()
	cfg.Workload = func(uint64) ([]env.Job, error) {
		return []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 1, Submit: 10, Cancel: 20, Weight: 1}}, nil
	}
	s := mustNew(t, cfg)
	if err := s.Reset(1); err == nil || !strings.Contains(err.Error(), "withdrawn before the first decision") {
		t.Errorf("got error %v", err)
	}
	if _, err := s.Advance(nil); err == nil {
		t.Error("advanced an episode that did not begin")
	}
}
