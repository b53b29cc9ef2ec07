package mlp

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph"
)

// Actor plays an environment with a network, whose parameters it reads as they
// are at the time. It is not safe for concurrent use.
type Actor struct {
	network *Network
	pass    pass
	scores  []float32 // [A]
	weights []float64 // of nn.SoftmaxWeights
	top     float64
}

// NewActor returns an actor of n.
func (n *Network) NewActor() *Actor {
	return &Actor{network: n, scores: make([]float32, n.dims.Actions), weights: make([]float64, n.dims.Actions)}
}

// Begin scores the actions of o and returns its value: to be called after each
// Reset and whenever Epoch changed.
func (a *Actor) Begin(o *env.Observation) (value float64, err error) {
	if err := a.network.check(o); err != nil {
		return 0, err
	}
	copy(a.scores, a.pass.run(a.network.policy, o.Global))
	for _, s := range a.scores {
		if s-s != 0 {
			return 0, ErrNonFinite
		}
	}
	a.top = nn.SoftmaxWeights(a.weights, a.scores)
	if value = a.Value(o); value-value != 0 {
		return 0, ErrNonFinite
	}
	return value, nil
}

// ErrNonFinite is returned where scores or a value are not finite. It wraps
// [graph.ErrNonFinite], by which a learner knows to hand over the minibatch.
var ErrNonFinite = fmt.Errorf("mlp: %w", graph.ErrNonFinite)

// Value returns the value of o without touching the scores.
func (a *Actor) Value(o *env.Observation) float64 {
	return float64(a.pass.run(a.network.critic, o.Global)[0])
}

// Scores returns the scores of the last Begin, shape [A]; borrowed until the
// next.
func (a *Actor) Scores() []float32 { return a.scores }

var errNoneLegal = errors.New("mlp: no action is legal")

// Sample draws an action that mask allows from the softmax of the scores over
// those actions, and returns the logarithm of its probability.
func (a *Actor) Sample(mask []bool, r *rand.Rand) (action env.Action, logProb float64, err error) {
	total, last := 0.0, -1
	for i, legal := range mask {
		if legal {
			total += a.weights[i]
			last = i
		}
	}
	if last < 0 || total == 0 {
		return 0, 0, errNoneLegal
	}
	chosen, u := last, total*r.Float64() // the last one where rounding keeps the sum below u
	for i, legal := range mask {
		if !legal {
			continue
		}
		if u -= a.weights[i]; u < 0 {
			chosen = i
			break
		}
	}
	return env.Action(chosen), nn.Relative(a.scores[chosen], a.top) - math.Log(total), nil
}

// Reference returns a function that writes the scores of the policy as it is now,
// shape [A], whatever becomes of the parameters.
func (n *Network) Reference() func(dst []float32, o *env.Observation) {
	policy := cut(slices.Clone(n.flat[:n.policySize]), n.dims.widths(n.dims.Actions))
	memory := &pass{}
	return func(dst []float32, o *env.Observation) { copy(dst, memory.run(policy, o.Global)) }
}
