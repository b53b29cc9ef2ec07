package neural

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
)

// randomAllocation returns a valid allocation: each job in random order gets a
// random strategy if it fits, or none.
func randomAllocation(r *rand.Rand, s *env.State) env.Allocation {
	a, free := env.NewAllocation(len(s.Jobs)), s.Cluster.Capacity()
	for _, j := range r.Perm(len(s.Jobs)) {
		k := r.IntN(len(s.Jobs[j].Strategies)+1) - 1
		if k == env.Idle {
			continue
		}
		st := &s.Jobs[j].Strategies[k]
		if st.GPUs <= free[st.Type] {
			free[st.Type] -= st.GPUs
			a[j] = k
		}
	}
	return a
}

func TestAllocationIsTheInverseOfActions(t *testing.T) {
	r := stream(1)
	var encoder encode.JobStrategy
	var o env.Observation
	for i, s := range randomStates(1, 200) {
		want := randomAllocation(r, s)
		if err := want.Validate(s); err != nil {
			t.Fatal(err)
		}
		actions := Actions(s, want)
		if got := actions[len(actions)-1]; got != stopRow {
			t.Fatalf("state %d: last action is %d, want stop", i, got)
		}
		encoder.Encode(&o, s)
		for _, action := range actions[:len(actions)-1] {
			c := encoder.Candidates()[action]
			if want[c.Job] != int(c.Strategy) {
				t.Fatalf("state %d: row %d is strategy %d of job %d, want %d", i, action, c.Strategy, c.Job, want[c.Job])
			}
		}
		picks := slices.Clone(actions[:len(actions)-1])
		r.Shuffle(len(picks), func(i, j int) { picks[i], picks[j] = picks[j], picks[i] })
		for name, as := range map[string][]env.Action{"in order": actions, "in any order, without stop": picks} {
			got, err := Allocation(s, as)
			if err != nil {
				t.Fatalf("state %d, %s: %v", i, name, err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("state %d, %s: got %v, want %v", i, name, got, want)
			}
		}
	}
}

func TestAllocationRefusesWhatNoRoundCanPick(t *testing.T) {
	s := agenttest.RandomState(stream(2), agenttest.Options{Jobs: 3})
	rows := 1
	for _, j := range s.Jobs {
		rows += len(j.Strategies)
	}
	second := env.Action(1 + len(s.Jobs[0].Strategies))
	for name, actions := range map[string][]env.Action{
		"negative row":        {-1},
		"row that is not":     {env.Action(rows)},
		"row twice":           {1, 1},
		"action after stop":   {second, 0, 1},
		"stop twice":          {1, 0, 0},
		"stop before actions": {0, 1},
	} {
		if _, err := Allocation(s, actions); !errors.Is(err, env.ErrInvalidAction) {
			t.Errorf("%s: got error %v, want ErrInvalidAction", name, err)
		}
	}
	if k := len(s.Jobs[0].Strategies); k > 1 {
		if _, err := Allocation(s, []env.Action{1, env.Action(k)}); !errors.Is(err, env.ErrInvalidAction) {
			t.Errorf("two strategies of one job: got error %v, want ErrInvalidAction", err)
		}
	} else {
		t.Error("the state shows nothing: its first job has one strategy")
	}
}
