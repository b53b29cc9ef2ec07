package fused

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"sync/atomic"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Matrix is an input of a graph: its node and the memory that the node reads.
type Matrix struct {
	Node       *gorgonia.Node
	Data       []float32 // row-major
	Rows, Cols int
}

// NewMatrix adds an input of zeros to g.
func NewMatrix(g *gorgonia.ExprGraph, name string, rows, cols int) Matrix {
	return MatrixOver(g, name, make([]float32, rows*cols), rows, cols)
}

// MatrixOver adds an input to g that reads data, shape [rows, cols], as it is at
// each run.
func MatrixOver(g *gorgonia.ExprGraph, name string, data []float32, rows, cols int) Matrix {
	value := tensor.New(tensor.WithShape(rows, cols), tensor.WithBacking(data))
	return Matrix{gorgonia.NodeFromAny(g, value, gorgonia.WithName(name)), data, rows, cols}
}

// operation is an Op and an SDOp of Gorgonia that computes a matrix from
// matrices into memory of its own.
type operation struct {
	name       string
	id         int64
	rows, cols int
	// run writes the result to out from the arguments.
	run func(in [][]float32, out []float32)
	// strips is run in parts, where what follows may be done to each part while it is
	// in the cache; nil where there is no such form.
	strips *strips
	// wrt says which arguments have a derivative; nil means none.
	wrt []bool
	// diff returns the gradients at the arguments, nil where wrt says no.
	diff func(in gorgonia.Nodes, out, grad *gorgonia.Node) gorgonia.Nodes

	args   gorgonia.Nodes
	out    []float32
	result *tensor.Dense
	in     [][]float32
}

// serial tells operations of one name and the same arguments apart: Gorgonia
// merges nodes of equal hash, and each owns its result.
var serial atomic.Int64

// apply adds the operation on these arguments to their graph. Arguments fit by
// construction: an error is a fault of the network, and it panics.
func (o *operation) apply(in ...*gorgonia.Node) *gorgonia.Node {
	o.id, o.args = serial.Add(1), in
	o.out = make([]float32, o.rows*o.cols)
	o.result = tensor.New(tensor.WithShape(o.rows, o.cols), tensor.WithBacking(o.out))
	o.in = make([][]float32, len(in))
	n, err := gorgonia.ApplyOp(o, in...)
	if err != nil {
		panic(fmt.Sprintf("fused: %s: %v", o.name, err))
	}
	return n
}

func (o *operation) Arity() int { return len(o.args) }

// Type is made anew for each call: Gorgonia puts it back into a pool.
func (o *operation) Type() hm.Type {
	types := make([]hm.Type, len(o.args)+1)
	for i := range types {
		types[i] = gorgonia.TensorType{Dims: 2, Of: tensor.Float32}
	}
	return hm.NewFnType(types...)
}

func (o *operation) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.Shape{o.rows, o.cols}, nil
}

// Do implements Op.
func (o *operation) Do(values ...gorgonia.Value) (gorgonia.Value, error) {
	for i, v := range values {
		var err error
		if o.in[i], err = floats(v); err != nil {
			return nil, fmt.Errorf("fused: %s: argument %d: %w", o.name, i, err)
		}
	}
	o.run(o.in, o.out)
	return o.result, nil
}

// floats returns the memory of a matrix.
func floats(v gorgonia.Value) ([]float32, error) {
	m, ok := v.(*tensor.Dense)
	if !ok || m.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("%T, want a matrix of float32", v)
	}
	return m.Float32s(), nil
}

func (o *operation) ReturnsPtr() bool     { return false }
func (o *operation) CallsExtern() bool    { return false }
func (o *operation) OverwritesInput() int { return -1 }
func (o *operation) String() string       { return o.name }

// WriteHash writes what makes the operation's node itself.
func (o *operation) WriteHash(h hash.Hash) { o.write(h) }

func (o *operation) write(w io.Writer) { fmt.Fprintf(w, "fused/%s/%d", o.name, o.id) }

func (o *operation) Hashcode() uint32 {
	h := fnv.New32a()
	o.write(h)
	return h.Sum32()
}

// DiffWRT implements SDOp.
func (o *operation) DiffWRT(n int) []bool {
	if o.wrt == nil {
		return make([]bool, n)
	}
	return o.wrt
}

// SymDiff implements SDOp.
func (o *operation) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (gorgonia.Nodes, error) {
	return o.diff(in, out, grad), nil
}

// size returns the shape of a node of this package.
func size(n *gorgonia.Node) (rows, cols int) { return n.Shape()[0], n.Shape()[1] }
