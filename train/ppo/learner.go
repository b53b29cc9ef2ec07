package ppo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/optim"
	"github.com/yardmaster/yardmaster/train/picks"
	"github.com/yardmaster/yardmaster/train/rollout"
)

// Learner updates parameters from episodes. It is not safe for concurrent use.
type Learner struct {
	cfg        Config
	network    Network
	reference  func(dst []float32, o *env.Observation) // the policy on the leash, as the constructor found it
	policy     *optim.Adam
	critic     *optim.Adam
	grad       []float32
	scale      float64 // of rewards; 0 before Calibrate
	evaluators sync.Pool
	memory     memory
}

// memory is what one update leaves to the next one.
type memory struct {
	batch  batch
	rounds []*env.Observation // of a minibatch
	found  []terms            // of a minibatch
	before []float32          // the parameters
}

// NewLearner returns a learner that updates params in place. The policy they
// hold now is the one that the leash pulls to.
func NewLearner(cfg Config, params *nn.Params) (*Learner, error) {
	n, err := newSetNetwork(params)
	if err != nil {
		return nil, err
	}
	return NewNetworkLearner(cfg, n)
}

// NewNetworkLearner is NewLearner for any network.
func NewNetworkLearner(cfg Config, n Network) (*Learner, error) {
	cfg.FillDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.effective()
	size, policy := len(n.Flat()), n.PolicySize()
	l := &Learner{
		cfg: cfg, network: n, reference: n.Reference(), scale: cfg.RewardScale,
		policy: optim.NewAdam(policy), critic: optim.NewAdam(size - policy), grad: make([]float32, size),
	}
	l.evaluators.New = func() any { return new(picks.Evaluator) }
	return l, nil
}

// Metrics of one update; README.md defines them.
type Metrics struct {
	PolicyLoss        float64 `json:"policy_loss"`
	ValueLoss         float64 `json:"value_loss"`
	Entropy           float64 `json:"entropy"`
	KL                float64 `json:"kl"`
	FirstRatio        float64 `json:"first_ratio_error"`
	ClipFraction      float64 `json:"clip_fraction"`
	LeashKL           float64 `json:"leash_kl"`
	ExplainedVariance float64 `json:"explained_variance"`
	GradNorm          float64 `json:"grad_norm"`
	Steps             int     `json:"steps"`
	Rounds            int     `json:"rounds"`
}

// ErrNonFinite is wrapped by the error of an update whose loss or gradient is not
// finite; a [checkpoint.BatchError] holds the minibatch. The parameters are as they
// were before the update.
var ErrNonFinite = errors.New("ppo: loss is not finite")

// Calibrate fixes the scale of rewards from episodes, once: discounted returns
// have standard deviation 1 then, whatever the workload. Where they are all alike,
// no deadline was missed, say, rewards stay as they are. Where Config.RewardScale has
// fixed it, it stays.
func (l *Learner) Calibrate(episodes []rollout.Episode) {
	if l.cfg.RewardScale > 0 {
		return
	}
	var all []float64
	for i := range episodes {
		e := &episodes[i]
		g := returns(rewards(e, 1), discounts(e, l.cfg.Horizon), 0)
		all = append(all, g[:len(e.Rounds)]...)
	}
	l.scale = 1
	if mean, std := moments(all); std > 1e-9*math.Abs(mean) { // more than rounding
		l.scale = 1 / max(std, 1e-6)
	}
}

// Scale returns the scale of rewards, 0 before Calibrate.
func (l *Learner) Scale() float64 { return l.scale }

// batch is the recorded rounds of an iteration.
type batch struct {
	samples      []sample
	observations []*env.Observation
}

// newBatch computes advantages and targets of all rounds and keeps those whose
// observation was recorded. The batch is borrowed until the next one.
func (l *Learner) newBatch(episodes []rollout.Episode) *batch {
	tracks := make([]track, len(episodes))
	for i := range episodes {
		tracks[i] = newTrack(&episodes[i], l.scale, l.cfg.Horizon)
	}
	b := &l.memory.batch
	b.samples, b.observations = b.samples[:0], b.observations[:0]
	for i := range episodes {
		t, rounds := &tracks[i], episodes[i].Rounds
		advantages, targets := make([]float64, len(rounds)), make([]float64, len(rounds))
		GAE(advantages, t.rewards, groupValues(tracks, i), t.gamma, l.cfg.Lambda)
		GAE(targets, t.rewards, t.values, t.gamma, l.cfg.Lambda)
		for k := range rounds {
			if !rounds[k].Kept {
				continue
			}
			b.observations = append(b.observations, &rounds[k].Observation)
			b.samples = append(b.samples, sample{
				round: &rounds[k].Picks, logProb: rounds[k].LogProb,
				advantage: advantages[k], target: targets[k] + rounds[k].Value, value: rounds[k].Value,
			})
		}
	}
	if !l.cfg.MinibatchAdvantages {
		b.normalize()
	}
	return b
}

// normalize gives the advantages mean 0 and standard deviation 1.
func (b *batch) normalize() {
	all := make([]float64, len(b.samples))
	for i := range all {
		all[i] = b.samples[i].advantage
	}
	mean, std := moments(all)
	for i := range all {
		b.samples[i].advantage = (all[i] - mean) / (std + 1e-8)
	}
}

// advantages returns mean and standard deviation, not 0, of the advantages of a
// minibatch.
func (b *batch) advantages(indices []int) (mean, std float64) {
	all := make([]float64, len(indices))
	for i, k := range indices {
		all[i] = b.samples[k].advantage
	}
	mean, std = moments(all)
	return mean, std + 1e-8
}

func moments(x []float64) (mean, std float64) {
	n := float64(max(1, len(x)))
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		std += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(std)
}

// Progress of the run, from 0 at its first iteration to 1 at its end: learning
// rate and leash fall with it.
type Progress float64

// Update improves the policy and the critic from the episodes of one iteration.
// Chance is the order of the rounds.
func (l *Learner) Update(ctx context.Context, episodes []rollout.Episode, done Progress, r *rand.Rand) (Metrics, error) {
	if l.scale == 0 {
		return Metrics{}, errors.New("ppo: update before Calibrate")
	}
	b := l.newBatch(episodes)
	if len(b.samples) == 0 {
		return Metrics{}, errors.New("ppo: update without recorded rounds")
	}
	left := 1 - float64(done)
	step := step{
		weights: lossWeights{clip: l.cfg.Clip, entropy: l.cfg.Entropy, leash: l.cfg.Leash * left, value: l.cfg.ValueWeight, clipValue: l.cfg.ClipValue, reinforce: l.cfg.Algorithm == Reinforce},
		rate:    l.cfg.Rate * left, criticRate: l.cfg.CriticRate,
	}
	if l.cfg.Falls {
		step.weights.clip *= left
	}
	if l.cfg.Falls || l.cfg.CriticFalls {
		step.criticRate *= left
	}
	if step.weights.leash > 0 {
		l.score(b)
	}
	l.memory.before = append(l.memory.before[:0], l.network.Flat()...)
	m, err := l.epochs(ctx, b, step, r)
	if err != nil {
		copy(l.network.Flat(), l.memory.before)
		return Metrics{}, err
	}
	m.ExplainedVariance = explainedVariance(b, episodes)
	m.Rounds = len(b.samples)
	return m, nil
}

// epochs passes over the batch and stops where the policy has moved far enough.
func (l *Learner) epochs(ctx context.Context, b *batch, s step, r *rand.Rand) (Metrics, error) {
	var sum Metrics
	for range l.cfg.Epochs {
		order := r.Perm(len(b.samples))
		for len(order) > 0 {
			n := min(l.cfg.Minibatch, len(order))
			if len(order)-n < l.cfg.Minibatch/2 {
				n = len(order) // no small rest
			}
			m, err := l.step(ctx, b, order[:n], s)
			if err != nil {
				return sum, err
			}
			order = order[n:]
			sum.add(m)
			if m.KL > 1.5*l.cfg.TargetKL {
				return sum.mean(), nil
			}
		}
	}
	return sum.mean(), nil
}

// score fills in the scores of the policy on the leash.
func (l *Learner) score(b *batch) {
	for i, o := range b.observations {
		b.samples[i].reference = make([]float32, o.N())
		l.reference(b.samples[i].reference, o)
	}
}

// explainedVariance returns 1 − Var(target − value) / Var(target) of the values
// at the time of playing: 1 is a perfect critic, 0 one that knows the mean.
func explainedVariance(b *batch, episodes []rollout.Episode) float64 {
	var targets, misses []float64
	k := 0
	for i := range episodes {
		for t := range episodes[i].Rounds {
			if episodes[i].Rounds[t].Kept {
				targets = append(targets, b.samples[k].target)
				misses = append(misses, b.samples[k].target-episodes[i].Rounds[t].Value)
				k++
			}
		}
	}
	_, all := moments(targets)
	_, miss := moments(misses)
	if all == 0 {
		return 0
	}
	return 1 - miss*miss/(all*all)
}

// step is how one minibatch is used.
type step struct {
	weights          lossWeights
	rate, criticRate float64
}

// step takes one step of the optimizers on the rounds with these indices.
func (l *Learner) step(ctx context.Context, b *batch, indices []int, s step) (Metrics, error) {
	m, err := l.gradient(ctx, b, indices, s.weights)
	if err != nil {
		return m, l.failed(err, b, indices)
	}
	at, flat, critic := l.network.PolicySize(), l.network.Flat(), 0.0
	if l.cfg.JointNorm {
		m.GradNorm = optim.ClipNorm(l.grad, l.cfg.GradNorm)
		critic = m.GradNorm
	} else {
		m.GradNorm = optim.ClipNorm(l.grad[:at], l.cfg.GradNorm)
		critic = optim.ClipNorm(l.grad[at:], l.cfg.GradNorm)
	}
	if !finite(m.GradNorm, critic) {
		return m, l.failed(fmt.Errorf("%w: norm of the policy's gradient is %v, of the critic's %v", ErrNonFinite, m.GradNorm, critic), b, indices)
	}
	l.policy.Step(flat[:at], l.grad[:at], s.rate)
	l.critic.Step(flat[at:], l.grad[at:], s.criticRate)
	return m, nil
}

// gradient computes the gradient of the mean loss over the rounds with these
// indices.
func (l *Learner) gradient(ctx context.Context, b *batch, indices []int, w lossWeights) (Metrics, error) {
	rounds := l.memory.rounds[:0]
	for _, k := range indices {
		rounds = append(rounds, b.observations[k])
	}
	found := slices.Grow(l.memory.found[:0], len(indices))[:len(indices)]
	l.memory.rounds, l.memory.found = rounds, found
	scale := 1 / float64(len(indices))
	mean, std := l.normalizer(b, indices)
	loss := func(i int, scores []float32, value float32, dScores []float32) (dValue float32) {
		e := l.evaluator()
		defer l.evaluators.Put(e)
		s := b.samples[indices[i]]
		s.advantage = (s.advantage - mean) / std
		found[i], dValue = w.round(e, &s, scores, value, scale, dScores)
		return dValue
	}
	if err := l.network.Gradient(ctx, rounds, graph.Objective{Loss: loss, Heads: graph.Scores | graph.Values}, l.grad); err != nil {
		return Metrics{}, fmt.Errorf("ppo: update: %w", err)
	}
	m := summarize(found)
	if !finite(m.PolicyLoss, m.ValueLoss, m.Entropy, m.LeashKL) {
		return Metrics{}, fmt.Errorf("%w: policy %v, value %v, entropy %v, leash %v", ErrNonFinite, m.PolicyLoss, m.ValueLoss, m.Entropy, m.LeashKL)
	}
	return m, nil
}

// normalizer returns what is taken off the advantages of a minibatch, and what they are
// then divided by.
func (l *Learner) normalizer(b *batch, indices []int) (mean, std float64) {
	if l.cfg.MinibatchAdvantages {
		return b.advantages(indices)
	}
	return 0, 1
}

func (l *Learner) evaluator() *picks.Evaluator { return l.evaluators.Get().(*picks.Evaluator) }

// summarize averages the terms of a minibatch.
func summarize(found []terms) Metrics {
	m := Metrics{Steps: 1}
	n := float64(len(found))
	for _, t := range found {
		m.PolicyLoss += t.policy / n
		m.ValueLoss += t.value / n
		m.Entropy += t.entropy / n
		m.LeashKL += t.leash / n
		m.KL += t.kl / n
		m.FirstRatio = max(m.FirstRatio, math.Abs(t.ratio-1))
		if t.clipped {
			m.ClipFraction += 1 / n
		}
	}
	return m
}

// add accumulates the metrics of a step; FirstRatio is that of the first one,
// KL that of the last.
func (m *Metrics) add(s Metrics) {
	if m.Steps == 0 {
		m.FirstRatio = s.FirstRatio
	}
	m.PolicyLoss += s.PolicyLoss
	m.ValueLoss += s.ValueLoss
	m.Entropy += s.Entropy
	m.LeashKL += s.LeashKL
	m.ClipFraction += s.ClipFraction
	m.GradNorm += s.GradNorm
	m.KL = s.KL
	m.Steps++
}

func (m Metrics) mean() Metrics {
	n := float64(max(1, m.Steps))
	m.PolicyLoss /= n
	m.ValueLoss /= n
	m.Entropy /= n
	m.LeashKL /= n
	m.ClipFraction /= n
	m.GradNorm /= n
	return m
}

// FitCritic fits the critic alone to the returns of episodes, for at most
// epochs passes, until its explained variance reaches enough. It returns the
// explained variance it reached.
func (l *Learner) FitCritic(ctx context.Context, episodes []rollout.Episode, epochs int, enough float64, r *rand.Rand) (float64, error) {
	if l.scale == 0 {
		return 0, errors.New("ppo: fit critic before Calibrate")
	}
	b := l.newBatch(episodes)
	k := 0
	var targets []float64
	for i := range episodes {
		t := newTrack(&episodes[i], l.scale, l.cfg.Horizon)
		for n := range episodes[i].Rounds {
			if episodes[i].Rounds[n].Kept {
				b.samples[k].target = t.returns[n]
				targets = append(targets, t.returns[n])
				k++
			}
		}
	}
	_, std := moments(targets)
	explained := 0.0
	for range epochs {
		loss, err := l.fitEpoch(ctx, b, r)
		if err != nil {
			return explained, err
		}
		explained = 1 - 2*loss/max(std*std, 1e-12)
		if explained >= enough {
			break
		}
	}
	return explained, nil
}

// fitEpoch takes one pass of the critic over b and returns the mean loss.
func (l *Learner) fitEpoch(ctx context.Context, b *batch, r *rand.Rand) (float64, error) {
	order, loss := r.Perm(len(b.samples)), 0.0
	at, flat := l.network.PolicySize(), l.network.Flat()
	for len(order) > 0 {
		n := min(l.cfg.Minibatch, len(order))
		rounds, losses := make([]*env.Observation, n), make([]float64, n)
		for i, k := range order[:n] {
			rounds[i] = b.observations[k]
		}
		squares := func(i int, _ []float32, value float32, _ []float32) float32 {
			miss := float64(value) - b.samples[order[i]].target
			losses[i] = miss * miss / 2
			return float32(miss / float64(n))
		}
		if err := l.network.Gradient(ctx, rounds, graph.Objective{Loss: squares, Heads: graph.Values}, l.grad); err != nil {
			return 0, l.failed(fmt.Errorf("ppo: fit critic: %w", err), b, order[:n])
		}
		if norm := optim.ClipNorm(l.grad[at:], l.cfg.GradNorm); !finite(norm) {
			return 0, l.failed(fmt.Errorf("%w: norm of the critic's gradient is %v", ErrNonFinite, norm), b, order[:n])
		}
		l.critic.Step(flat[at:], l.grad[at:], l.cfg.CriticRate)
		for _, x := range losses {
			loss += x / float64(len(b.samples))
		}
		order = order[n:]
	}
	return loss, nil
}
