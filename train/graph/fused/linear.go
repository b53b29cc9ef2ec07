package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Rows tells an operation how many rows of its matrices are live. Candidates
// and Rounds are of a layout.
type Rows func() int

// activation returns the node d, the gradient at a layer's sums, from grad at
// its results y. Where grad is computed in strips it becomes one operation with
// it: grad itself is not needed then, and not computed.
func activation(act kernel.Activation, grad, y *gorgonia.Node, live Rows) *gorgonia.Node {
	if act == kernel.Identity {
		return grad
	}
	if o, ours := grad.Op().(*operation); ours && o.strips != nil {
		return o.activated(act, y)
	}
	rows, cols := size(y)
	return (&operation{name: "activation gradient", rows: rows, cols: cols, run: func(in [][]float32, out []float32) {
		n := live() * cols
		kernel.Gradient(act, out[:n], in[0][:n], nil, in[1][:n])
	}}).apply(grad, y)
}

// weightGradient returns xᵀ·d over the live rows.
func weightGradient(x, d *gorgonia.Node, live Rows) *gorgonia.Node {
	_, inputs := size(x)
	_, outputs := size(d)
	return (&operation{name: "weight gradient", rows: inputs, cols: outputs, run: func(in [][]float32, out []float32) {
		clear(out)
		kernel.MultiplyAddLeft(out, in[0], in[1], inputs, live(), outputs)
	}}).apply(x, d)
}

// inputGradient returns d·wᵀ for the live rows.
func inputGradient(d, w *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, outputs := size(d)
	inputs, _ := size(w)
	return (&operation{name: "input gradient", rows: rows, cols: inputs, run: func(in [][]float32, out []float32) {
		kernel.MultiplyRight(out, in[0], in[1], live(), outputs, inputs)
	}}).apply(d, w)
}

// columnSums returns the sum of the live rows of d, shape [1, cols].
func columnSums(d *gorgonia.Node, live Rows) *gorgonia.Node {
	_, cols := size(d)
	return (&operation{name: "column sums", rows: 1, cols: cols, run: func(in [][]float32, out []float32) {
		clear(out)
		kernel.SumRows(out, in[0], live(), nil)
	}}).apply(d)
}

// Linear is act(x·w + bias): x is [rows, in], w is [in, out], bias is [1, out].
// Without inner the gradient at x is left out: x is data.
func Linear(x, w, bias *gorgonia.Node, act kernel.Activation, inner bool, live Rows) *gorgonia.Node {
	if act == kernel.GELU {
		return gelu(Linear(x, w, bias, kernel.Identity, inner, live), live)
	}
	rows, inputs := size(x)
	_, outputs := size(w)
	return (&operation{
		name: "linear", rows: rows, cols: outputs, wrt: []bool{inner, true, true},
		run: func(in [][]float32, out []float32) {
			kernel.Linear(out, in[0], in[1], in[2], live(), inputs, outputs, act)
		},
		diff: func(in gorgonia.Nodes, y, grad *gorgonia.Node) gorgonia.Nodes {
			d := activation(act, grad, y, live)
			gradients := gorgonia.Nodes{nil, weightGradient(in[0], d, live), columnSums(d, live)}
			if inner {
				gradients[0] = inputGradient(d, in[1], live)
			}
			return gradients
		},
	}).apply(x, w, bias)
}

// gelu is GELU of every value of x. Its derivative needs x, not the result, so
// it is an operation of its own.
func gelu(x *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, cols := size(x)
	return (&operation{
		name: "gelu", rows: rows, cols: cols, wrt: []bool{true},
		run: func(in [][]float32, out []float32) {
			n := live() * cols
			kernel.ApplyGELU(out[:n], in[0][:n])
		},
		diff: func(in gorgonia.Nodes, _, grad *gorgonia.Node) gorgonia.Nodes {
			d := &operation{name: "gelu gradient", rows: rows, cols: cols, run: func(in [][]float32, out []float32) {
				n := live() * cols
				kernel.Gradient(kernel.GELU, out[:n], in[0][:n], in[1][:n], nil)
			}}
			return gorgonia.Nodes{d.apply(grad, in[0])}
		},
	}).apply(x)
}

// Linear2 is act(x·w + y·v + bias) for data x and y: bias first, then x, then y.
func Linear2(x, w, y, v, bias *gorgonia.Node, act kernel.Activation, live Rows) *gorgonia.Node {
	rows, first := size(x)
	_, second := size(y)
	_, outputs := size(w)
	return (&operation{
		name: "linear of two", rows: rows, cols: outputs, wrt: []bool{false, true, false, true, true},
		run: func(in [][]float32, out []float32) {
			n := live()
			kernel.Linear(out, in[0], in[1], in[4], n, first, outputs, kernel.Identity)
			kernel.MultiplyAdd(out, in[2], in[3], n, second, outputs)
			kernel.Apply(act, out[:n*outputs])
		},
		diff: func(in gorgonia.Nodes, result, grad *gorgonia.Node) gorgonia.Nodes {
			d := activation(act, grad, result, live)
			return gorgonia.Nodes{nil, weightGradient(in[0], d, live), nil, weightGradient(in[2], d, live), columnSums(d, live)}
		},
	}).apply(x, w, y, v, bias)
}
