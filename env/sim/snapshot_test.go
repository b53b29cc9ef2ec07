package sim

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// playRounds plays n rounds, or fewer if the episode ends.
func playRounds(t *testing.T, s *Sim, decide decider, n int) {
	t.Helper()
	for ; n > 0 && !s.Done(); n-- {
		a := env.NewAllocation(len(s.State().Jobs))
		decide(s.State(), a)
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoreContinuesTheSameEpisode goes back to a snapshot in the simulator
// that took it and in another, after other things happened in both.
func TestRestoreContinuesTheSameEpisode(t *testing.T) {
	for name, cfg := range variants() {
		t.Run(name, func(t *testing.T) {
			s, other := mustNew(t, cfg), mustNew(t, cfg)
			mustReset(t, s, 2)
			playRounds(t, s, srtf(), 25)
			snap := s.Snapshot()
			at := clone(s.State())
			// windows plays the rest of the episode and returns what was recent
			// at each decision.
			windows := func(x *Sim) (reward float64, all []env.Window) {
				decide := las()
				reward, _ = play(t, x, func(st *env.State, a env.Allocation) {
					all = append(all, st.Recent)
					decide(st, a)
				})
				return reward, all
			}
			reward, recent := windows(s)
			want := s.Schedule()
			mustReset(t, other, 8)
			playRounds(t, other, fifo(), 7)
			for _, x := range []*Sim{s, other, s} {
				if err := x.Restore(snap); err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(at, x.State()); diff != "" {
					t.Fatalf("restored state (-want +got):\n%s", diff)
				}
				gotReward, gotRecent := windows(x)
				if gotReward != reward {
					t.Errorf("rewards after it sum to %v, want %v", gotReward, reward)
				}
				if diff := gocmp.Diff(recent, gotRecent); diff != "" {
					t.Errorf("recent windows (-want +got):\n%s", diff)
				}
				if diff := gocmp.Diff(want, x.Schedule()); diff != "" {
					t.Errorf("schedule (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestRestoreRefusesOtherRules(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	snap := s.Snapshot()
	for name, change := range map[string]func(*Config){
		"round":     func(c *Config) { c.Round = time.Minute },
		"knowledge": func(c *Config) { c.Knowledge = env.None },
		"cluster":   func(c *Config) { c.Cluster = cluster(4, 8, 8, 8) },
		"restarts":  func(c *Config) { c.FreeRestarts = true },
	} {
		c := smallConfig()
		change(&c)
		if err := mustNew(t, c).Restore(snap); err == nil {
			t.Errorf("another %s: no error", name)
		}
	}
}

// TestResetToContinues starts from a state in mid-episode with the truth about
// its jobs and the jobs that were to come: everything must end as it would have
// (placement and restarts under way, which a state does not tell, are free).
func TestResetToContinues(t *testing.T) {
	for seed := range uint64(10) {
		cfg := smallConfig()
		cfg.FreePlacement, cfg.FreeRestarts = true, true
		s, other := mustNew(t, cfg), mustNew(t, cfg)
		mustReset(t, s, seed)
		playRounds(t, s, srtf(), 20)
		if s.Done() {
			t.Fatalf("seed %d: over too early", seed)
		}
		jobs, _ := cfg.Workload(seed)
		var future []env.Job
		for _, j := range jobs {
			if j.Submit > s.State().Now {
				future = append(future, j)
			}
		}
		start := Start{State: s.State(), Remaining: s.Remaining(nil), Future: future}
		if err := other.ResetTo(seed, start); err != nil {
			t.Fatal(err)
		}
		approx := gocmp.Options{cmpopts.EquateApprox(1e-9, 1e-9), cmpopts.IgnoreFields(env.State{}, "Recent")}
		if diff := gocmp.Diff(s.State(), other.State(), approx); diff != "" {
			t.Fatalf("seed %d: state (-want +got):\n%s", seed, diff)
		}
		if diff := gocmp.Diff(s.State().Recent, other.State().Recent, approx); diff != "" {
			t.Errorf("seed %d: recent (-want +got):\n%s", seed, diff)
		}
		now, b := s.State().Now, 0.0
		a, _ := play(t, s, func(st *env.State, choice env.Allocation) {
			if !slices.EqualFunc(st.Jobs, other.State().Jobs, alike) {
				t.Fatalf("seed %d: state (-want +got):\n%s", seed, gocmp.Diff(st, other.State(), approx))
			}
			srtf()(st, choice)
			o, err := other.Advance(choice)
			if err != nil {
				t.Fatal(err)
			}
			b += o.Reward
		})
		if !near(b, a) || !other.Done() {
			t.Errorf("seed %d: rewards sum to %v (done: %v), want %v", seed, b, other.Done(), a)
		}
		compareFinishes(t, s.Schedule(), other.Schedule(), now)
	}
}

// alike reports whether a and b are the same but for rounding.
func alike(a, b env.JobState) bool {
	return a.ID == b.ID && a.Current == b.Current && a.Waiting == b.Waiting && a.Ran == b.Ran && a.Restarts == b.Restarts &&
		near(a.Done, b.Done) && near(a.Service, b.Service) && math.Abs(a.Remaining-b.Remaining) <= 1e-9*(1+a.Done+a.Remaining)
}

// compareFinishes compares the jobs that finished after now; got has no others.
func compareFinishes(t *testing.T, want, got metrics.Schedule, now time.Duration) {
	t.Helper()
	i := 0
	for _, w := range want.Jobs {
		if w.Finish <= now {
			continue
		}
		g := got.Jobs[i]
		i++
		if d := g.Finish - w.Finish; g.ID != w.ID || d < -1 || d > 1 || g.Restarts != w.Restarts || !near(g.Service, w.Service) || g.Submit != w.Submit {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
	if i != len(got.Jobs) {
		t.Errorf("%d jobs finished, want %d", len(got.Jobs), i)
	}
}

// TestResetToEmptyCluster jumps to the first future job.
func TestResetToEmptyCluster(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	state := &env.State{Cluster: cfg.Cluster, Now: 1000 * time.Second, Round: 7, RoundLen: time.Minute}
	future := []env.Job{{ID: 1, Model: "m", Batch: 1, GPUs: 1, Work: 800, Submit: 2000 * time.Second, Weight: 1}}
	if err := s.ResetTo(0, Start{State: state, Future: future}); err != nil {
		t.Fatal(err)
	}
	// Rounds of 360 s from 1000 s on: 1000, 1360, 1720, 2080.
	if got := s.State(); got.Now != 2080*time.Second || got.Round != 7 || len(got.Jobs) != 1 || got.Jobs[0].Waiting != 80*time.Second {
		t.Errorf("state is %+v, want job 1 waiting for 80s at 2080s in round 7", *got)
	}
	reward, _ := play(t, s, fifo())
	if got := s.Schedule(); !near(-reward*3600, got.Jobs[0].JCT().Seconds()) {
		t.Errorf("reward is %v h, JCT %v", reward, got.Jobs[0].JCT())
	}
}

// TestResetToSharesFromTheStart starts with two jobs that were submitted long
// before. How many there were until then is unknown, so the share that their
// isolated time assumes is one of two, the number since the start.
func TestResetToSharesFromTheStart(t *testing.T) {
	both := fixed{{GPUs: 2, Nodes: 1, Throughput: 1}}
	c := cluster(2, 2)
	state := &env.State{Cluster: c, Now: 10_000 * time.Second, RoundLen: time.Minute}
	for id := range int64(2) {
		state.Jobs = append(state.Jobs, env.JobState{
			ID: id, Model: "m", Batch: 1, GPUs: 2, Weight: 1, Remaining: 100, Current: env.Idle, Waiting: state.Now, Strategies: both,
		})
	}
	s := mustNew(t, Config{Cluster: c, Candidates: both})
	if err := s.ResetTo(0, Start{State: state, Remaining: []float64{100, 100}}); err != nil {
		t.Fatal(err)
	}
	play(t, s, fifo())
	if got := s.Schedule().Jobs[0]; got.Isolated != 200*time.Second || got.JCT() != 10_100*time.Second {
		t.Errorf("job 0: isolated %v, JCT %v, want 200 s and 10100 s", got.Isolated, got.JCT())
	}
}

// TestResetToKeepsGPUsOnce checks that running jobs hold nodes after a start
// from a state, so that two jobs of half a type are not put on the same GPUs.
func TestResetToKeepsGPUsOnce(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	mustReset(t, s, 4)
	playRounds(t, s, fifo(), 12)
	other := mustNew(t, cfg)
	if err := other.ResetTo(1, Start{State: s.State(), Remaining: s.Remaining(nil)}); err != nil {
		t.Fatal(err)
	}
	checkPlacement(t, other)
	playRounds(t, other, fifo(), 5)
	checkPlacement(t, other)
}

// checkPlacement recounts the GPUs of every node.
func checkPlacement(t *testing.T, s *Sim) {
	t.Helper()
	free := make([]int32, 0)
	for _, n := range s.cfg.Cluster.Nodes {
		free = append(free, int32(n.GPUs))
	}
	for _, n := range s.state.Down {
		free[n] = 0
	}
	slots := make(map[int32]map[int]int8) // parts of each shared GPU by job
	for i := range s.active {
		held := 0
		for g := s.active[i].segment; g != none; g = s.placement.segments[g].next {
			piece := s.placement.segments[g]
			held += int(piece.gpus)
			j := &s.state.Jobs[i]
			if piece.slot == none {
				free[piece.node] -= piece.gpus
			} else {
				if slots[piece.slot] == nil {
					free[piece.node]--
					slots[piece.slot] = make(map[int]int8)
				}
				slots[piece.slot][s.active[i].job] += int8(env.PartsPerGPU / j.Strategies[j.Current].Share)
				if s.placement.slots[piece.slot].node != piece.node {
					t.Errorf("job %d: a piece says node %d, its GPU is on %d", j.ID, piece.node, s.placement.slots[piece.slot].node)
				}
			}
			if s.cfg.Cluster.Nodes[piece.node].Type != j.Strategies[j.Current].Type {
				t.Errorf("job %d holds GPUs of another type", j.ID)
			}
		}
		want := 0
		if j := &s.state.Jobs[i]; j.Current != env.Idle {
			want = j.Strategies[j.Current].GPUs
		}
		if held != want {
			t.Errorf("job %d holds %d GPUs, want %d", s.state.Jobs[i].ID, held, want)
		}
	}
	checkSlots(t, s, slots)
	if diff := gocmp.Diff(free, s.placement.free); diff != "" {
		t.Errorf("free GPUs per node (-recounted +kept):\n%s", diff)
	}
}

func TestResetToRefuses(t *testing.T) {
	cfg := smallConfig()
	s := mustNew(t, cfg)
	mustReset(t, s, 1)
	playRounds(t, s, fifo(), 10)
	state, remaining := clone(s.State()), s.Remaining(nil)
	for _, tt := range []struct {
		name  string
		spoil func(*Start)
		want  string
	}{
		{"no state", func(x *Start) { x.State = nil }, "no state"},
		{"invalid state", func(x *Start) { x.State.Jobs[0].Weight = -1 }, "weight is -1"},
		{"another cluster", func(x *Start) { x.State.Cluster = cluster(4, 8, 8, 8) }, "cluster is not that of the config"},
		{"too few remaining", func(x *Start) { x.Remaining = x.Remaining[1:] }, "true remaining work of"},
		{"nothing remaining", func(x *Start) { x.Remaining[0] = 0 }, "want finite and > 0"},
		{"a past future", func(x *Start) { x.Future = []env.Job{{ID: 99}} }, "before now"},
		{"an ID used twice", func(x *Start) {
			x.Future = []env.Job{{ID: x.State.Jobs[0].ID, Model: "m", Batch: 1, GPUs: 1, Work: 1, Weight: 1, Submit: x.State.Now + 1}}
		}, "occurs twice"},
		{"running on too many GPUs", func(x *Start) {
			for i := range x.State.Jobs {
				j := &x.State.Jobs[i]
				j.Current, j.Strategies = 0, []env.Strategy{{GPUs: 8, Nodes: 2, Throughput: 1}}
			}
		}, "GPUs too many"},
		{"nothing to do", func(x *Start) { x.State.Jobs, x.Remaining = nil, nil }, "neither jobs nor future jobs"},
	} {
		start := Start{State: clone(state), Remaining: append([]float64(nil), remaining...)}
		tt.spoil(&start)
		err := mustNew(t, cfg).ResetTo(1, start)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}
