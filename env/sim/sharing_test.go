package sim

import (
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// checkSlots compares the shared GPUs with a recount from the jobs' side.
func checkSlots(t *testing.T, s *Sim, want map[int32]map[int]int8) {
	t.Helper()
	got := make(map[int32]map[int]int8)
	for at := range s.placement.slots {
		g := &s.placement.slots[at]
		if !g.open {
			continue
		}
		got[int32(at)] = make(map[int]int8)
		used := int8(0)
		for _, h := range g.holders[:g.count] {
			got[int32(at)][int(h.job)] += h.parts
			used += h.parts
		}
		if used != g.used || used > env.PartsPerGPU {
			t.Errorf("GPU %d has %d parts in use, counts %d, has %d", at, used, g.used, env.PartsPerGPU)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("parts of shared GPUs (-of jobs +of GPUs):\n%s", diff)
	}
}

// TestSharedGPUsAreCounted plays random allocations of whole GPUs and parts of
// them, on few GPUs, so that jobs have to be moved together now and then, and
// recounts every GPU, the rate of every job and who was moved after every round.
func TestSharedGPUsAreCounted(t *testing.T) {
	moved := 0
	for _, how := range []Placement{Consolidate, Spread} {
		for seed := range uint64(6) {
			cfg := allOn()
			cfg.Cluster = cluster(2, 4, 4, 2)
			cfg.Placement, cfg.Quotas = how, nil
			cfg.Failures.MTBF *= 4
			s := mustNew(t, cfg)
			mustReset(t, s, seed)
			decide := randomly(rng.New(seed, "policy"))
			for !s.Done() {
				before, a := clone(s.State()), env.NewAllocation(len(s.State().Jobs))
				decide(s.State(), a)
				if _, err := s.Advance(a); err != nil {
					t.Fatal(err)
				}
				checkPlacement(t, s)
				moved += movedBy(before, a, s.State())
				s.interfere() // as the next round will begin
				checkRates(t, s)
			}
		}
	}
	if moved < 20 {
		t.Errorf("%d jobs were moved to make room, want at least 20: the test has to see some", moved)
	}
}

// movedBy counts the jobs that were to go on where they were and restarted.
func movedBy(before *env.State, a env.Allocation, after *env.State) int {
	moved := 0
	for i := range before.Jobs {
		j := &before.Jobs[i]
		for n := range after.Jobs {
			if k := &after.Jobs[n]; k.ID == j.ID && a[i] == j.Current && k.Restarts > j.Restarts {
				moved++
			}
		}
	}
	return moved
}

// checkRates works out the rate of every running job from scratch.
func checkRates(t *testing.T, s *Sim) {
	t.Helper()
	for i := range s.state.Jobs {
		k, x := s.state.Jobs[i].Current, &s.active[i]
		if k == env.Idle {
			continue
		}
		st := s.ep.strategies[x.job][k]
		nodes, worst := make(map[int32]bool), math.Inf(1)
		for at := x.segment; at != none; at = s.placement.segments[at].next {
			piece := s.placement.segments[at]
			nodes[piece.node] = true
			if piece.slot == none {
				worst = 1
				continue
			}
			factor, alone := 1.0, true
			for n := range s.active { // whoever else has a piece of it
				for b := s.active[n].segment; n != i && b != none; b = s.placement.segments[b].next {
					if s.placement.segments[b].slot == piece.slot {
						y := s.active[n].job
						alone = false
						factor *= jealous{}.Beside(&s.ep.jobs[x.job], &st, &s.ep.jobs[y], &s.ep.strategies[y][s.state.Jobs[n].Current])
					}
				}
			}
			if alone {
				factor = jealous{}.Alone(&s.ep.jobs[x.job], &st)
			}
			worst = min(worst, factor)
		}
		want := st.Throughput * worst
		if wide := float64(len(nodes)) / float64(st.Nodes); wide > 1 {
			want *= math.Pow(s.cfg.SpreadSlowdown, math.Log2(wide))
		}
		if !near(x.rate, want) {
			t.Errorf("job %d under %+v does %v steps/s, want %v", s.state.Jobs[i].ID, st, x.rate, want)
		}
	}
}
