package agenttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

func TestRandomStateIsValid(t *testing.T) {
	for seed := range uint64(300) {
		for _, o := range []Options{{}, {Jobs: 1}, {Jobs: 200, Busy: AllBusy}, {Busy: NoneBusy}, {Feasible: true}} {
			s := RandomState(rng.New(seed, "test"), o)
			if err := s.Validate(); err != nil {
				t.Fatalf("seed %d, %+v: %v", seed, o, err)
			}
			current := make(env.Allocation, len(s.Jobs))
			for i := range s.Jobs {
				current[i] = s.Jobs[i].Current
			}
			if err := current.Validate(s); err != nil {
				t.Fatalf("seed %d, %+v: current strategies: %v", seed, o, err)
			}
		}
	}
}

func TestRandomStateIsAFunctionOfTheStream(t *testing.T) {
	a := RandomState(rng.New(7, "test"), Options{})
	b := RandomState(rng.New(7, "test"), Options{})
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
}

// TestRandomStateReachesCorners counts what Check relies on having seen.
func TestRandomStateReachesCorners(t *testing.T) {
	seen := map[string]int{}
	count := func(what string, is bool) {
		if is {
			seen[what]++
		}
	}
	for seed := range uint64(200) {
		s := RandomState(rng.New(seed, "test"), Options{})
		count(s.Knowledge.String(), true)
		capacity := s.Cluster.Capacity()
		free := s.Cluster.Capacity()
		ties, impossible, descending := false, false, false
		for i := range s.Jobs {
			j := &s.Jobs[i]
			if i > 0 {
				ties = ties || j.Submit == s.Jobs[i-1].Submit && j.Service == s.Jobs[i-1].Service
				descending = descending || j.ID < s.Jobs[i-1].ID
			}
			if j.Current != env.Idle {
				free[j.Strategies[j.Current].Type] -= j.Strategies[j.Current].GPUs
			}
			for _, st := range j.Strategies {
				impossible = impossible || st.GPUs > capacity[st.Type]
				count("restart longer than the round", st.Restart > s.RoundLen)
			}
		}
		left := 0
		for _, n := range free {
			left += n
		}
		count("ties", ties)
		count("impossible strategies", impossible)
		count("IDs not in order of submission", descending)
		count("no free GPU", left == 0)
		count("every GPU free", left == s.Cluster.GPUs())
		count("one job", len(s.Jobs) == 1)
		count("more than 100 jobs", len(s.Jobs) > 100)
	}
	for _, what := range []string{
		"oracle", "estimate", "none", "ties", "impossible strategies", "IDs not in order of submission",
		"no free GPU", "every GPU free", "one job", "more than 100 jobs", "restart longer than the round",
	} {
		if seen[what] == 0 {
			t.Errorf("200 states, none with: %s", what)
		}
	}
}

func TestRandomStateOptions(t *testing.T) {
	for seed := range uint64(100) {
		s := RandomState(rng.New(seed, "test"), Options{Jobs: 50, Busy: NoneBusy, Feasible: true, Knowledge: []env.Knowledge{env.Estimate}})
		if len(s.Jobs) != 50 || s.Knowledge != env.Estimate {
			t.Fatalf("seed %d: %d jobs, knowledge %v, want 50, estimate", seed, len(s.Jobs), s.Knowledge)
		}
		capacity := s.Cluster.Capacity()
		for i := range s.Jobs {
			if s.Jobs[i].Current != env.Idle {
				t.Fatalf("seed %d: job %d runs, want all idle", seed, s.Jobs[i].ID)
			}
			for _, st := range s.Jobs[i].Strategies {
				if st.GPUs > capacity[st.Type] {
					t.Fatalf("seed %d: job %d has a strategy of %d GPUs of %d", seed, s.Jobs[i].ID, st.GPUs, capacity[st.Type])
				}
			}
		}
	}
}
