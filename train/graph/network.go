package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/graph/fused"
)

// network is a compiled graph: an output, a function of inputs and weights, and
// its vector-Jacobian product with respect to the weights. It is not safe for
// concurrent use.
type network struct {
	params  *nn.Params     // only for its shapes
	first   int            // tensor of nn.Params that weights[0] is
	weights []fused.Matrix // transposed: [in, out]; biases [1, out]
	grads   gorgonia.Nodes
	output  *gorgonia.Node
	dOutput fused.Matrix // same shape as output: the vector
	run     *fused.Executor
	loaded  int64 // number of the call whose weights it holds
}

// newNetwork adds the tensors [first, end) of a network of dimensions d to g as
// weights.
func newNetwork(g *gorgonia.ExprGraph, d nn.Dims, first, end int) *network {
	n := &network{params: nn.NewParams(d), first: first}
	for _, t := range n.params.Tensors[first:end] {
		rows, cols := matrixShape(t.Shape)
		n.weights = append(n.weights, fused.NewMatrix(g, t.Name, cols, rows))
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
func (n *network) weight(i int) *gorgonia.Node { return n.weights[i-n.first].Node }

// compile differentiates output, shape [rows, 1], and compiles the graph.
func (n *network) compile(g *gorgonia.ExprGraph, output *gorgonia.Node, rows int) error {
	n.output, n.dOutput = output, fused.NewMatrix(g, "d_output", rows, 1)
	wrt := make(gorgonia.Nodes, len(n.weights))
	for i := range wrt {
		wrt[i] = n.weights[i].Node
	}
	var err error
	n.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{output}, gorgonia.Nodes{n.dOutput.Node}, wrt)
	if err != nil {
		return fmt.Errorf("graph: differentiate: %w", err)
	}
	n.run, err = fused.NewExecutor(g, n.dOutput.Node, append(gorgonia.Nodes{output}, n.grads...))
	return err
}

// load copies the weights of p, which are [out, in], to the graph: once for each
// call of the engine, whose number is call.
func (n *network) load(p *nn.Params, call int64) {
	if n.loaded == call {
		return
	}
	n.loaded = call
	for i, w := range n.weights {
		transpose(w.Data, p.Tensors[n.first+i].Data, w.Cols)
	}
}

// forward computes the output from the inputs filled in and the weights loaded.
// It is borrowed until the next call.
func (n *network) forward() ([]float32, error) {
	if err := n.run.Forward(); err != nil {
		return nil, err
	}
	return n.run.Data(n.output)
}

// backward writes the gradient with respect to the weights, transposed as they
// are in the graph, to their part of grad, after forward and with dOutput filled
// in. The parts lie in grad as the tensors in nn.Params.Flat.
func (n *network) backward(grad []float32) error {
	if err := n.run.Backward(); err != nil {
		return err
	}
	grad = grad[n.offset():]
	for _, node := range n.grads {
		data, err := n.run.Data(node)
		if err != nil {
			return err
		}
		grad = grad[copy(grad, data):]
	}
	return nil
}

// offset returns where in nn.Params.Flat the network's first tensor begins.
func (n *network) offset() int {
	at := 0
	for _, t := range n.params.Tensors[:n.first] {
		at += len(t.Data)
	}
	return at
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
