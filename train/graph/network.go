package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/yardmaster/yardmaster/models/nn"
)

// network is a compiled graph: an output, a function of inputs and weights, and
// its vector-Jacobian product with respect to the weights. It is not safe for
// concurrent use.
type network struct {
	params  *nn.Params // only for its shapes
	first   int        // tensor of nn.Params that weights[0] is
	weights []matrix   // transposed: [in, out]; biases [1, out]
	grads   gorgonia.Nodes
	output  *gorgonia.Node
	dOutput matrix // same shape as output: the vector
	vm      gorgonia.VM
}

// matrix is an input of a graph: its node and the memory that the node reads.
type matrix struct {
	node       *gorgonia.Node
	data       []float32
	rows, cols int
}

func newMatrix(g *gorgonia.ExprGraph, name string, rows, cols int) matrix {
	data := make([]float32, rows*cols)
	value := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	return matrix{gorgonia.NodeFromAny(g, value, gorgonia.WithName(name)), data, rows, cols}
}

// newNetwork adds the tensors [first, end) of a network of dimensions d to g as
// weights.
func newNetwork(g *gorgonia.ExprGraph, d nn.Dims, first, end int) *network {
	n := &network{params: nn.NewParams(d), first: first}
	for _, t := range n.params.Tensors[first:end] {
		rows, cols := matrixShape(t.Shape)
		n.weights = append(n.weights, newMatrix(g, t.Name, cols, rows))
	}
	return n
}

// matrixShape returns a tensor's shape as a matrix; a bias is a column.
func matrixShape(shape []int) (rows, cols int) {
	if len(shape) == 1 {
		return shape[0], 1
	}
	return shape[0], shape[1]
}

// weight returns the node of tensor i of nn.Params.
func (n *network) weight(i int) *gorgonia.Node { return n.weights[i-n.first].node }

// compile differentiates output, shape [rows, 1], and compiles the graph.
func (n *network) compile(g *gorgonia.ExprGraph, output *gorgonia.Node, rows int) error {
	n.output, n.dOutput = output, newMatrix(g, "d_output", rows, 1)
	wrt := make(gorgonia.Nodes, len(n.weights))
	for i := range wrt {
		wrt[i] = n.weights[i].node
	}
	var err error
	n.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{output}, gorgonia.Nodes{n.dOutput.node}, wrt)
	if err != nil {
		return fmt.Errorf("graph: differentiate: %w", err)
	}
	// The subgraph leaves out derivatives with respect to inputs.
	n.vm = gorgonia.NewTapeMachine(g.ExactSubgraphRoots(append(gorgonia.Nodes{output}, n.grads...)...))
	return nil
}

// load copies the weights of p, which are [out, in], to the graph.
func (n *network) load(p *nn.Params) {
	for i, w := range n.weights {
		transpose(w.data, p.Tensors[n.first+i].Data, w.cols)
	}
}

// backward runs the graph on the inputs filled in and writes the gradient with
// respect to its weights to their part of grad, shape [Dims.Size()].
func (n *network) backward(grad []float32) error {
	defer n.vm.Reset()
	if err := n.vm.RunAll(); err != nil {
		return fmt.Errorf("graph: run: %w", err)
	}
	views := n.params.View(grad)
	for i, node := range n.grads {
		t := views[n.first+i]
		data, ok := node.Value().Data().([]float32)
		if !ok || len(data) != len(t.Data) {
			return fmt.Errorf("graph: gradient of %s is %T, want %d values", t.Name, node.Value().Data(), len(t.Data))
		}
		transpose(t.Data, data, n.weights[i].rows)
	}
	return nil
}

// transpose writes src, shape [rows, cols], to dst as [cols, rows].
func transpose(dst, src []float32, rows int) {
	cols := len(src) / rows
	for r := range rows {
		for c := range cols {
			dst[c*rows+r] = src[r*cols+c]
		}
	}
}
