package known

import (
	"context"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/classic"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/mlp"
	"github.com/yardmaster/yardmaster/train/ppo"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// Settings is how a published result on CartPole-v1 was obtained.
type Settings struct {
	Name   string
	Source string
	Steps  int // of all environments together
	Envs   int
	Rounds int // per environment and iteration
	PPO    ppo.Config
}

// horizon is the time over which rewards are discounted by γ per step of 20 ms.
func horizon(gamma float64) time.Duration {
	return time.Duration(-0.02 / math.Log(gamma) * float64(time.Second))
}

// never is a KL that no update reaches: neither source stops by it.
const never = 1e9

// Zoo returns the settings of RL Baselines3 Zoo.
func Zoo() Settings {
	return Settings{
		Name: "zoo", Source: "https://github.com/DLR-RM/rl-baselines3-zoo, hyperparams/ppo.yml, CartPole-v1",
		Steps: 100_000, Envs: 8, Rounds: 32,
		PPO: ppo.Config{
			Epochs: 20, Minibatch: 256, Rate: 1e-3, CriticRate: 1e-3, Clip: 0.2, Falls: true, Lambda: 0.8, Horizon: horizon(0.98),
			Entropy: -1, Leash: -1, TargetKL: never, GradNorm: 0.5, RewardScale: 1, MinibatchAdvantages: true, JointNorm: true,
		},
	}
}

// CleanRL returns the settings of CleanRL's ppo.py. Unlike it, a time limit
// bootstraps.
func CleanRL() Settings {
	return Settings{
		Name: "CleanRL", Source: "https://docs.cleanrl.dev/rl-algorithms/ppo/#ppopy",
		Steps: 500_000, Envs: 4, Rounds: 128,
		PPO: ppo.Config{
			Epochs: 4, Minibatch: 128, Rate: 2.5e-4, CriticRate: 2.5e-4, Clip: 0.2, Lambda: 0.95, Horizon: horizon(0.99),
			Entropy: 0.01, Leash: -1, TargetKL: never, GradNorm: 0.5, RewardScale: 1, ValueWeight: 0.5, MinibatchAdvantages: true, JointNorm: true, CriticFalls: true, ClipValue: true,
		},
	}
}

// Balance trains on CartPole-v1 and returns the returns of all episodes that
// ended, in their order.
func Balance(ctx context.Context, s Settings, seed uint64) (returns []float64, err error) {
	network, err := mlp.New(mlp.Dims{Global: 4, Actions: 2})
	if err != nil {
		return nil, err
	}
	network.Initialize(rng.New(seed, "known/parameters"))
	streams, err := rollout.NewStreams(s.Envs, func() (env.Env, error) { return classic.NewCartPole(), nil }, seed)
	if err != nil {
		return nil, err
	}
	learner, err := ppo.NewNetworkLearner(s.PPO, network)
	if err != nil {
		return nil, err
	}
	order := rng.New(seed, "known/order")
	actor := func() rollout.Actor { return network.NewActor() }
	iterations := s.Steps / (s.Envs * s.Rounds)
	for i := range iterations {
		segments, ended, err := streams.Collect(ctx, actor, s.Rounds)
		if err != nil {
			return nil, err
		}
		returns = append(returns, ended...)
		if _, err := learner.Update(ctx, segments, ppo.Progress(float64(i)/float64(iterations)), order); err != nil {
			return nil, err
		}
	}
	return returns, nil
}

// LastMean returns the mean of the last n returns, or of all where there are
// fewer.
func LastMean(returns []float64, n int) float64 {
	last := returns[max(0, len(returns)-n):]
	sum := 0.0
	for _, r := range last {
		sum += r
	}
	return sum / float64(max(1, len(last)))
}
