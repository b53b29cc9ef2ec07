package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Head2 is h·w + x·v, a number for each row: h is [rows, in], x is data
// [rows, features], w is [in, 1], v is [features, 1].
func Head2(h, w, x, v *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, width := size(h)
	_, features := size(x)
	linear := make([]float32, rows)
	return (&operation{
		name: "head of two", rows: rows, cols: 1, wrt: []bool{true, true, false, true},
		run: func(in [][]float32, out []float32) {
			n := live()
			kernel.Dots(out[:n], in[0], in[1], width)
			kernel.Dots(linear[:n], in[2], in[3], features)
			kernel.AddScaled(out[:n], linear[:n], 1)
		},
		diff: func(in gorgonia.Nodes, _, d *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{outer(d, in[1], live), weighted(d, in[0], live), nil, weighted(d, in[2], live)}
		},
	}).apply(h, w, x, v)
}

// Head is h·w + bias, a number for each row: h is [rows, in], w is [in, 1], bias
// is [1, 1].
func Head(h, w, bias *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, width := size(h)
	return (&operation{
		name: "head", rows: rows, cols: 1, wrt: []bool{true, true, true},
		run: func(in [][]float32, out []float32) {
			kernel.Dots(out[:live()], in[0], in[1], width)
			for i := range live() {
				out[i] += in[2][0]
			}
		},
		diff: func(in gorgonia.Nodes, _, d *gorgonia.Node) gorgonia.Nodes {
			return gorgonia.Nodes{outer(d, in[1], live), weighted(d, in[0], live), columnSums(d, live)}
		},
	}).apply(h, w, bias)
}

// outer returns d·wᵀ for d [rows, 1] and w [in, 1].
func outer(d, w *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, _ := size(d)
	width, _ := size(w)
	return inStrips("outer", rows, width, evenly(live, func(in [][]float32, out []float32, _, from, to int) {
		kernel.Multiply(out, in[0][from:to], in[1], to-from, 1, width)
	})).apply(d, w)
}

// weighted returns xᵀ·d, shape [in, 1], for x [rows, in] and d [rows, 1]: as
// dᵀ·x it takes whole rows.
func weighted(d, x *gorgonia.Node, live Rows) *gorgonia.Node {
	_, width := size(x)
	return (&operation{name: "weighted sum", rows: width, cols: 1, run: func(in [][]float32, out []float32) {
		clear(out)
		kernel.MultiplyAdd(out, in[0], in[1], 1, live(), width)
	}}).apply(d, x)
}
