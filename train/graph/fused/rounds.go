package fused

import (
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// roundSums returns the sum of d's rows over each round, shape [rounds, cols].
func roundSums(d *gorgonia.Node, rounds int, l *Layout) *gorgonia.Node {
	_, cols := size(d)
	return (&operation{name: "round sums", rows: rounds, cols: cols, run: func(in [][]float32, out []float32) {
		l.sums(out, in[0], cols)
	}}).apply(d)
}

// Spread is relu(x·w + u of the row's round): x is data [rows, in], w is
// [in, out], u is [rounds, out].
func Spread(x, w, u *gorgonia.Node, l *Layout) *gorgonia.Node {
	rows, inputs := size(x)
	_, outputs := size(w)
	rounds, _ := size(u)
	return (&operation{
		name: "spread", rows: rows, cols: outputs, wrt: []bool{false, true, true},
		run: func(in [][]float32, out []float32) { spread(out, in[0], in[1], in[2], inputs, outputs, l) },
		diff: func(in gorgonia.Nodes, y, grad *gorgonia.Node) gorgonia.Nodes {
			d := activation(kernel.ReLU, grad, y, l.Rows)
			return gorgonia.Nodes{nil, weightGradient(in[0], d, l.Rows), roundSums(d, rounds, l)}
		},
	}).apply(x, w, u)
}

func spread(out, x, w, u []float32, inputs, outputs int, l *Layout) {
	for r := range l.Rounds() {
		from, to := l.span(r)
		kernel.Linear(out[from*outputs:], x[from*inputs:], w, u[r*outputs:], to-from, inputs, outputs, kernel.ReLU)
	}
}

// Pool is the mean of h's rows, [rows, width], over the legal candidates of each
// round, [rounds, width]. It has no derivative of its own: that is part of
// [Context]'s.
func Pool(h *gorgonia.Node, rounds int, l *Layout) *gorgonia.Node {
	_, cols := size(h)
	return (&operation{name: "pool", rows: rounds, cols: cols, run: func(in [][]float32, out []float32) {
		l.pool(out, in[0], cols)
	}}).apply(h)
}

// Context is relu(h·w + (c·v + bias) of the row's round), where c must be
// Pool(h): h is [rows, in], w and v are [in, out], bias is [1, out]. The
// gradient at h is the one along both paths.
func Context(h, c, w, v, bias *gorgonia.Node, l *Layout) *gorgonia.Node {
	rows, inputs := size(h)
	_, outputs := size(w)
	rounds, _ := size(c)
	u := make([]float32, rounds*outputs)
	return (&operation{
		name: "context", rows: rows, cols: outputs, wrt: []bool{true, false, true, true, true},
		run: func(in [][]float32, out []float32) {
			kernel.Linear(u, in[1], in[3], in[4], l.Rounds(), inputs, outputs, kernel.Identity)
			spread(out, in[0], in[2], u, inputs, outputs, l)
		},
		diff: func(in gorgonia.Nodes, y, grad *gorgonia.Node) gorgonia.Nodes {
			d := activation(kernel.ReLU, grad, y, l.Rows)
			s := roundSums(d, rounds, l)
			return gorgonia.Nodes{
				pooledGradient(d, s, in[2], in[3], l), nil, weightGradient(in[0], d, l.Rows), weightGradient(in[1], s, l.Rounds), columnSums(s, l.Rounds),
			}
		},
	}).apply(h, c, w, v, bias)
}

// pooledGradient returns the gradient at Context's h: d·wᵀ along the rows, and
// s·vᵀ, where s are d's sums, along the means.
func pooledGradient(d, s, w, v *gorgonia.Node, l *Layout) *gorgonia.Node {
	rows, outputs := size(d)
	rounds, _ := size(s)
	inputs, _ := size(w)
	mean := make([]float32, rounds*inputs)
	return inStrips("pooled gradient", rows, inputs, &strips{
		begin: func(in [][]float32) {
			kernel.MultiplyRight(mean, in[1], in[3], l.Rounds(), outputs, inputs)
		},
		count: l.Rounds,
		span:  l.span,
		rows: func(in [][]float32, out []float32, r, from, to int) {
			kernel.MultiplyRight(out, in[0][from*outputs:], in[2], to-from, outputs, inputs)
			kernel.MeanRowsGradient(out, mean[r*inputs:][:inputs], l.mask[from:to])
		},
	}).apply(d, s, w, v)
}
