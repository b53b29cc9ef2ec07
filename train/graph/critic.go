package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/nn/kernel"
	"github.com/yardmaster/yardmaster/train/graph/fused"
)

const identity = kernel.Identity

// critic is nn.Critic as a graph. The mean over the candidates does not depend
// on weights: the host computes it.
type critic struct {
	*network
	rounds int
	means  fused.Matrix // [rounds, F]
	global fused.Matrix // [rounds, G]
}

func newCritic(rounds int, d nn.Dims) (*critic, error) {
	g := gorgonia.NewGraph()
	n := &critic{
		network: newNetwork(g, d, nn.ValueCandidateWeight, nn.ValueOutputBias+1),
		means:   fused.NewMatrix(g, "means", rounds, d.Candidate),
		global:  fused.NewMatrix(g, "global", rounds, d.Global),
	}
	w, live := n.weight, func() int { return n.rounds }
	h := fused.Linear2(n.global.Node, w(nn.ValueGlobalWeight), n.means.Node, w(nn.ValueCandidateWeight), w(nn.ValueGlobalBias), kernel.ReLU, live)
	values := fused.Head(h, w(nn.ValueOutputWeight), w(nn.ValueOutputBias), live)
	return n, n.compile(g, values, rounds)
}

// fill writes rounds to the inputs. The derivatives of their values in dOutput
// are cleared and left to the caller.
func (n *critic) fill(rounds []*env.Observation) {
	n.rounds = len(rounds)
	for r, o := range rounds {
		copy(n.global.Data[r*n.global.Cols:], o.Global)
		nn.MeanRows(n.means.Data[r*n.means.Cols:][:n.means.Cols], o.Candidates, o.Mask)
	}
	clear(n.dOutput.Data[:n.rounds])
}
