package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// LogSoftmax is the logarithm of each round's softmax over its legal rows, for
// scores [rows, 1]. Rows that are not legal get 0, not −Inf, so that a loss may
// weigh them with 0; their gradient is exactly 0, whatever comes back.
func LogSoftmax(scores *gorgonia.Node, l *Layout) *gorgonia.Node {
	rows, _ := size(scores)
	return (&operation{
		name: "log-softmax", rows: rows, cols: 1, wrt: []bool{true},
		run: func(in [][]float32, out []float32) {
			for r := range l.Rounds() {
				from, to := l.span(r)
				kernel.LogSoftmax(out[from:to], in[0][from:to], l.mask[from:to])
			}
			for i, legal := range l.mask {
				if !legal {
					out[i] = 0
				}
			}
		},
		diff: func(_ gorgonia.Nodes, y, grad *gorgonia.Node) gorgonia.Nodes {
			d := &operation{name: "log-softmax gradient", rows: rows, cols: 1, run: func(in [][]float32, out []float32) {
				for r := range l.Rounds() {
					from, to := l.span(r)
					kernel.LogSoftmaxGradient(out[from:to], in[0][from:to], in[1][from:to], l.mask[from:to])
				}
			}}
			return gorgonia.Nodes{d.apply(grad, y)}
		},
	}).apply(scores)
}
