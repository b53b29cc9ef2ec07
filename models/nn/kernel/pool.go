package kernel

import (
	"math"
	"slices"
)

// MeanRows writes to dst, shape [width], the mean of the rows of x, shape
// [len(mask), width], where mask holds: of all rows where it holds nowhere, 0
// without any. It returns the number of rows it is the mean of.
func MeanRows(dst, x []float32, mask []bool) (rows int) {
	mean := Mean{Any: !slices.Contains(mask, true)}
	mean.Reset(dst)
	mean.Add(dst, x, mask)
	mean.Finish(dst)
	return mean.rows
}

// Mean is MeanRows over rows that come in parts: Reset, Add for each part in
// order, Finish, all with the same dst, shape [width].
type Mean struct {
	Any  bool // all rows count, whatever the mask: it holds nowhere
	rows int
}

// Reset begins a mean.
func (m *Mean) Reset(dst []float32) {
	m.rows = 0
	clear(dst)
}

// Add counts the rows of x, shape [len(mask), width], where mask holds.
func (m *Mean) Add(dst, x []float32, mask []bool) {
	if m.Any {
		SumRows(dst, x, len(mask), nil)
		m.rows += len(mask)
		return
	}
	SumRows(dst, x, len(mask), mask)
	for _, legal := range mask {
		if legal {
			m.rows++
		}
	}
}

// Finish divides by the number of rows.
func (m *Mean) Finish(dst []float32) {
	for i := range dst {
		dst[i] /= float32(max(1, m.rows))
	}
}

// MeanRowsGradient adds to dx, shape [len(mask), width], the gradient at
// MeanRows' x, given dy [width].
func MeanRowsGradient(dx, dy []float32, mask []bool) {
	rows, n := 0, len(mask)
	for _, legal := range mask {
		if legal {
			rows++
		}
	}
	if rows == 0 {
		rows, mask = len(mask), nil
	}
	AddToRows(dx, dy, 1/float32(rows), n, mask)
}

// MaxRows writes to dst, shape [width], the greatest value of each column of x,
// shape [len(mask), width], over the rows where mask holds: over all rows where
// it holds nowhere, −Inf without any.
func MaxRows(dst, x []float32, mask []bool) {
	for i := range dst {
		dst[i] = float32(math.Inf(-1))
	}
	rows := len(mask)
	if !slices.Contains(mask, true) {
		mask = nil
	}
	raiseToRows(dst, x, rows, mask)
}

// MaxRowsGradient adds dy, shape [width], to dx, shape [len(mask), width], at
// the first row where x holds y, MaxRows' results: a subgradient where several
// do.
func MaxRowsGradient(dx, dy, x, y []float32, mask []bool) {
	width, all := len(dy), true
	for _, legal := range mask {
		all = all && !legal
	}
	for j, g := range dy {
		for i, legal := range mask {
			if (legal || all) && x[i*width+j] == y[j] {
				dx[i*width+j] += g
				break
			}
		}
	}
}
