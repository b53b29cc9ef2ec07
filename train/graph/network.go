package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/yardmaster/yardmaster/models/nn"
)

// network is the graph of a scorer and a critic for batches of one size. It is
// not safe for concurrent use.
type network struct {
	size   size
	params *nn.Params // weights as of the last load
	inputs inputs
	weight [weights]matrix // transposed: [in, out]; biases [1, out]
	grads  gorgonia.Nodes  // same order
	scores *gorgonia.Node  // [rows, 1]
	values *gorgonia.Node  // [rounds, 1]
	vm     gorgonia.VM
}

// matrix is an input of the graph: its node and the memory the node reads.
type matrix struct {
	node       *gorgonia.Node
	data       []float32
	rows, cols int
}

// inputs are what a batch fills in.
type inputs struct {
	candidates matrix // [rows, F]
	global     matrix // [rounds, G]
	pool       matrix // [rounds, rows]: 1/n at the legal candidates of a round
	spread     matrix // [rows, rounds]: 1 at the round of a row
	dScores    matrix // [rows, 1]
	dValues    matrix // [rounds, 1]
}

// weights is the number of tensors of nn.Params.
const weights = nn.ValueOutputBias + 1

func newNetwork(s size, d nn.Dims) (*network, error) {
	n := &network{size: s, params: nn.NewParams(d)}
	g := gorgonia.NewGraph()
	n.inputs = inputs{
		candidates: newMatrix(g, "candidates", s.rows, d.Candidate),
		global:     newMatrix(g, "global", s.rounds, d.Global),
		pool:       newMatrix(g, "pool", s.rounds, s.rows),
		spread:     newMatrix(g, "spread", s.rows, s.rounds),
		dScores:    newMatrix(g, "d_scores", s.rows, 1),
		dValues:    newMatrix(g, "d_values", s.rounds, 1),
	}
	for i, t := range n.params.Tensors {
		rows, cols := matrixShape(t.Shape)
		n.weight[i] = newMatrix(g, t.Name, cols, rows)
	}
	if err := n.build(); err != nil {
		return nil, fmt.Errorf("graph: build for %d rows, %d rounds: %w", s.rows, s.rounds, err)
	}
	// The subgraph leaves out derivatives with respect to inputs.
	roots := append(gorgonia.Nodes{n.scores, n.values}, n.grads...)
	n.vm = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(roots...))
	return n, nil
}

// matrixShape returns a tensor's shape as a matrix; a bias is a column.
func matrixShape(shape []int) (rows, cols int) {
	if len(shape) == 1 {
		return shape[0], 1
	}
	return shape[0], shape[1]
}

func newMatrix(g *gorgonia.ExprGraph, name string, rows, cols int) matrix {
	data := make([]float32, rows*cols)
	value := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	return matrix{gorgonia.NodeFromAny(g, value, gorgonia.WithName(name)), data, rows, cols}
}

// build writes the formulas of nn.Scorer and nn.Critic and their derivatives.
func (n *network) build() error {
	b := &builder{}
	w := func(i int) *gorgonia.Node { return n.weight[i].node }
	x, g, pool, spread := n.inputs.candidates.node, n.inputs.global.node, n.inputs.pool.node, n.inputs.spread.node

	u := b.bias(b.mul(g, w(nn.ScoreGlobalWeight)), w(nn.ScoreGlobalBias))
	h1 := b.relu(b.add(b.mul(x, w(nn.ScoreCandidateWeight)), b.mul(spread, u)))
	c := b.bias(b.mul(b.mul(pool, h1), w(nn.ScoreContextWeight)), w(nn.ScoreContextBias))
	h2 := b.relu(b.add(b.mul(h1, w(nn.ScoreHiddenWeight)), b.mul(spread, c)))
	n.scores = b.add(b.mul(h2, w(nn.ScoreOutputWeight)), b.mul(x, w(nn.ScoreLinearWeight)))

	v := b.add(b.mul(b.mul(pool, x), w(nn.ValueCandidateWeight)), b.mul(g, w(nn.ValueGlobalWeight)))
	h := b.relu(b.bias(v, w(nn.ValueGlobalBias)))
	n.values = b.bias(b.mul(h, w(nn.ValueOutputWeight)), w(nn.ValueOutputBias))
	if b.err != nil {
		return b.err
	}
	wrt := make(gorgonia.Nodes, weights)
	for i := range n.weight {
		wrt[i] = n.weight[i].node
	}
	var err error
	n.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{n.scores, n.values}, gorgonia.Nodes{n.inputs.dScores.node, n.inputs.dValues.node}, wrt)
	return err
}

// builder chains operations of Gorgonia and keeps the first error.
type builder struct{ err error }

func (b *builder) keep(n *gorgonia.Node, err error) *gorgonia.Node {
	if b.err == nil {
		b.err = err
	}
	return n
}

func (b *builder) mul(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Mul(x, y))
}

func (b *builder) add(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Add(x, y))
}

// bias adds y, shape [1, n], to every row of x.
func (b *builder) bias(x, y *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.BroadcastAdd(x, y, nil, []byte{0}))
}

func (b *builder) relu(x *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	return b.keep(gorgonia.Rectify(x))
}

// load copies p, whose weights are [out, in], to the graph.
func (n *network) load(p *nn.Params) {
	for i, t := range p.Tensors {
		transposeTo(n.weight[i].data, t.Data, n.weight[i].cols)
	}
}

// backward runs the graph on the inputs filled in and writes the gradient of
// all parameters to grad, shape [Dims.Size()].
func (n *network) backward(grad []float32) error {
	defer n.vm.Reset()
	if err := n.vm.RunAll(); err != nil {
		return fmt.Errorf("graph: run: %w", err)
	}
	for i, t := range n.params.View(grad) {
		data, ok := n.grads[i].Value().Data().([]float32)
		if !ok || len(data) != len(t.Data) {
			return fmt.Errorf("graph: gradient of %s is %T, want %d values", t.Name, n.grads[i].Value().Data(), len(t.Data))
		}
		rows, _ := matrixShape(t.Shape)
		transposeFrom(t.Data, data, rows)
	}
	return nil
}

// transposeTo writes src, shape [rows, cols], to dst as [cols, rows].
func transposeTo(dst, src []float32, rows int) {
	cols := len(src) / rows
	for r := range rows {
		for c := range cols {
			dst[c*rows+r] = src[r*cols+c]
		}
	}
}

// transposeFrom writes src, shape [cols, rows], to dst as [rows, cols].
func transposeFrom(dst, src []float32, rows int) {
	transposeTo(dst, src, len(src)/rows)
}
