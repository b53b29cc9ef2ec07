package classic

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/envtest"
)

func TestCartPoleKeepsTheContract(t *testing.T) {
	if err := envtest.Check(func() (env.Env, error) { return NewCartPole(), nil }, []uint64{1, 2, 3}, 1000); err != nil {
		t.Error(err)
	}
}

// The states after each action equal those that Gymnasium recorded.
func TestCartPoleFollowsGymnasium(t *testing.T) {
	raw, err := os.ReadFile("testdata/cartpole.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Episodes []struct {
			Start      [4]float64
			Actions    []env.Action
			States     [][4]float64
			Terminated bool
		}
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for i, episode := range recorded.Episodes {
		e := NewCartPole()
		if _, err := e.Reset(1); err != nil {
			t.Fatal(err)
		}
		e.state = episode.Start
		for k, a := range episode.Actions {
			step, err := e.Step(a)
			if err != nil {
				t.Fatal(err)
			}
			for j, want := range episode.States[k] {
				if math.Abs(e.state[j]-want) > 1e-12*(1+math.Abs(want)) {
					t.Fatalf("episode %d, step %d, value %d: got %v, Gymnasium %v", i, k, j, e.state[j], want)
				}
				if step.Observation.Global[j] != float32(e.state[j]) {
					t.Fatalf("episode %d, step %d: observed %v of %v", i, k, step.Observation.Global[j], e.state[j])
				}
			}
			last := k == len(episode.Actions)-1
			if step.Terminated != (last && episode.Terminated) || step.Reward != 1 {
				t.Fatalf("episode %d, step %d: terminated %v, reward %v", i, k, step.Terminated, step.Reward)
			}
		}
		if episode.Terminated {
			ended++
		}
	}
	if len(recorded.Episodes) != 4 || ended < 3 {
		t.Errorf("%d episodes, %d terminated: the record is not what this test was written for", len(recorded.Episodes), ended)
	}
}

// A policy that balances is cut off after 500 steps: truncated, not terminated.
func TestCartPoleIsTruncated(t *testing.T) {
	e := NewCartPole()
	step, err := e.Reset(3)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		s := step.Observation.Global
		a := env.Action(0)
		if s[2]+0.5*s[3]+0.02*s[0]+0.05*s[1] > 0 {
			a = 1
		}
		if step, err = e.Step(a); err != nil {
			t.Fatal(err)
		}
		if step.Terminated {
			t.Fatalf("fell after %d steps", n)
		}
		if step.Truncated {
			if n != maxSteps {
				t.Errorf("truncated after %d steps, want %d", n, maxSteps)
			}
			return
		}
	}
}
