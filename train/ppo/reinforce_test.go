package ppo

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/picks"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func reinforce() Config {
	cfg := fast()
	cfg.Algorithm = Reinforce
	return cfg
}

func TestReinforceSolvesMaskedBandit(t *testing.T) {
	x := newTrial(t, bandit, reinforce())
	x.run(20)
	episodes := x.collect(100, 16)
	if got, want := meanReturn(episodes), 0.97*tiny.BanditBest; got < want {
		t.Errorf("mean return %v, want at least %v", got, want)
	}
	for i := range episodes {
		for k := range episodes[i].Rounds {
			if episodes[i].Rounds[k].Picks.Actions[0] == 2 {
				t.Fatal("the masked arm was pulled")
			}
		}
	}
}

func TestReinforceSolvesIdentityAndKnapsack(t *testing.T) {
	for name, c := range map[string]struct {
		newEnv     func() (env.Env, error)
		iterations int
		want       float64
	}{
		"identity": {identity, 80, 0.95 * tiny.IdentityBest},
		"knapsack": {knapsack, 80, 12}, // the best policy collects about 15, an untrained one about 5
	} {
		x := newTrial(t, c.newEnv, reinforce())
		before := meanReturn(x.collect(100, 16))
		x.run(c.iterations)
		if got := meanReturn(x.collect(100, 16)); got < c.want || before > 0.7*c.want {
			t.Errorf("%s: mean return %v before and %v after, want at least %v", name, before, got, c.want)
		}
	}
}

// The derivative of the loss without a ratio equals central differences.
func TestReinforceLossDerivative(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	w := lossWeights{clip: 0.2, entropy: 0.05, leash: 0.3, value: 0.7, reinforce: true}
	var e picks.Evaluator
	for range 100 {
		s := randomSample(t, r)
		scores := make([]float32, 5)
		for i := range scores {
			scores[i] = float32(r.NormFloat64())
		}
		s.logProb = e.Forward(s.round, scores, nil).LogProb - 2*r.NormFloat64() // far off any clip
		dScores := make([]float32, 5)
		w.round(&e, s, scores, 0.3, 1, dScores)
		const step = 1.0 / 1024
		for i := range scores {
			up, down := slices.Clone(scores), slices.Clone(scores)
			up[i] += step
			down[i] -= step
			a, _ := w.round(&e, s, up, 0.3, 1, make([]float32, 5))
			b, _ := w.round(&e, s, down, 0.3, 1, make([]float32, 5))
			got, want := float64(dScores[i]), (w.loss(a)-w.loss(b))/(float64(up[i])-float64(down[i]))
			if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("row %d: derivative %v, finite difference %v", i, got, want)
			}
		}
	}
}

// At a ratio of 1 the gradients of both algorithms are the same: ∇r = ∇log π there.
func TestFirstGradientsAgree(t *testing.T) {
	x := newTrial(t, knapsack, Config{Horizon: time.Hour, Lambda: 1})
	x.run(2)
	b := x.learner.newBatch(x.collect(50, 4))
	ratio := slices.Clone(x.gradient(b, lossWeights{clip: 0.2, value: 1}))
	none := x.gradient(b, lossWeights{clip: 0.2, value: 1, reinforce: true})
	for i := range none {
		if math.Abs(float64(none[i]-ratio[i])) > 1e-6*(1+math.Abs(float64(ratio[i]))) {
			t.Fatalf("derivative %d is %v without a ratio and %v with it", i, none[i], ratio[i])
		}
	}
}

// REINFORCE passes once, whatever the settings of PPO, and takes whole returns.
func TestReinforcePassesOnce(t *testing.T) {
	cfg := reinforce()
	cfg.Epochs, cfg.Lambda, cfg.TargetKL, cfg.Minibatch, cfg.Rate = 9, 0.1, 1e-9, 64, 0.5
	x := newTrial(t, knapsack, cfg)
	episodes := x.collect(0, 16)
	x.learner.Calibrate(episodes)
	m, err := x.learner.Update(context.Background(), episodes, 0, rng.New(1, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Steps != m.Rounds/64 || m.ClipFraction != 0 {
		t.Errorf("%d steps on %d rounds, %v clipped, want %d and 0", m.Steps, m.Rounds, m.ClipFraction, m.Rounds/64)
	}
	b := x.learner.newBatch(episodes)
	k := 0
	for i := range episodes {
		track := newTrack(&episodes[i], x.learner.scale, x.learner.cfg.Horizon)
		for n := range episodes[i].Rounds {
			if want := track.returns[n]; math.Abs(b.samples[k].target-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("episode %d, round %d: target %v, want the return %v", i, n, b.samples[k].target, want)
			}
			k++
		}
	}
}

func TestUnknownAlgorithm(t *testing.T) {
	cfg := Config{Algorithm: "a2c"}
	cfg.FillDefaults()
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), `"a2c"`) {
		t.Errorf("got %v, want an error that names the algorithm", err)
	}
}
