package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph/fused"
)

// scorer is nn.Scorer as a graph, for batches of at most so many rows.
type scorer struct {
	*network
	layout     *fused.Layout
	candidates fused.Matrix // [rows, F]
	global     fused.Matrix // [rounds, G]
}

func newScorer(rows int, d nn.Dims) (*scorer, error) {
	g := gorgonia.NewGraph()
	l := &fused.Layout{}
	l.Reset()
	n := &scorer{
		network:    newNetwork(g, d, nn.ScoreCandidateWeight, nn.ValueCandidateWeight),
		layout:     l,
		candidates: fused.NewMatrix(g, "candidates", rows, d.Candidate),
		global:     fused.NewMatrix(g, "global", chunkRounds, d.Global),
	}
	x, w := n.candidates.Node, n.weight
	u := fused.Linear(n.global.Node, w(nn.ScoreGlobalWeight), w(nn.ScoreGlobalBias), identity, false, l.Rounds)
	h1 := fused.Spread(x, w(nn.ScoreCandidateWeight), u, l)
	c := fused.Pool(h1, chunkRounds, l)
	h2 := fused.Context(h1, c, w(nn.ScoreHiddenWeight), w(nn.ScoreContextWeight), w(nn.ScoreContextBias), l)
	scores := fused.Head2(h2, w(nn.ScoreOutputWeight), x, w(nn.ScoreLinearWeight), l.Rows)
	return n, n.compile(g, scores, rows)
}

// fill writes rounds to the inputs. The derivatives of their scores in dOutput
// are cleared and left to the caller.
func (n *scorer) fill(rounds []*env.Observation) {
	n.layout.Reset()
	for r, o := range rounds {
		copy(n.global.Data[r*n.global.Cols:], o.Global)
		copy(n.candidates.Data[n.layout.Rows()*n.candidates.Cols:], o.Candidates)
		n.layout.Add(o.Mask)
	}
	clear(n.dOutput.Data[:n.layout.Rows()])
}
