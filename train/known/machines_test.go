package known

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/es"
)

var held = Instances("test", 200)

// optimal plays what Optimum says.
func optimal() func(e *classic.Machines, o *env.Observation, opens bool) (env.Action, error) {
	var rows []env.Action
	return func(e *classic.Machines, _ *env.Observation, opens bool) (env.Action, error) {
		if opens {
			var err error
			if _, rows, err = Optimum(e); err != nil {
				return 0, err
			}
		}
		if len(rows) == 0 {
			return 0, nil
		}
		a := rows[0]
		rows = rows[1:]
		return a, nil
	}
}

// Solving the assignment anew at each round reaches what it promised at the start,
// the promise is kept from any state, and nobody does better.
func TestOptimumIsReachedAndNotBeaten(t *testing.T) {
	if got, err := Ratio(held[:40], optimal()); err != nil || math.Abs(got-1) > 1e-9 {
		t.Errorf("playing the optimum: %v of the optimum (%v), want 1", got, err)
	}
	r := rng.New(1, "random")
	space := classic.NewMachines().Spec().Space
	random := func(_ *classic.Machines, o *env.Observation, _ bool) (env.Action, error) {
		return space.Sample(o, r), nil
	}
	for _, seed := range held[:40] {
		for name, policy := range map[string]func(*classic.Machines, *env.Observation, bool) (env.Action, error){"random": random, "shortest": Shortest} {
			if got, err := Ratio([]uint64{seed}, policy); err != nil || got < 1-1e-9 {
				t.Errorf("%s: %v of the optimum (%v)", name, got, err)
			}
		}
	}
	if err := fromRandomStates(r); err != nil {
		t.Error(err)
	}
}

// fromRandomStates goes off the optimum by random picks and then follows it: the
// cost from there is what Optimum says there.
func fromRandomStates(r *rand.Rand) error {
	e := classic.NewMachines()
	space := e.Spec().Space
	for _, seed := range held[:20] {
		step, err := e.Reset(seed)
		for k := 0; err == nil && (k < 12 || step.Observation.Epoch == 0) && !step.Done(); k++ {
			step, err = e.Step(space.Sample(&step.Observation, r))
		}
		for err == nil && !step.Done() && !opens(e) {
			step, err = e.Step(0)
		}
		if err != nil || step.Done() {
			continue
		}
		running := 0.0
		for _, h := range e.Busy() {
			running += h
		}
		want, _, err := Optimum(e)
		if err != nil {
			return err
		}
		policy, got, epoch := optimal(), 0.0, int64(-1)
		for !step.Done() {
			a, err := policy(e, &step.Observation, step.Observation.Epoch != epoch)
			if err != nil {
				return err
			}
			epoch = step.Observation.Epoch
			if step, err = e.Step(a); err != nil {
				return err
			}
			got -= step.Reward
		}
		if math.Abs(got-running-want) > 1e-9*want {
			return fmt.Errorf("seed %d: from a random state the optimum costs %v, Optimum says %v", seed, got-running, want)
		}
	}
	return nil
}

// opens reports whether nothing was picked this round.
func opens(e *classic.Machines) bool {
	_, picked := e.Waiting()
	for _, p := range picked {
		if p {
			return false
		}
	}
	return true
}

// A small part of what `make known-answers` does.
func TestLearnersComeNearTheOptimum(t *testing.T) {
	greedy, err := Ratio(held, Shortest)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		hidden int
		learn  func(p *nn.Params) error
		most   float64
	}{
		{"cloning", 16, func(p *nn.Params) error { return Clone(context.Background(), p, 1, 60, 12) }, 1.05},
		{"ppo", 16, func(p *nn.Params) error {
			s := FromScratch()
			s.Iterations, s.Plays = 20, 4
			return Improve(context.Background(), p, 1, s)
		}, 1.08}, // seeds 1 to 5: 1.035 to 1.054
		{"evolution", 4, func(p *nn.Params) error { return Evolve(p, 1, es.Config{}, 10, 6) }, 1.1},
	} {
		p := NewMachinesParams(1, c.hidden)
		if err := c.learn(p); err != nil {
			t.Fatal(err)
		}
		got, err := NetworkRatio(held, p)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.4f of the optimum, the shortest job first %.4f", c.name, got, greedy)
		if got > c.most {
			t.Errorf("%s: %.4f of the optimum, want at most %.3f", c.name, got, c.most)
		}
	}
}
