package ppo

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// Four updates are two updates, a restored learner, and two more, bit for bit.
func TestRestoredLearnerContinuesExactly(t *testing.T) {
	cfg := Config{Horizon: time.Hour, Minibatch: 40, Rate: 0.01, Leash: 0.5}
	x := newTrial(t, knapsack, cfg)
	leash := x.params.Clone()
	x.run(2)
	saved := make(checkpoint.Sections)
	if err := x.learner.Save(saved); err != nil {
		t.Fatal(err)
	}
	raw, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	at := x.params.Clone()

	x.run(2)

	y := newTrial(t, knapsack, cfg)
	copy(y.params.Flat, leash.Flat)
	if y.learner, err = NewLearner(cfg, y.params); err != nil {
		t.Fatal(err)
	}
	copy(y.params.Flat, at.Flat)
	read, err := checkpoint.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := y.learner.Restore(read); err != nil {
		t.Fatal(err)
	}
	y.run(2)
	if !slices.Equal(x.params.Flat, y.params.Flat) {
		t.Error("the restored learner came to other parameters")
	}
	z := newTrial(t, knapsack, cfg)
	copy(z.params.Flat, at.Flat)
	z.run(2)
	if slices.Equal(x.params.Flat, z.params.Flat) {
		t.Error("so did one that was not restored: the test shows nothing")
	}
}

func TestRestoreRefusesOtherLearners(t *testing.T) {
	x := newTrial(t, knapsack, fast())
	saved := make(checkpoint.Sections)
	if err := x.learner.Save(saved); err != nil {
		t.Fatal(err)
	}
	p := nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 2, Value: 2})
	other, err := NewLearner(fast(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(saved); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("another size: got %v, want ErrDamaged", err)
	}
	if err := x.learner.Restore(checkpoint.Sections{}); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("nothing: got %v, want ErrDamaged", err)
	}
}

// The error of a loss or of a gradient that is not finite hands over the minibatch, as the
// loss saw it.
func TestNonFiniteLossHandsOverItsBatch(t *testing.T) {
	for _, perMinibatch := range []bool{false, true} {
		cfg := fast()
		cfg.MinibatchAdvantages, cfg.Minibatch = perMinibatch, 1000
		x := newTrial(t, bandit, cfg)
		episodes := x.collect(0, 4)
		x.learner.Calibrate(episodes)
		episodes[2].Rounds[3].Reward = math.Inf(1)
		before := x.params.Clone()
		_, err := x.learner.Update(context.Background(), episodes, 0, rng.New(1, "order"))
		bad, ok := errors.AsType[*checkpoint.BatchError](err)
		if !ok {
			t.Fatalf("got %v, want an error with the batch", err)
		}
		b := &bad.Batch
		if n := 4 * len(episodes[0].Rounds); len(b.Observations) != n || len(b.Advantages) != n || len(b.LogProbs) != n {
			t.Errorf("%d observations, want all %d rounds", len(b.Observations), n)
		}
		if !slices.Equal(b.Parameters, before.Flat) {
			t.Error("the batch has other parameters")
		}
		if !slices.ContainsFunc(b.Advantages, math.IsNaN) {
			t.Error("no advantage is NaN, with an infinite reward among them")
		}
	}
	// A finite loss whose gradient overflows is caught before it reaches the parameters.
	x := newTrial(t, bandit, fast())
	episodes := x.collect(0, 4)
	x.learner.Calibrate(episodes)
	x.learner.cfg.ValueWeight = 1e39
	before := x.params.Clone()
	if _, err := x.learner.Update(context.Background(), episodes, 0, rng.New(1, "order")); err == nil {
		t.Error("took a step along a gradient that is not finite")
	} else if _, ok := errors.AsType[*checkpoint.BatchError](err); !ok {
		t.Errorf("got %v, want an error with the batch", err)
	}
	if !slices.Equal(x.params.Flat, before.Flat) {
		t.Error("the failed update changed the parameters")
	}
}

// So it is with a network of another kind, whose scores themselves are not finite.
func TestNonFiniteScoresOfAPerceptronHandOverTheirBatch(t *testing.T) {
	l, n, episodes := poles(t, Config{Horizon: time.Second, RewardScale: 1})
	n.Flat()[n.PolicySize()-1] = float32(math.NaN())
	_, err := l.Update(context.Background(), episodes, 0, rng.New(1, "order"))
	bad, ok := errors.AsType[*checkpoint.BatchError](err)
	if !ok {
		t.Fatalf("got %v, want an error with the batch", err)
	}
	if len(bad.Batch.Observations) == 0 || !slices.ContainsFunc(bad.Batch.Parameters, func(x float32) bool { return x != x }) {
		t.Errorf("the batch has %d observations, want some, and parameters with the NaN", len(bad.Batch.Observations))
	}
}
