package ppo

import (
	"context"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph"
)

// Network is what a Learner improves.
type Network interface {
	// Flat returns the parameters, the policy's first, to be changed in place.
	Flat() []float32
	// PolicySize returns how many of them are the policy's; the rest are the
	// critic's.
	PolicySize() int
	// Gradient writes the gradient of the sum of a loss over rounds to grad,
	// shape [len(Flat())]. Its error wraps graph.ErrNonFinite where scores, values
	// or derivatives are not all finite.
	Gradient(ctx context.Context, rounds []*env.Observation, o graph.Objective, grad []float32) error
	// Reference returns a function that writes the scores of the policy as it is
	// now, shape [N], whatever becomes of the parameters.
	Reference() func(dst []float32, o *env.Observation)
}

// setNetwork is the network over sets of candidates of package nn.
type setNetwork struct {
	params *nn.Params
	engine *graph.Engine
}

func newSetNetwork(p *nn.Params) (*setNetwork, error) {
	engine, err := graph.NewEngine(p.Dims)
	return &setNetwork{p, engine}, err
}

func (n *setNetwork) Flat() []float32 { return n.params.Flat }
func (n *setNetwork) PolicySize() int { return n.params.Dims.ScorerSize() }

func (n *setNetwork) Gradient(ctx context.Context, rounds []*env.Observation, o graph.Objective, grad []float32) error {
	return n.engine.Gradient(ctx, n.params, rounds, o, grad)
}

func (n *setNetwork) Reference() func(dst []float32, o *env.Observation) {
	scorer, scratch := nn.NewScorer(n.params), &nn.Scratch{}
	return func(dst []float32, o *env.Observation) {
		scorer.Score(dst, o.Global, o.Candidates, o.Mask, scratch)
	}
}
