package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// plainRows and plainColumns bound the result of one call of gonum's product:
// from 4 blocks of 64 × 64 on it would start goroutines and allocate.
const (
	plainRows    = 128
	plainColumns = 64
)

// plainProduct adds a·b to dst and raises the results to floor. Rows of dst and
// b are dstRow and bRow values apart.
func plainProduct(dst []float32, dstRow int, a strided, b []float32, bRow, m, k, n int, floor float32) {
	for i := 0; i < m; i += plainRows {
		rows := min(plainRows, m-i)
		for at := 0; at < n && k > 0; at += plainColumns {
			trans, stride := blas.NoTrans, max(a.row, k) // a single row has any distance
			if a.row == 1 && a.inner > 1 {
				trans, stride = blas.Trans, a.inner
			}
			gonum.Implementation{}.Sgemm(trans, blas.NoTrans, rows, min(plainColumns, n-at), k, 1, a.data[i*a.row:], stride, b[at:], bRow, 1, dst[i*dstRow+at:], dstRow)
		}
	}
	raise(dst, dstRow, m, n, floor)
}

// plainProductRight adds a·bᵀ to dst.
func plainProductRight(dst, a, b []float32, m, k, n int) {
	for i := 0; i < m; i += plainRows {
		for at := 0; at < n; at += plainColumns {
			gonum.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, min(plainRows, m-i), min(plainColumns, n-at), k, 1, a[i*k:], k, b[at*k:], k, 1, dst[i*n+at:], n)
		}
	}
}

// raise raises n columns of dst to floor; a NaN stays.
func raise(dst []float32, dstRow, m, n int, floor float32) {
	if floor == noFloor {
		return
	}
	for i := range m {
		for j, x := range dst[i*dstRow:][:n] {
			if x < floor {
				dst[i*dstRow+j] = floor
			}
		}
	}
}

// plainTranspose is transposeInto for the values from..inner of each row.
func plainTranspose(dst, src []float32, srcRow, from, inner, columns int) {
	for j := range columns {
		for p := from; p < inner; p++ {
			dst[p*panelColumns+j] = src[j*srcRow+p]
		}
	}
}
