package neural

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
)

// drawAllocation draws a valid allocation of s.
func drawAllocation(t *rapid.T, s *env.State) env.Allocation {
	a, free := env.NewAllocation(len(s.Jobs)), s.Cluster.Capacity()
	for i := range s.Jobs {
		k := rapid.IntRange(env.Idle, len(s.Jobs[i].Strategies)-1).Draw(t, "strategy")
		if k == env.Idle {
			continue
		}
		if st := s.Jobs[i].Strategies[k]; st.GPUs <= free[st.Type] {
			a[i] = k
			free[st.Type] -= st.GPUs
		}
	}
	return a
}

// Allocation undoes Actions, whatever the order of the picks.
func TestAllocationInvertsActions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := agenttest.RandomState(rng.New(rapid.Uint64().Draw(t, "seed"), "state"), agenttest.Options{})
		want := drawAllocation(t, s)
		actions := Actions(s, want)
		if last := len(actions) - 1; last > 0 {
			copy(actions, rapid.Permutation(actions[:last]).Draw(t, "order"))
		}
		got, err := Allocation(s, actions)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// The environment plays Actions: it allocates what the policy decided.
func TestEnvironmentPlaysActions(t *testing.T) {
	policy := newPolicy(t, randomModel(7, models.JobStrategy))
	twin, err := sim.New(smallCluster())
	if err != nil {
		t.Fatal(err)
	}
	e, err := sim.NewJobStrategy(smallCluster())
	if err != nil {
		t.Fatal(err)
	}
	step, err := e.Reset(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := twin.Reset(3); err != nil {
		t.Fatal(err)
	}
	for round := 0; round < 200 && !step.Done(); round++ {
		a, err := policy.Decide(context.Background(), twin.State())
		if err != nil {
			t.Fatal(err)
		}
		out, err := twin.Advance(a)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range Actions(e.State(), a) {
			if step, err = e.Step(action); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if step.Reward != out.Reward || step.Elapsed != out.Elapsed {
			t.Fatalf("round %d: played reward %v in %v, advanced %v in %v", round, step.Reward, step.Elapsed, out.Reward, out.Elapsed)
		}
	}
}

func TestAllocationRefusesWhatIsNoRound(t *testing.T) {
	s := agenttest.RandomState(rng.New(1, "state"), agenttest.Options{})
	if len(s.Jobs) == 0 || len(s.Jobs[0].Strategies) < 2 {
		t.Fatal("the drawn state has no job with two strategies: choose another seed")
	}
	rows := 1
	for i := range s.Jobs {
		rows += len(s.Jobs[i].Strategies)
	}
	for name, actions := range map[string][]env.Action{
		"negative": {-1}, "past the end": {env.Action(rows)}, "same job twice": {1, 2}, "after stop": {0, 1},
	} {
		if _, err := Allocation(s, actions); !errors.Is(err, env.ErrInvalidAction) {
			t.Errorf("%s: got %v, want ErrInvalidAction", name, err)
		}
	}
}
