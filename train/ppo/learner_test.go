package ppo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/rollout"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func bandit() (env.Env, error)   { return tiny.NewBandit(), nil }
func identity() (env.Env, error) { return tiny.NewIdentity(), nil }
func knapsack() (env.Env, error) { return tiny.NewKnapsack(), nil }

// trial is a small training run.
type trial struct {
	t         *testing.T
	collector *rollout.Collector
	params    *nn.Params
	learner   *Learner
}

// fast are settings with which the tiny environments are solved in a second.
// Their rounds do not see each other: the horizon is short.
func fast() Config {
	return Config{Rate: 0.02, CriticRate: 0.02, Minibatch: 64, TargetKL: 0.5, Horizon: time.Minute, Leash: -1, Entropy: -1}
}

func newTrial(t *testing.T, newEnv func() (env.Env, error), cfg Config) *trial {
	t.Helper()
	c, err := rollout.NewCollector(newEnv)
	if err != nil {
		t.Fatal(err)
	}
	space := c.Spec().Space
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 16, Value: 8})
	p.Initialize(rng.New(1, "initialize"))
	l, err := NewLearner(cfg, p)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{t, c, p, l}
}

func (x *trial) collect(iteration, episodes int) []rollout.Episode {
	x.t.Helper()
	seeds := make([]uint64, episodes)
	for i := range seeds {
		seeds[i] = uint64(iteration*episodes + i/2) // pairs of one seed
	}
	got, err := x.collector.Collect(context.Background(), rollout.Config{Seed: 1, Stream: strconv.Itoa(iteration)}, x.params, seeds)
	if err != nil {
		x.t.Fatal(err)
	}
	return got
}

// run trains for some iterations and returns the metrics of the first.
func (x *trial) run(iterations int) (first Metrics) {
	x.t.Helper()
	chance := rng.New(1, "order")
	for i := range iterations {
		episodes := x.collect(i, 16)
		if i == 0 {
			x.learner.Calibrate(episodes)
		}
		m, err := x.learner.Update(context.Background(), episodes, Progress(float64(i)/float64(iterations)), chance)
		if err != nil {
			x.t.Fatal(err)
		}
		if i == 0 {
			first = m
		}
	}
	return first
}

func meanReturn(episodes []rollout.Episode) float64 {
	sum := 0.0
	for i := range episodes {
		sum += episodes[i].Return / float64(len(episodes))
	}
	return sum
}

func TestSolvesMaskedBandit(t *testing.T) {
	x := newTrial(t, bandit, fast())
	x.run(12)
	episodes := x.collect(100, 16)
	if got, want := meanReturn(episodes), 0.97*tiny.BanditBest; got < want {
		t.Errorf("mean return %v, want at least %v", got, want)
	}
	for i := range episodes {
		for k := range episodes[i].Rounds {
			if a := episodes[i].Rounds[k].Picks.Actions[0]; a == 2 {
				t.Fatal("the masked arm was pulled")
			}
		}
	}
}

func TestSolvesIdentity(t *testing.T) {
	x := newTrial(t, identity, fast())
	x.run(40)
	if got, want := meanReturn(x.collect(100, 16)), 0.95*tiny.IdentityBest; got < want {
		t.Errorf("mean return %v, want at least %v", got, want)
	}
}

// Rounds of several picks with frozen scores: the learner orders the values and
// stops where the second one is negative.
func TestSolvesKnapsack(t *testing.T) {
	x := newTrial(t, knapsack, fast())
	before := meanReturn(x.collect(100, 16))
	x.run(40)
	best, got := 0.0, meanReturn(x.collect(100, 16))
	for seed := range 8 {
		e := tiny.NewKnapsack()
		step, err := e.Reset(uint64(1600 + seed))
		for err == nil && !step.Done() {
			step, err = e.Step(slicesIndex(step.Observation.Mask))
		}
		if err != nil {
			t.Fatal(err)
		}
		best += e.Best() / 8
	}
	if got < 0.85*best || before > 0.5*best {
		t.Errorf("mean return %v before and %v after training, want below %v and above %v: the best is %v", before, got, 0.5*best, 0.85*best, best)
	}
}

func slicesIndex(mask []bool) env.Action { return env.Action(slices.Index(mask, true)) }

// The policy that is updated is the one that played: on the first minibatch
// every ratio is 1 (learning.md; PPO implementation details, debug metrics).
func TestFirstRatioIsOne(t *testing.T) {
	x := newTrial(t, knapsack, Config{Horizon: time.Hour})
	x.run(3) // parameters that are not all zero
	if m := x.run(1); m.FirstRatio > 1e-6 {
		t.Errorf("a ratio of the first minibatch is off 1 by %v", m.FirstRatio)
	}
}

// The loss falls along the gradient at the rate that the gradient says: the
// derivative in a random direction through Gorgonia, the closed forms and the
// batch equals the central difference of the loss through models/nn.
func TestGradientOfTheWholeLoss(t *testing.T) {
	x := newTrial(t, knapsack, Config{Horizon: time.Hour})
	x.run(2)
	b := x.learner.newBatch(x.collect(50, 4))
	x.learner.score(b)
	r := rng.New(3, "direction")
	for i := range b.samples { // off the played policy, or the leash and the ratio are flat
		b.samples[i].logProb += 0.1 * r.NormFloat64()
		for k := range b.samples[i].reference {
			b.samples[i].reference[k] += float32(r.NormFloat64())
		}
	}
	w := lossWeights{clip: 0.5, entropy: 0.1, leash: 0.2, value: 1}
	direction := make([]float32, len(x.params.Flat))
	for i := range direction {
		direction[i] = float32(r.NormFloat64())
	}
	grad := x.gradient(b, w)
	got := 0.0
	for i := range grad {
		got += float64(grad[i]) * float64(direction[i])
	}
	const step = 1e-4
	want := (x.lossAt(b, w, direction, step) - x.lossAt(b, w, direction, -step)) / (2 * step)
	if math.Abs(got-want) > 0.02*(1+math.Abs(want)) {
		t.Errorf("derivative along a direction is %v, finite difference %v", got, want)
	}
}

func (x *trial) gradient(b *batch, w lossWeights) []float32 {
	x.t.Helper()
	order := make([]int, len(b.samples))
	for i := range order {
		order[i] = i
	}
	if _, err := x.learner.gradient(context.Background(), b, order, w); err != nil {
		x.t.Fatal(err)
	}
	return x.learner.grad
}

// lossAt returns the mean loss at the parameters moved by step along direction.
func (x *trial) lossAt(b *batch, w lossWeights, direction []float32, step float64) float64 {
	p := x.params.Clone()
	for i := range p.Flat {
		p.Flat[i] += float32(step * float64(direction[i]))
	}
	scorer, critic := nn.NewScorer(p), nn.NewCritic(p)
	var scratch nn.Scratch
	sum, e := 0.0, x.learner.evaluator()
	for i, o := range b.observations {
		scores := make([]float32, o.N())
		scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
		value := critic.Value(o.Global, o.Candidates, o.Mask, &scratch)
		t, _ := w.round(e, &b.samples[i], scores, value, 1, make([]float32, o.N()))
		sum += w.loss(t)
	}
	return sum / float64(len(b.samples))
}

// Equal seeds give equal parameters, bit for bit, on any number of processors.
func TestTrainingDoesNotDependOnProcessors(t *testing.T) {
	hash := func(procs int) [32]byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		x := newTrial(t, knapsack, Config{Horizon: time.Hour, Minibatch: 40})
		x.run(3)
		raw := []byte{}
		for _, v := range x.params.Flat {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
		}
		return sha256.Sum256(raw)
	}
	want := hash(1)
	for _, procs := range []int{1, 2, 4} {
		if got := hash(procs); got != want {
			t.Errorf("GOMAXPROCS %d: other parameters than with 1", procs)
		}
	}
}

// Returns that are all alike say nothing about their scale: a factor of a million would
// ruin the critic at the first reward that is not 0.
func TestCalibrateWithoutRewards(t *testing.T) {
	x := newTrial(t, bandit, fast())
	episodes := x.collect(0, 4)
	for i := range episodes {
		for k := range episodes[i].Rounds {
			episodes[i].Rounds[k].Reward = 0
		}
	}
	x.learner.Calibrate(episodes)
	if got := x.learner.Scale(); got != 1 {
		t.Errorf("rewards that are all 0 give the scale %v, want 1", got)
	}
	x.learner.Calibrate(x.collect(1, 4))
	if got := x.learner.Scale(); got == 1 {
		t.Error("rewards that differ leave the scale at 1")
	}
}

// FitCritic moves the critic alone and makes it explain the returns.
func TestFitCritic(t *testing.T) {
	x := newTrial(t, knapsack, fast()) // what can be taken depends on the mean value, which the critic sees
	episodes := x.collect(0, 32)
	x.learner.Calibrate(episodes)
	before := x.params.Clone()
	explained, err := x.learner.FitCritic(context.Background(), episodes, 200, 0.99, rng.New(1, "order"))
	if err != nil {
		t.Fatal(err)
	}
	at := x.params.Dims.ScorerSize()
	if !slices.Equal(x.params.Flat[:at], before.Flat[:at]) {
		t.Error("fitting the critic changed the policy")
	}
	if slices.Equal(x.params.Flat[at:], before.Flat[at:]) {
		t.Error("fitting the critic left it as it was")
	}
	if explained < 0.3 {
		t.Errorf("the critic explains %v of the variance, want at least 0.3", explained)
	}
}

// A loss that is not finite stops the update and leaves the parameters alone.
func TestNonFiniteLossStops(t *testing.T) {
	x := newTrial(t, bandit, fast())
	episodes := x.collect(0, 4)
	x.learner.Calibrate(episodes)
	episodes[2].Rounds[3].Reward = math.Inf(1)
	before := x.params.Clone()
	if _, err := x.learner.Update(context.Background(), episodes, 0, rng.New(1, "order")); err == nil {
		t.Fatal("updated on an infinite reward")
	}
	if !slices.Equal(x.params.Flat, before.Flat) {
		t.Error("the failed update changed the parameters")
	}
}
