package ppo

import (
	"errors"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/train/checkpoint"
	"github.com/yardmaster/yardmaster/train/graph"
)

// Sections of a checkpoint that are a learner's.
const (
	scaleSection  = "learner.scale"
	policySection = "learner.policy"
	criticSection = "learner.critic"
)

// Save adds to s what the learner knows beside its settings, the parameters, and the
// policy on the leash.
func (l *Learner) Save(s checkpoint.Sections) error {
	return errors.Join(s.PutJSON(scaleSection, l.scale), s.Put(policySection, l.policy), s.Put(criticSection, l.critic))
}

// Restore makes l the learner that Save was called on: one with the same settings,
// made with the parameters that are on the leash.
func (l *Learner) Restore(s checkpoint.Sections) error {
	return errors.Join(s.JSON(scaleSection, &l.scale), s.Restore(policySection, l.policy), s.Restore(criticSection, l.critic))
}

// failed returns err, with the rounds of a minibatch if it says that something is not
// finite.
func (l *Learner) failed(err error, b *batch, indices []int) error {
	if !errors.Is(err, ErrNonFinite) && !errors.Is(err, graph.ErrNonFinite) {
		return err
	}
	mean, std := l.normalizer(b, indices)
	out := checkpoint.Batch{Parameters: slices.Clone(l.network.Flat())}
	for _, k := range indices {
		s := &b.samples[k]
		out.Observations = append(out.Observations, *b.observations[k])
		out.Picks = append(out.Picks, *s.round)
		out.LogProbs = append(out.LogProbs, s.logProb)
		out.Advantages = append(out.Advantages, (s.advantage-mean)/std)
		out.Values = append(out.Values, s.value)
		out.Targets = append(out.Targets, s.target)
	}
	return &checkpoint.BatchError{Batch: out, Err: err}
}

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
