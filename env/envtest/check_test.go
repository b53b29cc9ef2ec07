package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// faults are the ways in which a draw can break the contract, one at a time.
type faults struct {
	ignoreMask, ignoreRange, maskErrorOnly, forbiddenCounts bool
	ignoreOver, ignoreUnborn                                bool
	chance, seedless, dirtyReset                            bool
	badValue, badShape, noLegal, badFinal                   bool
	staleEpoch, badReward, negativeTime, rewardAtReset      bool
	changingSpec, endless, failing                          bool
	badSpec, twice                                          bool
}

// draw is a correct environment unless it has faults: each of its items must be
// picked once, at a reward of minus its value.
type draw struct {
	faults
	values  []float32
	left    int
	picks   int
	running bool
	obs     env.Observation
	spec    env.Spec
}

func newDraw(f faults) func() (env.Env, error) {
	return func() (env.Env, error) {
		e := &draw{faults: f}
		e.spec = env.Spec{ID: "Draw-v0", Space: env.Space{
			Global:    []env.Feature{{Name: "left", Low: 0, High: 10}},
			Candidate: []env.Feature{{Name: "value", Low: 0, High: 1}},
		}}
		if f.badSpec {
			e.spec.Space.Global[0].High = 0
		}
		if f.twice {
			e.spec.Space.Global = append(e.spec.Space.Global, e.spec.Space.Global[0])
		}
		return e, nil
	}
}

func (e *draw) Spec() env.Spec {
	if e.changingSpec {
		e.spec.Encoder += "x"
	}
	return e.spec
}

func (e *draw) Reset(seed uint64) (env.TimeStep, error) {
	if e.seedless {
		seed = 0
	}
	r := rng.New(seed, "draw")
	if e.chance {
		r = rand.New(rand.NewPCG(rand.Uint64(), 0))
	}
	e.running, e.left, e.picks = true, 3+r.IntN(5), 0
	if !e.dirtyReset {
		e.values = e.values[:0]
	}
	for len(e.values) < e.left {
		e.values = append(e.values, r.Float32())
	}
	e.left = len(e.values)
	e.obs.Mask = e.obs.Mask[:0]
	for range e.values {
		e.obs.Mask = append(e.obs.Mask, true)
	}
	step := e.observe()
	if e.rewardAtReset {
		step.Reward = -1
	}
	return step, nil
}

func (e *draw) observe() env.TimeStep {
	e.obs.Global = append(e.obs.Global[:0], float32(e.left))
	e.obs.Candidates = append(e.obs.Candidates[:0], e.values...)
	if e.twice {
		e.obs.Global = append(e.obs.Global, float32(e.left))
	}
	if !e.staleEpoch {
		e.obs.Epoch = int64(e.picks)
	}
	if e.badValue && e.picks == 2 {
		e.obs.Candidates[0] = float32(math.NaN())
	}
	if e.badShape && e.picks == 2 {
		e.obs.Global = e.obs.Global[:0]
	}
	if e.badFinal && e.left == 0 {
		e.obs.Global[0] = 11
	}
	if e.noLegal && e.picks == 2 {
		clear(e.obs.Mask)
	}
	return env.TimeStep{Observation: e.obs}
}

func (e *draw) Step(a env.Action) (env.TimeStep, error) {
	if !e.running && !(e.ignoreUnborn && e.values == nil) && !(e.ignoreOver && e.values != nil) {
		return env.TimeStep{}, env.ErrNeedsReset
	}
	if e.failing && e.picks == 1 {
		return env.TimeStep{}, errors.New("broken wire")
	}
	inRange := a >= 0 && int(a) < len(e.obs.Mask)
	if !inRange && !e.ignoreRange || inRange && !e.obs.Mask[a] && !e.ignoreMask {
		if e.forbiddenCounts {
			e.picks++
		}
		if e.maskErrorOnly {
			return env.TimeStep{}, errors.New("no")
		}
		return env.TimeStep{}, fmt.Errorf("%w: %d", env.ErrInvalidAction, a)
	}
	e.picks++
	if !e.endless {
		e.obs.Mask[a] = false
		e.left--
	}
	step := e.observe()
	step.Reward, step.Elapsed, step.Terminated = -float64(e.values[a]), time.Second, e.left <= 0
	if e.badReward {
		step.Reward = math.Inf(-1)
	}
	if e.negativeTime {
		step.Elapsed = -1
	}
	e.running = !step.Terminated
	return step, nil
}

func TestCheckAcceptsACorrectEnvironment(t *testing.T) {
	if err := Check(newDraw(faults{}), []uint64{1, 2, 3, 4, 5}, 100); err != nil {
		t.Error(err)
	}
}

func TestCheckReportsEveryBrokenRule(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    faults
		want string
	}{
		{"mask not enforced", faults{ignoreMask: true}, ruleForbidden},
		{"range not enforced", faults{ignoreRange: true}, ruleForbidden},
		{"wrong error for a forbidden action", faults{maskErrorOnly: true}, ruleForbidden},
		{"forbidden action changes the episode", faults{forbiddenCounts: true}, ruleUnchanged},
		{"over check removed", faults{ignoreOver: true}, ruleAfterEnd},
		{"step before the first reset", faults{ignoreUnborn: true}, ruleNeedsReset},
		{"not deterministic", faults{chance: true}, ruleSame},
		{"seed ignored", faults{seedless: true}, "all 3 seeds give the same episode"},
		{"reset keeps the old episode", faults{dirtyReset: true}, ruleClean},
		{"NaN", faults{badValue: true}, ruleSpace},
		{"wrong shape", faults{badShape: true}, ruleSpace},
		{"no legal action", faults{noLegal: true}, ruleSpace},
		{"final observation out of bounds", faults{badFinal: true}, ruleSpace},
		{"epoch not changed", faults{staleEpoch: true}, ruleEpoch},
		{"infinite reward", faults{badReward: true}, ruleReward},
		{"negative time", faults{negativeTime: true}, ruleElapsed},
		{"reward at reset", faults{rewardAtReset: true}, ruleReset},
		{"spec changes", faults{changingSpec: true}, ruleSpec},
		{"never ends", faults{endless: true}, ruleEnds},
		{"a legal step fails", faults{failing: true}, "broken wire"},
		{"empty range of a feature", faults{badSpec: true}, "want low < high"},
		{"a name used twice", faults{twice: true}, "want a name used once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Check(newDraw(tt.f), []uint64{1, 2, 3}, 100)
			if err == nil {
				t.Fatalf("no error, want %q", tt.want)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant %q", err, tt.want)
			}
			if n := strings.Count(err.Error(), tt.want); n > 3 {
				t.Errorf("%q is reported %d times for 3 seeds", tt.want, n)
			}
		})
	}
}

// TestCheckSeesOneFault makes sure that a fault is not reported as a cascade of
// others.
func TestCheckSeesOneFault(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    faults
		want int
	}{
		{"mask not enforced", faults{ignoreMask: true}, 1},
		{"over check removed", faults{ignoreOver: true}, 1},
		{"not deterministic", faults{chance: true}, 1},
		{"infinite reward", faults{badReward: true}, 1},
		{"forbidden action changes the episode", faults{forbiddenCounts: true}, 1},
	} {
		err := Check(newDraw(tt.f), []uint64{7}, 100)
		if got := strings.Count(fmt.Sprint(err), "\n") + 1; got != tt.want {
			t.Errorf("%s: %d reports, want %d:\n%v", tt.name, got, tt.want, err)
		}
	}
}

func TestCheckRefusesNothingToDo(t *testing.T) {
	if err := Check(newDraw(faults{}), nil, 100); err == nil {
		t.Error("no seeds: no error")
	}
	if err := Check(newDraw(faults{}), []uint64{1}, 0); err == nil {
		t.Error("no steps: no error")
	}
	broken := func() (env.Env, error) { return nil, errors.New("no GPU") }
	if err := Check(broken, []uint64{1}, 1); err == nil || !strings.Contains(err.Error(), "no GPU") {
		t.Errorf("failing constructor: got %v", err)
	}
}
