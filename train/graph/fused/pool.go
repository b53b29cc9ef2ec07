package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Mean is the mean of h's rows, [rows, width], over the legal candidates of each
// round, of all where none is legal: [rounds, width]. Unlike [Pool]'s its derivative is
// its own.
func Mean(h *gorgonia.Node, rounds int, l *Layout) *gorgonia.Node {
	rows, cols := size(h)
	return (&operation{
		name: "mean", rows: rounds, cols: cols, wrt: []bool{true},
		run: func(in [][]float32, out []float32) { l.pool(out, in[0], cols) },
		diff: func(_ gorgonia.Nodes, _, grad *gorgonia.Node) gorgonia.Nodes {
			d := &operation{name: "mean gradient", rows: rows, cols: cols, run: func(in [][]float32, out []float32) {
				clear(out[:l.Rows()*cols])
				l.unpool(out, in[0], cols)
			}}
			return gorgonia.Nodes{d.apply(grad)}
		},
	}).apply(h)
}

// Max is the greatest value of each column of h, [rows, width], over the legal
// candidates of each round, over all where none is legal: [rounds, width]. The
// gradient goes to the first row that holds it.
func Max(h *gorgonia.Node, rounds int, l *Layout) *gorgonia.Node {
	rows, cols := size(h)
	return (&operation{
		name: "max", rows: rounds, cols: cols, wrt: []bool{true},
		run: func(in [][]float32, out []float32) {
			for r := range l.Rounds() {
				from, to := l.span(r)
				kernel.MaxRows(out[r*cols:][:cols], in[0][from*cols:], l.mask[from:to])
			}
		},
		diff: func(in gorgonia.Nodes, y, grad *gorgonia.Node) gorgonia.Nodes {
			d := &operation{name: "max gradient", rows: rows, cols: cols, run: func(in [][]float32, out []float32) {
				clear(out[:l.Rows()*cols])
				for r := range l.Rounds() {
					from, to := l.span(r)
					kernel.MaxRowsGradient(out[from*cols:], in[0][r*cols:][:cols], in[1][from*cols:], in[2][r*cols:][:cols], l.mask[from:to])
				}
			}}
			return gorgonia.Nodes{d.apply(grad, in[0], y)}
		},
	}).apply(h)
}
