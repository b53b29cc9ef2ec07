package neural

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
)

// Actor plays a Gym-style environment with a network, any environment whose
// observations have the network's dimensions. Between two calls of Begin the
// scores stay as they are: actions follow by the softmax of the scores over the
// rows that are legal at the time. It is not safe for concurrent use.
type Actor struct {
	scorer  *nn.Scorer
	critic  *nn.Critic
	scratch nn.Scratch
	scores  []float32
	weights []float64 // of nn.SoftmaxWeights
	top     float64
}

// NewActor returns the actor with these parameters, which it copies.
func NewActor(p *nn.Params) *Actor {
	return &Actor{scorer: nn.NewScorer(p), critic: nn.NewCritic(p)}
}

// Begin scores the candidates of o and returns its value: to be called after
// each Reset and whenever Epoch changed. Its error wraps ErrNonFinite.
func (a *Actor) Begin(o *env.Observation) (value float64, err error) {
	a.scores = grow(a.scores, o.N())
	a.weights = grow(a.weights, o.N())
	a.scorer.Score(a.scores, o.Global, o.Candidates, o.Mask, &a.scratch)
	if err := checkFinite(a.scores); err != nil {
		return 0, err
	}
	a.top = nn.SoftmaxWeights(a.weights, a.scores)
	value = a.Value(o)
	if value-value != 0 {
		return 0, ErrNonFinite
	}
	return value, nil
}

// Value returns the value of o without touching the scores.
func (a *Actor) Value(o *env.Observation) float64 {
	return float64(a.critic.Value(o.Global, o.Candidates, o.Mask, &a.scratch))
}

// Scores returns the scores of the last Begin, shape [N]; borrowed until the
// next.
func (a *Actor) Scores() []float32 { return a.scores }

var errNoneLegal = errors.New("neural: no action is legal")

// Sample draws a row that mask allows from the softmax of the scores over those
// rows, and returns the logarithm of its probability.
func (a *Actor) Sample(mask []bool, r *rand.Rand) (action env.Action, logProb float64, err error) {
	total := 0.0
	for i, legal := range mask {
		if legal {
			total += a.weights[i]
		}
	}
	if total == 0 {
		return 0, 0, errNoneLegal
	}
	at := draw(a.weights, mask, total*r.Float64())
	return env.Action(at), nn.Relative(a.scores[at], a.top) - math.Log(total), nil
}

// draw returns the legal row at which the running sum of weights passes u, the
// last legal one where rounding keeps the sum below u.
func draw(weights []float64, mask []bool, u float64) int {
	last := 0
	for i, legal := range mask {
		if !legal {
			continue
		}
		last = i
		if u -= weights[i]; u < 0 {
			return i
		}
	}
	return last
}

// Best returns the row that mask allows with the highest score, the lowest row
// among equals.
func (a *Actor) Best(mask []bool) (env.Action, error) {
	best := -1
	for i, legal := range mask {
		if legal && (best < 0 || a.scores[i] > a.scores[best]) {
			best = i
		}
	}
	if best < 0 {
		return 0, errNoneLegal
	}
	return env.Action(best), nil
}
