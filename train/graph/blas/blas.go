// Package blas puts the kernels of models/nn behind the BLAS interface of
// Gorgonia, so that its own operations use them, too: MatMul of float32 is
// several times faster than with gonum.
//
// Products without gaps between rows go to the kernels, with alpha 1 and beta 0 or
// 1, which is all that Gorgonia asks for; anything else is gonum's.
package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Implementation is a BLAS: gonum's but for float32's products.
type Implementation struct{ gonum.Implementation }

// Use makes Gorgonia compute with the kernels, in the whole process: it must not be
// called while a graph runs.
func Use() { gorgonia.Use(Implementation{}) }

// Sgemm computes c = alpha·op(a)·op(b) + beta·c, where op is the transpose or not: op(a) is
// [m, k], op(b) is [k, n], and rows are lda, ldb and ldc values apart.
func (x Implementation) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	product := form(tA, tB, beta)
	if product == nil || alpha != 1 || lda != stored(tA, m, k) || ldb != stored(tB, k, n) || ldc != n || len(a) < m*k || len(b) < k*n || len(c) < m*n {
		x.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	product(c, a, b, m, k, n)
}

// stored returns how many columns a matrix, [rows, columns] once transposed, has
// in memory.
func stored(t blas.Transpose, rows, columns int) int {
	if t == blas.NoTrans {
		return columns
	}
	return rows
}

// form returns the kernel that computes the product, nil where there is none.
func form(tA, tB blas.Transpose, beta float32) func(dst, a, b []float32, m, k, n int) {
	switch left, right := tA != blas.NoTrans, tB != blas.NoTrans; {
	case left && right || beta != 0 && beta != 1:
		return nil
	case left && beta == 1:
		return kernel.MultiplyAddLeft
	case left:
		return func(dst, a, b []float32, m, k, n int) {
			clear(dst[:m*n])
			kernel.MultiplyAddLeft(dst, a, b, m, k, n)
		}
	case right && beta == 1:
		return kernel.MultiplyAddRight
	case right:
		return kernel.MultiplyRight
	case beta == 1:
		return kernel.MultiplyAdd
	}
	return kernel.Multiply
}

// Sgemv computes y = alpha·op(a)·x + beta·y, where a is [m, n] in memory.
func (x Implementation) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, v []float32, incX int, beta float32, y []float32, incY int) {
	switch {
	case alpha != 1 || beta != 0 || lda != n || incX != 1 || incY != 1 || len(a) < m*n:
	case tA == blas.NoTrans && len(v) >= n && len(y) >= m:
		kernel.Dots(y[:m], a, v, n)
		return
	case tA != blas.NoTrans && len(v) >= m && len(y) >= n:
		kernel.Multiply(y, v, a, 1, m, n)
		return
	}
	x.Implementation.Sgemv(tA, m, n, alpha, a, lda, v, incX, beta, y, incY)
}

// Sdot returns the product of two vectors.
func (x Implementation) Sdot(n int, v []float32, incX int, w []float32, incY int) float32 {
	if incX != 1 || incY != 1 || n < 1 || len(v) < n || len(w) < n {
		return x.Implementation.Sdot(n, v, incX, w, incY)
	}
	var sum [1]float32
	kernel.Dots(sum[:], v, w, n)
	return sum[0]
}
