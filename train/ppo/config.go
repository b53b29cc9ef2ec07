package ppo

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Algorithm is how a policy learns from what was played.
type Algorithm string

// Algorithms.
const (
	// PPO passes several times over what was played, as far as the ratio of
	// probabilities is worth it (Schulman et al., arXiv 1707.06347).
	PPO Algorithm = "ppo"
	// Reinforce passes once and has no ratio: the gradient is that of −Â·log π with
	// whole returns for advantages, less the critic's value and what the other
	// episodes of the group earned (Williams, 1992, with the baselines of Sutton and
	// Barto, 2018, section 13.4, and of Mao et al., ICLR 2019). Of the settings,
	// Epochs, Clip, TargetKL, Lambda and ClipValue do not count.
	Reinforce Algorithm = "reinforce"
)

// Config holds the settings of the updates. Its zero value is the default.
type Config struct {
	Algorithm  Algorithm     `json:"algorithm"`   // ppo or reinforce; default ppo
	Epochs     int           `json:"epochs"`      // passes over the rounds of an iteration; default 3
	Minibatch  int           `json:"minibatch"`   // rounds per step of the optimizer; default 256
	Rate       float64       `json:"rate"`        // learning rate of the policy at the first iteration, falling linearly to 0; default 3e-4
	CriticRate float64       `json:"critic_rate"` // learning rate of the critic; default 1e-3
	Clip       float64       `json:"clip"`        // ε of the clipped ratio; default 0.2
	Entropy    float64       `json:"entropy"`     // weight of the entropy bonus; default 0.001, negative is none
	Leash      float64       `json:"leash"`       // weight of KL(π ‖ cloned policy) at the first iteration, falling linearly to 0; default 0.1, negative is none
	TargetKL   float64       `json:"target_kl"`   // an iteration's updates stop where the mean KL of a minibatch passes 1.5 times this; default 0.03
	GradNorm   float64       `json:"grad_norm"`   // limit on the norm of the gradient, of policy and critic each; default 0.5
	Lambda     float64       `json:"lambda"`      // λ of generalized advantage estimation; default 0.95
	Falls      bool          `json:"falls"`       // clip and critic rate fall linearly to 0, too
	Horizon    time.Duration `json:"horizon_ns"`  // rewards count exp(−Δt/Horizon); default 6 h

	// What published results were obtained with, for comparing with them.
	RewardScale         float64 `json:"reward_scale"`         // factor of rewards; default 0: measured in the first iteration
	ValueWeight         float64 `json:"value_weight"`         // weight of the critic's loss, which matters with JointNorm only; default 1
	MinibatchAdvantages bool    `json:"minibatch_advantages"` // advantages are normalised in each minibatch, not over the iteration
	JointNorm           bool    `json:"joint_norm"`           // GradNorm limits the gradients of policy and critic together
	CriticFalls         bool    `json:"critic_falls"`         // the critic's rate falls linearly to 0, as with Falls, and the clip stays
	ClipValue           bool    `json:"clip_value"`           // the value's loss is clipped as the policy's is
}

// FillDefaults sets every field that is zero to its default. Filling in twice is
// filling in once: a run does before it records its settings, and the learner does.
func (c *Config) FillDefaults() {
	for _, f := range []struct {
		field *float64
		value float64
	}{
		{&c.Rate, 3e-4},
		{&c.CriticRate, 1e-3},
		{&c.Clip, 0.2},
		{&c.Entropy, 0.001},
		{&c.Leash, 0.1},
		{&c.TargetKL, 0.03},
		{&c.GradNorm, 0.5},
		{&c.Lambda, 0.95},
		{&c.ValueWeight, 1},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if c.Algorithm == "" {
		c.Algorithm = PPO
	}
	if c.Epochs == 0 {
		c.Epochs = 3
	}
	if c.Minibatch == 0 {
		c.Minibatch = 256
	}
	if c.Horizon == 0 {
		c.Horizon = 6 * time.Hour
	}
}

// Validate reports everything that is wrong with c at once.
func (c *Config) Validate() error {
	var errs []error
	for _, f := range []struct {
		name      string
		x         float64
		low, high float64
	}{
		{"Rate", c.Rate, 0, 1},
		{"CriticRate", c.CriticRate, 0, 1},
		{"Clip", c.Clip, 0, 1},
		{"TargetKL", c.TargetKL, 0, math.Inf(1)},
		{"GradNorm", c.GradNorm, 0, math.Inf(1)},
		{"Entropy", c.Entropy, math.Inf(-1), math.Inf(1)},
		{"Leash", c.Leash, math.Inf(-1), math.Inf(1)},
		{"RewardScale", c.RewardScale, -math.SmallestNonzeroFloat64, math.Inf(1)},
		{"ValueWeight", c.ValueWeight, 0, math.Inf(1)},
	} {
		if !(f.x > f.low && f.x < f.high) {
			errs = append(errs, fmt.Errorf("ppo: config: %s is %v, want between %v and %v", f.name, f.x, f.low, f.high))
		}
	}
	if c.Algorithm != PPO && c.Algorithm != Reinforce {
		errs = append(errs, fmt.Errorf("ppo: config: Algorithm is %q, want %s or %s", c.Algorithm, PPO, Reinforce))
	}
	if !(c.Lambda >= 0 && c.Lambda <= 1) {
		errs = append(errs, fmt.Errorf("ppo: config: Lambda is %v, want 0 to 1", c.Lambda))
	}
	if c.Epochs < 1 || c.Minibatch < 1 {
		errs = append(errs, fmt.Errorf("ppo: config: Epochs is %d and Minibatch %d, want both >= 1", c.Epochs, c.Minibatch))
	}
	if c.Horizon <= 0 {
		errs = append(errs, fmt.Errorf("ppo: config: Horizon is %v, want > 0", c.Horizon))
	}
	return errors.Join(errs...)
}

// effective returns the settings that count: what is negative is none, and those of
// REINFORCE are those of PPO with one pass and whole returns.
func (c Config) effective() Config {
	c.Entropy, c.Leash = max(0, c.Entropy), max(0, c.Leash)
	if c.Algorithm == Reinforce {
		c.Epochs, c.Lambda, c.TargetKL, c.ClipValue = 1, 1, math.Inf(1), false
	}
	return c
}
