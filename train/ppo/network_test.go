package ppo

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/mlp"
	"github.com/yardmaster/yardmaster/train/picks"
	"github.com/yardmaster/yardmaster/train/rollout"
)

var _ Network = (*mlp.Network)(nil)

// poles plays CartPole with a perceptron and returns what a learner needs.
func poles(t *testing.T, cfg Config) (*Learner, *mlp.Network, []rollout.Episode) {
	t.Helper()
	n, err := mlp.New(mlp.Dims{Global: 4, Actions: 2, Hidden: []int{9, 7}})
	if err != nil {
		t.Fatal(err)
	}
	n.Initialize(rng.New(1, "initialize"))
	r := rng.New(1, "away from equal chances")
	for i := range n.Flat() {
		n.Flat()[i] += float32(0.3 * r.NormFloat64())
	}
	s, err := rollout.NewStreams(3, func() (env.Env, error) { return classic.NewCartPole(), nil }, 1)
	if err != nil {
		t.Fatal(err)
	}
	segments, _, err := s.Collect(context.Background(), func() rollout.Actor { return n.NewActor() }, 50)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewNetworkLearner(cfg, n)
	if err != nil {
		t.Fatal(err)
	}
	return l, n, segments
}

// On the first minibatch the policy is the one that played: the ratio is 1 and the
// KL 0, but for the rounding of a batch of rows against rows one by one.
func TestFirstMinibatchOfAPerceptron(t *testing.T) {
	l, n, episodes := poles(t, Config{Epochs: 1, Minibatch: 1000, Horizon: 2 * time.Second, RewardScale: 1, MinibatchAdvantages: true, JointNorm: true})
	before := slices.Clone(n.Flat())
	m, err := l.Update(context.Background(), episodes, 0, rng.New(1, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Steps != 1 || m.FirstRatio > 1e-6 || math.Abs(m.KL) > 1e-9 || m.ClipFraction != 0 {
		t.Errorf("%d steps, a ratio off 1 by %v, KL %v, %v clipped, want 1 step and the rest 0", m.Steps, m.FirstRatio, m.KL, m.ClipFraction)
	}
	if slices.Equal(n.Flat(), before) {
		t.Error("the update changed nothing")
	}
}

// The gradient of the whole loss through a perceptron, with the settings of the
// published results, equals central differences of the loss at each parameter.
func TestGradientOfTheWholeLossOfAPerceptron(t *testing.T) {
	l, n, episodes := poles(t, Config{Horizon: 2 * time.Second, RewardScale: 0.1, MinibatchAdvantages: true, Minibatch: 1000})
	b := l.newBatch(episodes)
	l.score(b)
	r := rng.New(3, "off the played policy")
	order := make([]int, len(b.samples))
	for i := range b.samples {
		order[i] = i
		b.samples[i].logProb += 0.02 * r.NormFloat64()
		b.samples[i].value += 0.1 * r.NormFloat64()
		for k := range b.samples[i].reference {
			b.samples[i].reference[k] += float32(r.NormFloat64())
		}
	}
	w := lossWeights{clip: 0.3, entropy: 0.1, leash: 0.2, value: 0.5, clipValue: true}
	if _, err := l.gradient(context.Background(), b, order, w); err != nil {
		t.Fatal(err)
	}
	grad := slices.Clone(l.grad)
	cost := func() float64 {
		m, err := l.gradient(context.Background(), b, order, w)
		if err != nil {
			t.Fatal(err)
		}
		return m.PolicyLoss - w.entropy*m.Entropy + w.leash*m.LeashKL + w.value*m.ValueLoss
	}
	for i := range n.Flat() {
		const step = 1.0 / 512
		at := n.Flat()[i]
		n.Flat()[i] = at + step
		up := cost()
		n.Flat()[i] = at - step
		down := cost()
		n.Flat()[i] = at
		// Steps may cross a limit of a clip for some samples.
		if got, want := float64(grad[i]), (up-down)/(2*step); math.Abs(got-want) > 0.01*(1+math.Abs(want)) {
			t.Errorf("parameter %d: derivative %v, finite difference %v", i, got, want)
		}
	}
}

// The advantages of a minibatch, normalised, are what the gradient is taken of.
func TestMinibatchAdvantages(t *testing.T) {
	l, _, episodes := poles(t, Config{Horizon: 2 * time.Second, RewardScale: 1, MinibatchAdvantages: true})
	b := l.newBatch(episodes)
	w := lossWeights{clip: 0.2, value: 1}
	part := []int{3, 1, 4, 15, 9, 26, 5}
	if _, err := l.gradient(context.Background(), b, part, w); err != nil {
		t.Fatal(err)
	}
	got := slices.Clone(l.grad)
	mean, square := 0.0, 0.0
	for _, k := range part {
		mean += b.samples[k].advantage / float64(len(part))
		square += b.samples[k].advantage * b.samples[k].advantage / float64(len(part))
	}
	for _, k := range part {
		b.samples[k].advantage = (b.samples[k].advantage - mean) / math.Sqrt(square-mean*mean)
	}
	l.cfg.MinibatchAdvantages = false
	if _, err := l.gradient(context.Background(), b, part, w); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if math.Abs(float64(got[i]-l.grad[i])) > 1e-5*(1+math.Abs(float64(got[i]))) {
			t.Fatalf("derivative %d is %v, with advantages normalised by hand %v", i, got[i], l.grad[i])
		}
	}
}

// With JointNorm one factor clips both gradients, else each has its own.
func TestJointNorm(t *testing.T) {
	for _, joint := range []bool{true, false} {
		l, n, episodes := poles(t, Config{Horizon: 2 * time.Second, RewardScale: 1, JointNorm: joint, GradNorm: 0.01})
		b := l.newBatch(episodes)
		if _, err := l.step(context.Background(), b, []int{0, 1, 2, 3, 4}, step{weights: lossWeights{clip: 0.2, value: 1}, rate: 1e-3, criticRate: 1e-3}); err != nil {
			t.Fatal(err)
		}
		norm := func(x []float32) float64 {
			sum := 0.0
			for _, v := range x {
				sum += float64(v) * float64(v)
			}
			return math.Sqrt(sum)
		}
		at := n.PolicySize()
		policy, critic, both := norm(l.grad[:at]), norm(l.grad[at:]), norm(l.grad)
		if joint && math.Abs(both-0.01) > 1e-6 || !joint && (math.Abs(policy-0.01) > 1e-6 || math.Abs(critic-0.01) > 1e-6) {
			t.Errorf("JointNorm %v: norms %v of the policy, %v of the critic, %v of both", joint, policy, critic, both)
		}
	}
}

// RewardScale stays whatever is played.
func TestRewardScaleIsFixed(t *testing.T) {
	l, _, episodes := poles(t, Config{RewardScale: 0.25})
	l.Calibrate(episodes)
	if l.Scale() != 0.25 {
		t.Errorf("scale %v, want 0.25", l.Scale())
	}
	if _, err := NewNetworkLearner(Config{RewardScale: -1, ValueWeight: -1}, l.network); err == nil {
		t.Error("took a negative reward scale and value weight")
	}
	if _, err := NewLearner(Config{}, &nn.Params{}); err == nil {
		t.Error("took a network without dimensions")
	}
}

// The clipped value loss is the larger of both, and its derivative that of the
// larger.
func TestClippedValueLoss(t *testing.T) {
	w := lossWeights{clip: 0.2, value: 1, clipValue: true}
	var e picks.Evaluator
	for _, c := range []struct{ value, old, target, loss, derivative float64 }{
		{1.1, 1, 0, 1.1 * 1.1 / 2, 1.1},     // within the clip
		{0.5, 1, 0, 0.8 * 0.8 / 2, 0},       // moved too far towards the target: nothing to gain
		{1.5, 1, 0, 1.5 * 1.5 / 2, 1.5},     // moved away: pulled back
		{1.5, 1, 2, 0.8 * 0.8 / 2, 0},       // towards, from below
		{0.5, 1, 2, 1.5 * 1.5 / 2, 0.5 - 2}, // away, from below
	} {
		s := randomSample(t, rng.New(1, "sample"))
		s.value, s.target = c.old, c.target
		got, derivative := w.round(&e, s, make([]float32, 5), float32(c.value), 1, make([]float32, 5))
		if math.Abs(got.value-c.loss) > 1e-6 || math.Abs(float64(derivative)-c.derivative) > 1e-6 {
			t.Errorf("%+v: loss %v, derivative %v", c, got.value, derivative)
		}
	}
}

// Rows that are not legal have exactly zero derivative, whatever the terms.
func TestMaskedRowsHaveNoDerivative(t *testing.T) {
	r := rng.New(2, "samples")
	var e picks.Evaluator
	for range 100 {
		s, scores, d := randomSample(t, r), make([]float32, 5), make([]float32, 5) // row 4 is never legal
		for i := range scores {
			scores[i] = float32(r.NormFloat64())
		}
		scores[4] = 30 // the most likely one, were it legal
		s.logProb = e.Forward(s.round, scores, nil).LogProb
		lossWeights{clip: 0.2, entropy: 0.1, leash: 0.3, value: 1}.round(&e, s, scores, 0, 1, d)
		if d[4] != 0 {
			t.Fatalf("derivative of a masked row is %v", d[4])
		}
		if slices.Equal(d, make([]float32, 5)) {
			t.Fatal("all derivatives are 0: the test shows nothing")
		}
	}
}
