// Package tiny holds environments whose best policy is known, for testing
// learners: each is solved within a second or something is wrong.
//
//	Bandit    arms with fixed rewards, the best of which is masked
//	Identity  the right candidate is the one that equals the state
//	Knapsack  several picks per round, like JobStrategy-v0
//
// Cluster is a small simulated cluster, for what needs states: its best policy is
// not known.
package tiny

import (
	"math/rand/v2"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Encoder is the version of the observations of this package.
const Encoder = "tiny/1"

// rounds is the length of every episode.
const rounds = 16

// round is the simulated time between two rounds. With a horizon of seconds,
// rounds do not see each other.
const round = time.Hour

// base plays episodes of rounds; the environments fill in observations.
type base struct {
	spec   env.Spec
	obs    env.Observation
	chance *rand.Rand
	t      int
	ready  bool
}

func newBase(id string, global, candidate []string) base {
	return base{spec: env.Spec{ID: id, Encoder: Encoder, Space: env.Space{Global: features(global), Candidate: features(candidate)}}}
}

func features(names []string) []env.Feature {
	fs := make([]env.Feature, len(names))
	for i, name := range names {
		fs[i] = env.Feature{Name: name, Low: -1, High: 1}
	}
	return fs
}

// Spec implements env.Env.
func (b *base) Spec() env.Spec { return b.spec }

func (b *base) reset(seed uint64) {
	b.chance, b.t, b.ready = rng.New(seed, b.spec.ID), 0, true
	b.obs.Epoch = 0
}

// check refuses what env.Env says a Step refuses.
func (b *base) check(a env.Action) error {
	switch {
	case !b.ready:
		return env.ErrNeedsReset
	case a < 0 || int(a) >= b.obs.N() || !b.obs.Mask[a]:
		return env.ErrInvalidAction
	}
	return nil
}

// next ends a round with this reward.
func (b *base) next(reward float64) env.TimeStep {
	b.t++
	b.obs.Epoch++
	b.ready = b.t < rounds
	return env.TimeStep{Observation: b.obs, Reward: reward, Elapsed: round, Terminated: !b.ready}
}

// Bandit pays 0, 1, 2 for its arms 0, 1, 2; arm 2 is masked, so 1 is best. Its
// state is noise.
type Bandit struct{ base }

// BanditBest is the return of the best policy of Bandit.
const BanditBest = rounds

// NewBandit returns a Bandit.
func NewBandit() *Bandit {
	e := &Bandit{newBase("Bandit-v0", []string{"noise"}, []string{"arm0", "arm1", "arm2"})}
	e.obs = env.Observation{Global: []float32{0}, Candidates: []float32{1, 0, 0, 0, 1, 0, 0, 0, 1}, Mask: []bool{true, true, false}}
	return e
}

// Reset implements env.Env.
func (e *Bandit) Reset(seed uint64) (env.TimeStep, error) {
	e.reset(seed)
	e.obs.Global[0] = 2*e.chance.Float32() - 1
	return env.TimeStep{Observation: e.obs}, nil
}

// Step implements env.Env.
func (e *Bandit) Step(a env.Action) (env.TimeStep, error) {
	if err := e.check(a); err != nil {
		return env.TimeStep{}, err
	}
	step := e.next(float64(a))
	e.obs.Global[0] = 2*e.chance.Float32() - 1
	return step, nil
}

// Identity shows a state of −1 or 1 and candidates of −1 and 1 in random order;
// the equal one pays 1. A score that is linear in the candidate cannot solve it.
type Identity struct{ base }

// IdentityBest is the return of the best policy of Identity.
const IdentityBest = rounds

// NewIdentity returns an Identity.
func NewIdentity() *Identity {
	e := &Identity{newBase("Identity-v0", []string{"state"}, []string{"value"})}
	e.obs = env.Observation{Global: []float32{0}, Candidates: []float32{0, 0}, Mask: []bool{true, true}}
	return e
}

func (e *Identity) draw() {
	sign := func() float32 { return float32(2*e.chance.IntN(2) - 1) }
	e.obs.Global[0] = sign()
	e.obs.Candidates[0] = sign()
	e.obs.Candidates[1] = -e.obs.Candidates[0]
}

// Reset implements env.Env.
func (e *Identity) Reset(seed uint64) (env.TimeStep, error) {
	e.reset(seed)
	e.draw()
	return env.TimeStep{Observation: e.obs}, nil
}

// Step implements env.Env.
func (e *Identity) Step(a env.Action) (env.TimeStep, error) {
	if err := e.check(a); err != nil {
		return env.TimeStep{}, err
	}
	reward := 0.0
	if e.obs.Candidates[a] == e.obs.Global[0] {
		reward = 1
	}
	step := e.next(reward)
	e.draw()
	return step, nil
}

// Knapsack has items with a value and room for two of them per round; row 0 is
// stop, legal once something was picked. The round pays the values taken, paid
// at stop as in JobStrategy-v0. The best policy takes the two highest.
type Knapsack struct {
	base
	taken  float64
	room   int
	policy float64 // what the best policy would have collected
}

// items per round.
const items = 6

// NewKnapsack returns a Knapsack.
func NewKnapsack() *Knapsack {
	e := &Knapsack{base: newBase("Knapsack-v0", []string{"one"}, []string{"is_stop", "value"})}
	e.obs = env.Observation{Global: []float32{1}, Candidates: make([]float32, 2*(items+1)), Mask: make([]bool, items+1)}
	e.obs.Candidates[0] = 1
	return e
}

// Best returns what the best policy collects in the episode so far.
func (e *Knapsack) Best() float64 { return e.policy }

func (e *Knapsack) draw() {
	e.taken, e.room = 0, 2
	first, second := float32(-1), float32(-1)
	for i := 1; i <= items; i++ {
		v := 2*e.chance.Float32() - 1
		e.obs.Candidates[2*i+1] = v
		e.obs.Mask[i] = true
		if v > first {
			first, second = v, first
		} else if v > second {
			second = v
		}
	}
	e.obs.Mask[0] = false
	e.policy += float64(first) + max(0, float64(second))
}

// Reset implements env.Env.
func (e *Knapsack) Reset(seed uint64) (env.TimeStep, error) {
	e.reset(seed)
	e.policy = 0
	e.draw()
	return env.TimeStep{Observation: e.obs}, nil
}

// Step implements env.Env.
func (e *Knapsack) Step(a env.Action) (env.TimeStep, error) {
	if err := e.check(a); err != nil {
		return env.TimeStep{}, err
	}
	if a > 0 {
		e.taken += float64(e.obs.Candidates[2*a+1])
		e.room--
		e.obs.Mask[a], e.obs.Mask[0] = false, true
		for i := 1; i <= items; i++ {
			e.obs.Mask[i] = e.obs.Mask[i] && e.room > 0
		}
		return env.TimeStep{Observation: e.obs}, nil
	}
	step := e.next(e.taken)
	if e.ready {
		e.draw()
	}
	return step, nil
}
