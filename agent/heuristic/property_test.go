package heuristic

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent"
	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// policies returns all policies but those in except.
func policies(t *testing.T, except ...string) map[string]agent.Policy {
	t.Helper()
	all := map[string]agent.Policy{}
	for _, e := range registry().Entries() {
		p, err := e.New()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(except, e.Name) {
			all[e.Name] = p
		}
	}
	return all
}

func decide(t *rapid.T, p agent.Policy, s *env.State) env.Allocation {
	a, err := p.Decide(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func drawState(t *rapid.T) *env.State {
	return agenttest.RandomState(rng.New(rapid.Uint64().Draw(t, "seed"), "property"), agenttest.Options{})
}

// freeAfter returns the GPUs of each type that a leaves.
func freeAfter(s *env.State, a env.Allocation) []int {
	free := s.Cluster.Capacity()
	for i, k := range a {
		if k != env.Idle {
			free[s.Jobs[i].Strategies[k].Type] -= s.Jobs[i].Strategies[k].GPUs
		}
	}
	return free
}

// elastic are the policies that use strategies of all sizes.
var elastic = []string{
	densityName, twoStageElasticName, twoStageElasticGittinsName, tardinessName, "elasticflow", "optimus", "afs", "random",
}

// TestMaximal: no policy but FIFO, whose head blocks, and AlloX, which may wait
// for a better type, leaves GPUs to no one while a job that they would do for is
// idle. Rigid policies count only the strategies with the GPUs a job asked for.
func TestMaximal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		for _, e := range registry().Entries() {
			if e.Name == "fifo" || e.Name == "allox" {
				continue
			}
			p, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			a := decide(t, p, s)
			free := freeAfter(s, a)
			for i := range s.Jobs {
				for k := range s.Jobs[i].Strategies {
					st := &s.Jobs[i].Strategies[k]
					counts := slices.Contains(elastic, e.Name) || st.GPUs == s.Jobs[i].GPUs
					if a[i] == env.Idle && counts && st.GPUs <= free[st.Type] {
						t.Errorf("%s: job %d is idle though %d GPUs of type %d are free", e.Name, s.Jobs[i].ID, free[st.Type], st.Type)
					}
				}
			}
		}
	})
}

// TestFIFONeverPreempts: what runs goes on, and no job starts before an
// earlier one that could ever run.
func TestFIFONeverPreempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		a := decide(t, FIFO{}, s)
		capacity := s.Cluster.Capacity()
		blocked := false
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if j.Current != env.Idle {
				if a[i] != j.Current {
					t.Fatalf("job %d ran in %d, got %d", j.ID, j.Current, a[i])
				}
				continue
			}
			possible := slices.ContainsFunc(j.Strategies, func(st env.Strategy) bool { return st.GPUs <= capacity[st.Type] })
			if a[i] != env.Idle && blocked {
				t.Fatalf("job %d started before an earlier one", j.ID)
			}
			blocked = blocked || a[i] == env.Idle && possible
		}
	})
}

// TestScalingAllSpeedsChangesNothing: with all rates twice as high and all work
// twice as large, every time is the same, so is every decision.
func TestScalingAllSpeedsChangesNothing(t *testing.T) {
	all := policies(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		scaled := *s
		scaled.Jobs = slices.Clone(s.Jobs)
		for i := range scaled.Jobs {
			j := &scaled.Jobs[i]
			j.Done *= 2
			if s.Knowledge != env.None {
				j.Remaining *= 2
			}
			j.Strategies = slices.Clone(j.Strategies)
			for k := range j.Strategies {
				j.Strategies[k].Throughput *= 2
			}
		}
		for name, p := range all {
			// The density and what is built on it compare logarithms, in which a
			// factor of two may round: they have their own checks of the formula.
			if slices.Contains(Tunable(), name) {
				continue
			}
			if a, b := decide(t, p, s), decide(t, p, &scaled); !slices.Equal(a, b) {
				t.Errorf("%s: %v at twice the speeds and work, before %v", name, b, a)
			}
		}
	})
}

// TestLaterClockChangesNothing: only differences of times may count.
func TestLaterClockChangesNothing(t *testing.T) {
	all := policies(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		shift := time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "shift"))
		later := *s
		later.Now += shift
		later.Jobs = slices.Clone(s.Jobs)
		for i := range later.Jobs {
			later.Jobs[i].Submit += shift
			if later.Jobs[i].Deadline > 0 {
				later.Jobs[i].Deadline += shift
			}
		}
		for name, p := range all {
			if a, b := decide(t, p, s), decide(t, p, &later); !slices.Equal(a, b) {
				t.Errorf("%s: %v at a later clock, before %v", name, b, a)
			}
		}
	})
}

func TestRandomDiffersBetweenRounds(t *testing.T) {
	s := agenttest.RandomState(rng.New(3, "property"), agenttest.Options{Jobs: 100})
	next := *s
	next.Round++
	a, _ := Random{}.Decide(context.Background(), s)
	b, _ := Random{}.Decide(context.Background(), &next)
	if slices.Equal(a, b) {
		t.Error("two rounds gave the same random allocation of 100 jobs")
	}
}
