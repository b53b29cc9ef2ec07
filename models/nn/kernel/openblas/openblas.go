//go:build openblas

package openblas

// #cgo pkg-config: openblas
// #include <cblas.h>
import "C"

import "unsafe"

func init() { C.openblas_set_num_threads(1) }

// Config returns the version of the library and the processor it was chosen for.
func Config() string {
	return C.GoString(C.openblas_get_config()) + " " + C.GoString(C.openblas_get_corename())
}

// Operand is a matrix, row-major without gaps, and whether the product takes its
// transpose.
type Operand struct {
	Data      []float32
	Cols      int // as stored
	Transpose bool
}

// MultiplyAdd adds a·b to dst, shape [m, n], where a is [m, k] and b is [k, n]
// once transposed.
func MultiplyAdd(dst []float32, a, b Operand, m, k, n int) {
	C.cblas_sgemm(C.CblasRowMajor, a.order(), b.order(), C.blasint(m), C.blasint(n), C.blasint(k),
		1, a.data(), C.blasint(a.Cols), b.data(), C.blasint(b.Cols), 1, (*C.float)(unsafe.Pointer(&dst[0])), C.blasint(n))
}

func (o Operand) data() *C.float { return (*C.float)(unsafe.Pointer(&o.Data[0])) }

func (o Operand) order() C.enum_CBLAS_TRANSPOSE {
	if o.Transpose {
		return C.CblasTrans
	}
	return C.CblasNoTrans
}
