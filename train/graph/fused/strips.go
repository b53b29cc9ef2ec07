package fused

import (
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// strips are the parts of an operation that computes some rows of its result at a
// time.
type strips struct {
	// begin computes what all rows need; nil is nothing.
	begin func(in [][]float32)
	// count returns the number of strips, span the rows of one. They cover all live
	// rows, in order.
	count func() int
	span  func(i int) (from, to int)
	// rows writes the rows of strip i, from..to of the result, to out.
	rows func(in [][]float32, out []float32, i, from, to int)
}

// run computes the result. With act it is the gradient at the results of a layer,
// results, and becomes that at its sums.
func (s *strips) run(in [][]float32, out []float32, cols int, act kernel.Activation, results []float32) {
	if s.begin != nil {
		s.begin(in)
	}
	for i := range s.count() {
		from, to := s.span(i)
		d := out[from*cols : to*cols]
		s.rows(in, d, i, from, to)
		if act != kernel.Identity {
			kernel.Gradient(act, d, d, nil, results[from*cols:to*cols])
		}
	}
}

// stripRows of a few dozen columns stay in the first-level cache.
const stripRows = 128

// evenly returns strips of stripRows that cover the live rows.
func evenly(live Rows, rows func(in [][]float32, out []float32, i, from, to int)) *strips {
	return &strips{
		count: func() int { return (live() + stripRows - 1) / stripRows },
		span:  func(i int) (from, to int) { return i * stripRows, min((i+1)*stripRows, live()) },
		rows:  rows,
	}
}

// inStrips returns the operation that computes its result by s.
func inStrips(name string, rows, cols int, s *strips) *operation {
	return &operation{name: name, rows: rows, cols: cols, strips: s, run: func(in [][]float32, out []float32) {
		s.run(in, out, cols, kernel.Identity, nil)
	}}
}

// activated returns the gradient at the sums of a layer with results y, where o's
// result is the gradient at y.
func (o *operation) activated(act kernel.Activation, y *gorgonia.Node) *gorgonia.Node {
	s, cols := o.strips, o.cols
	return (&operation{name: o.name + " activated", rows: o.rows, cols: cols, run: func(in [][]float32, out []float32) {
		s.run(in, out, cols, act, in[len(in)-1])
	}}).apply(append(slices.Clone(o.args), y)...)
}
