package nn

import "github.com/yardmaster/yardmaster/models/nn/kernel"

// transpose returns the transpose of w, shape [rows, cols].
func transpose(w []float32, rows, cols int) []float32 {
	t := make([]float32, len(w))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = w[i*cols+j]
		}
	}
	return t
}

// MeanRows writes to dst, shape [out], the mean of the rows of x, shape
// [n, out], where mask holds: of all rows where it holds nowhere, 0 without any.
func MeanRows(dst, x []float32, mask []bool) { kernel.MeanRows(dst, x, mask) }
