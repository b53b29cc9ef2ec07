package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
)

// scorer is nn.Scorer as a graph, for batches of one size.
type scorer struct {
	*network
	candidates matrix // [rows, F]
	global     matrix // [rounds, G]
	pool       matrix // [rounds, rows]: 1/n at the legal candidates of a round
	spread     matrix // [rows, rounds]: 1 at the round of a row
}

func newScorer(s size, d nn.Dims) (*scorer, error) {
	g := gorgonia.NewGraph()
	n := &scorer{
		network:    newNetwork(g, d, nn.ScoreCandidateWeight, nn.ValueCandidateWeight),
		candidates: newMatrix(g, "candidates", s.rows, d.Candidate),
		global:     newMatrix(g, "global", s.rounds, d.Global),
		pool:       newMatrix(g, "pool", s.rounds, s.rows),
		spread:     newMatrix(g, "spread", s.rows, s.rounds),
	}
	b, x, w := &builder{}, n.candidates.node, n.weight
	u := b.bias(b.mul(n.global.node, w(nn.ScoreGlobalWeight)), w(nn.ScoreGlobalBias))
	h1 := b.relu(b.add(b.mul(x, w(nn.ScoreCandidateWeight)), b.mul(n.spread.node, u)))
	c := b.bias(b.mul(b.mul(n.pool.node, h1), w(nn.ScoreContextWeight)), w(nn.ScoreContextBias))
	h2 := b.relu(b.add(b.mul(h1, w(nn.ScoreHiddenWeight)), b.mul(n.spread.node, c)))
	scores := b.add(b.mul(h2, w(nn.ScoreOutputWeight)), b.mul(x, w(nn.ScoreLinearWeight)))
	if b.err != nil {
		return nil, fmt.Errorf("graph: build scorer for %d rows, %d rounds: %w", s.rows, s.rounds, b.err)
	}
	return n, n.compile(g, scores, s.rows)
}

// fill writes rounds to the inputs and clears the padding behind them. dOutput,
// the derivative of every score, is cleared and left to the caller.
func (n *scorer) fill(rounds []*env.Observation) {
	for _, m := range []matrix{n.pool, n.spread, n.candidates, n.global, n.dOutput} {
		clear(m.data)
	}
	row := 0
	for r, o := range rounds {
		copy(n.global.data[r*n.global.cols:], o.Global)
		copy(n.candidates.data[row*n.candidates.cols:], o.Candidates)
		n.fillPool(r, row, o.Mask)
		for i := range o.Mask {
			n.spread.data[(row+i)*n.spread.cols+r] = 1
		}
		row += o.N()
	}
}

// fillPool writes the row of the pooling matrix of round r, whose candidates
// begin at row: the mean over the legal ones, over all where none is legal.
func (n *scorer) fillPool(r, row int, mask []bool) {
	weights := n.pool.data[r*n.pool.cols+row:][:len(mask)]
	legal := 0
	for _, ok := range mask {
		if ok {
			legal++
		}
	}
	for i, ok := range mask {
		switch {
		case legal == 0:
			weights[i] = 1 / float32(len(mask))
		case ok:
			weights[i] = 1 / float32(legal)
		}
	}
}
