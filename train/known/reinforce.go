package known

import "github.com/yardmaster/yardmaster/train/ppo"

// ByReinforce returns the settings with which REINFORCE learns the machines from
// nothing: with one pass over what was played, its steps are smaller samples and longer
// than those of PPO.
func ByReinforce() Improvement {
	return Improvement{
		PPO: ppo.Config{
			Algorithm: ppo.Reinforce, Rate: 4e-3, CriticRate: 4e-3, Minibatch: 64, Entropy: 0.003, Leash: -1, Horizon: endless, Falls: true,
		},
		Iterations: 90, Instances: 16, Plays: 6,
	}
}
