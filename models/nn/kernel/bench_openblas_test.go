//go:build openblas

package kernel

import (
	"testing"

	"github.com/yardmaster/yardmaster/models/nn/kernel/openblas"
)

func init() {
	others = append(others, library{
		name: "openblas",
		plain: func(dst, a, b []float32, m, k, n int) {
			openblas.MultiplyAdd(dst, openblas.Operand{Data: a, Cols: k}, openblas.Operand{Data: b, Cols: n}, m, k, n)
		},
		left: func(dst, a, b []float32, m, k, n int) {
			openblas.MultiplyAdd(dst, openblas.Operand{Data: a, Cols: m, Transpose: true}, openblas.Operand{Data: b, Cols: n}, m, k, n)
		},
		right: func(dst, a, b []float32, m, k, n int) {
			openblas.MultiplyAdd(dst, openblas.Operand{Data: a, Cols: k}, openblas.Operand{Data: b, Cols: k, Transpose: true}, m, k, n)
		},
	})
}

// Both libraries give the same products, in all three forms and odd shapes.
func TestProductsEqualOpenBLAS(t *testing.T) {
	t.Log(openblas.Config())
	productsAgree(t, others[len(others)-1])
}
