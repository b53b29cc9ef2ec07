package rollout

import (
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/env"
)

// Actor chooses actions; neural.Actor is one. Between two calls of Begin its
// scores stay as they are.
type Actor interface {
	// Begin scores the candidates of o and returns its value.
	Begin(o *env.Observation) (value float64, err error)
	// Value returns the value of o without touching the scores.
	Value(o *env.Observation) float64
	// Sample draws an action that mask allows and returns the logarithm of its
	// probability.
	Sample(mask []bool, r *rand.Rand) (action env.Action, logProb float64, err error)
}
