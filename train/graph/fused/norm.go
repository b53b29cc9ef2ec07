package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// LayerNorm gives every row of x, [rows, width], mean 0 and variance 1, then
// multiplies by gain and adds shift, both [1, width].
func LayerNorm(x, gain, shift *gorgonia.Node, live Rows) *gorgonia.Node {
	rows, width := size(x)
	return (&operation{
		name: "layer norm", rows: rows, cols: width, wrt: []bool{true, true, true},
		run: func(in [][]float32, out []float32) {
			kernel.LayerNorm(out, in[0], in[1], in[2], live(), width)
		},
		diff: func(in gorgonia.Nodes, _, grad *gorgonia.Node) gorgonia.Nodes {
			dGain, dShift := make([]float32, width), make([]float32, width)
			dx := (&operation{name: "layer norm gradient", rows: rows, cols: width, run: func(in [][]float32, out []float32) {
				clear(dGain)
				clear(dShift)
				kernel.LayerNormGradient(out, dGain, dShift, in[0], in[1], in[2], live(), width)
			}}).apply(grad, in[0], in[1])
			return gorgonia.Nodes{dx, after(dx, dGain), after(dx, dShift)}
		},
	}).apply(x, gain, shift)
}

// after returns the row that computing d leaves in sums.
func after(d *gorgonia.Node, sums []float32) *gorgonia.Node {
	return (&operation{name: "left behind", rows: 1, cols: len(sums), run: func(_ [][]float32, out []float32) {
		copy(out, sums)
	}}).apply(d)
}
