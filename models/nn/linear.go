package nn

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// stripRows and stripColumns bound the result of one call of gonum's product:
// from 4 blocks of 64 × 64 on it would start goroutines and allocate.
const (
	stripRows    = 128
	stripColumns = 64
)

// addProduct adds x·w to dst: x is [n, in], w is [in, out], dst is [n, out]. It
// is fastest where x holds zeros, as flags and rectified vectors do.
func addProduct(dst, x, w []float32, in, out int) {
	for n := len(dst) / out; n > 0; n = len(dst) / out {
		rows := min(n, stripRows)
		for at := 0; at < out; at += stripColumns {
			columns := min(stripColumns, out-at)
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, rows, columns, in, 1, x, in, w[at:], out, 1, dst[at:], out)
		}
		x, dst = x[rows*in:], dst[rows*out:]
	}
}

// addRows adds v, shape [out], to every row of dst, shape [n, out].
func addRows(dst, v []float32) {
	for len(dst) > 0 {
		for i, a := range v {
			dst[i] += a
		}
		dst = dst[len(v):]
	}
}

// setRows sets every row of dst, shape [n, out], to v, shape [out].
func setRows(dst, v []float32) {
	for len(dst) > 0 {
		copy(dst, v)
		dst = dst[len(v):]
	}
}

// relu replaces negative values by 0 and keeps NaN, so that a fault shows.
func relu(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

func dot(a, b []float32) float32 {
	sum := float32(0)
	for i, x := range a {
		sum += float32(x * b[i]) // the conversion forbids fusing: same bits on every processor
	}
	return sum
}

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
func MeanRows(dst, x []float32, mask []bool) {
	clear(dst)
	out, n := len(dst), 0
	for i, legal := range mask {
		if legal {
			addRows(dst, x[i*out:][:out])
			n++
		}
	}
	if n == 0 {
		for i := range mask {
			addRows(dst, x[i*out:][:out])
		}
		n = max(1, len(mask))
	}
	for i := range dst {
		dst[i] /= float32(n)
	}
}
