package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
)

// critic is nn.Critic as a graph. The mean over the candidates does not depend
// on weights: the host computes it.
type critic struct {
	*network
	means  matrix // [rounds, F]
	global matrix // [rounds, G]
}

func newCritic(rounds int, d nn.Dims) (*critic, error) {
	g := gorgonia.NewGraph()
	n := &critic{
		network: newNetwork(g, d, nn.ValueCandidateWeight, nn.ValueOutputBias+1),
		means:   newMatrix(g, "means", rounds, d.Candidate),
		global:  newMatrix(g, "global", rounds, d.Global),
	}
	b, w := &builder{}, n.weight
	u := b.add(b.mul(n.means.node, w(nn.ValueCandidateWeight)), b.mul(n.global.node, w(nn.ValueGlobalWeight)))
	h := b.relu(b.bias(u, w(nn.ValueGlobalBias)))
	values := b.bias(b.mul(h, w(nn.ValueOutputWeight)), w(nn.ValueOutputBias))
	if b.err != nil {
		return nil, fmt.Errorf("graph: build critic for %d rounds: %w", rounds, b.err)
	}
	return n, n.compile(g, values, rounds)
}

// fill writes rounds to the inputs and clears the padding behind them. dOutput,
// the derivative of every value, is cleared and left to the caller.
func (n *critic) fill(rounds []*env.Observation) {
	for _, m := range []matrix{n.means, n.global, n.dOutput} {
		clear(m.data)
	}
	for r, o := range rounds {
		copy(n.global.data[r*n.global.cols:], o.Global)
		nn.MeanRows(n.means.data[r*n.means.cols:][:n.means.cols], o.Candidates, o.Mask)
	}
}
