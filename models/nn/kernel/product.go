package kernel

import (
	"math"
	"slices"
)

// noFloor keeps every sum as it is.
var noFloor = float32(math.Inf(-1))

// strided is a matrix in memory: element (i, p) is data[i·row + p·inner].
type strided struct {
	data       []float32
	row, inner int
}

// from returns the matrix from column p on.
func (a strided) from(p int) strided {
	return strided{a.data[min(p*a.inner, len(a.data)):], a.row, a.inner}
}

// below returns the matrix from row i on.
func (a strided) below(i int) strided {
	return strided{a.data[i*a.row:], a.row, a.inner}
}

// origin is what a product is added to: element (i, j) is data[i·row + j]. With
// row 0 all rows are one: a bias.
type origin struct {
	data []float32
	row  int
}

// at returns it from element (i, j) on.
func (o origin) at(i, j int) origin { return origin{o.data[i*o.row+j:], o.row} }

// Multiply writes a·b to dst: a is [m, k], b is [k, n], dst is [m, n].
func Multiply(dst, a, b []float32, m, k, n int) {
	check(dst, m*n, a, m*k, b, k*n)
	if n > len(zeros) {
		clear(dst[:m*n])
		addProduct(dst, origin{dst, n}, strided{a, k, 1}, b, m, k, n, noFloor)
		return
	}
	addProduct(dst, origin{zeros[:], 0}, strided{a, k, 1}, b, m, k, n, noFloor)
}

// zeros is where products begin that are not added to anything.
var zeros [1024]float32

// MultiplyAdd adds a·b to dst: a is [m, k], b is [k, n], dst is [m, n].
func MultiplyAdd(dst, a, b []float32, m, k, n int) {
	check(dst, m*n, a, m*k, b, k*n)
	addProduct(dst, origin{dst, n}, strided{a, k, 1}, b, m, k, n, noFloor)
}

// MultiplyAddLeft adds aᵀ·b to dst: a is [k, m], b is [k, n], dst is [m, n]. It
// is the gradient of a linear layer's weight, summed over k rows.
func MultiplyAddLeft(dst, a, b []float32, m, k, n int) {
	check(dst, m*n, a, k*m, b, k*n)
	if level != Plain && 0 < n && n <= fewColumns && n < m && k > 0 {
		multiplyAddLeftNarrow(dst, a, b, m, k, n)
		return
	}
	left := strided{a, 1, m}
	if inBlocks(m, k, n) {
		addBlocks(dst, origin{dst, n}, left, factor{b, n, false}, m, k, n, noFloor)
		return
	}
	// Rows of a and b come by in parts that stay in the cache while every tile of
	// the result passes.
	rows := max(leftRows, leftValues()/max(1, m+n))
	for from := 0; from < k; from += rows {
		addProduct(dst, origin{dst, n}, left.from(from), b[from*n:], m, min(rows, k-from), n, noFloor)
	}
}

// leftRows are in a part at least, so that sums do not go to memory and back too
// often.
const leftRows = 64

// leftValues is how many values of a and b are in a part. The small tile of AVX2
// reads a line of each for every 12 multiplications, which takes as long from the
// second-level cache: a part has to stay in the first.
func leftValues() int {
	if level == AVX2 {
		return 1 << 13
	}
	return 1 << 16
}

// fewColumns are so few that most of a vector along them would be wasted.
const fewColumns = 8

// multiplyAddLeftNarrow is MultiplyAddLeft for n <= fewColumns: vectors lie along
// the rows of the result, whose transpose is computed panel by panel. Sums run in
// the same order.
func multiplyAddLeftNarrow(dst, a, b []float32, m, k, n int) {
	var panel [fewColumns * panelColumns]float32
	for at := 0; at < m; at += panelColumns {
		rows := min(panelColumns, m-at)
		for i := range rows {
			for j, x := range dst[(at+i)*n:][:n] {
				panel[j*panelColumns+i] = x
			}
		}
		addPanel(panel[:], panelColumns, origin{panel[:], panelColumns}, strided{b, 1, n}, a[at:], m, n, k, rows, noFloor)
		for i := range rows {
			for j := range n {
				dst[(at+i)*n+j] = panel[j*panelColumns+i]
			}
		}
	}
}

// MultiplyAddRight adds a·bᵀ to dst: a is [m, k], b is [n, k], dst is [m, n].
func MultiplyAddRight(dst, a, b []float32, m, k, n int) {
	check(dst, m*n, a, m*k, b, n*k)
	addProductRight(dst, origin{dst, n}, a, b, m, k, n)
}

// MultiplyRight writes a·bᵀ to dst: a is [m, k], b is [n, k], dst is [m, n].
func MultiplyRight(dst, a, b []float32, m, k, n int) {
	check(dst, m*n, a, m*k, b, n*k)
	if n > len(zeros) || level == Plain || k == 0 {
		clear(dst[:m*n])
		addProductRight(dst, origin{dst, n}, a, b, m, k, n)
		return
	}
	addProductRight(dst, origin{zeros[:], 0}, a, b, m, k, n)
}

// addProductRight writes start + a·bᵀ to dst, by panels of b transposed.
func addProductRight(dst []float32, start origin, a, b []float32, m, k, n int) {
	switch {
	case m == 0 || k == 0 || n == 0:
		return
	case level == Plain:
		plainProductRight(dst, a, b, m, k, n)
		return
	case inBlocks(m, k, n):
		addBlocks(dst, start, strided{a, k, 1}, factor{b, k, true}, m, k, n, noFloor)
		return
	}
	if k <= packedInner/2 { // to clear memory takes time, too
		var packed [packedInner / 2 * panelColumns]float32
		addPanelsRight(dst, start, a, b, packed[:], m, k, n)
		return
	}
	var packed [packedInner * panelColumns]float32
	addPanelsRight(dst, start, a, b, packed[:], m, k, n)
}

func addPanelsRight(dst []float32, start origin, a, b, packed []float32, m, k, n int) {
	for at := 0; at < n; at += panelColumns {
		columns := min(panelColumns, n-at)
		begin := start.at(0, at)
		for from := 0; from < k; from += packedInner {
			inner := min(packedInner, k-from)
			transposeInto(packed, b[at*k+from:], k, inner, columns)
			addPanel(dst[at:], n, begin, strided{a[from:], k, 1}, packed, panelColumns, m, inner, columns, noFloor)
			begin = origin{dst[at:], n}
		}
	}
}

// Linear writes x·w + bias to dst, shape [n, out], for x [n, in], w [in, out]
// and bias [out], then applies act.
func Linear(dst, x, w, bias []float32, n, in, out int, act Activation) {
	check(dst, n*out, x, n*in, w, in*out)
	floor := noFloor
	if act == ReLU {
		floor = 0
	}
	addProduct(dst, origin{bias[:out], 0}, strided{x, in, 1}, w, n, in, out, floor)
	if act != ReLU {
		Apply(act, dst[:n*out])
	}
}

// check panics where a slice is shorter than its shape.
func check(dst []float32, nDst int, a []float32, nA int, b []float32, nB int) {
	_, _, _ = slices.Clip(dst)[:nDst], a[:nA], b[:nB]
}

const (
	rowColumns   = 64  // of a product of a single row: enough sums to hide the time of an addition
	panelColumns = 32  // of a product in one pass: two vectors of AVX-512
	rowBlock     = 112 // rows whose part of a stays in the first-level cache while panels pass
	packedInner  = 128 // rows of a packed panel: 16 KiB with panelColumns
)

// addProduct writes start + a·b to dst and raises results to floor: b is [k, n].
func addProduct(dst []float32, start origin, a strided, b []float32, m, k, n int, floor float32) {
	switch {
	case m == 0 || n == 0:
	case level == Plain:
		for i := range m {
			copy(dst[i*n:][:n], start.data[i*start.row:])
		}
		plainProduct(dst, n, a, b, n, m, k, n, floor)
	case m == 1 && n >= rowColumns && k > 0:
		whole := n - n%rowColumns
		for at := 0; at < whole; at += rowColumns {
			rowPanel(dst[at:], start.data[at:], a, b[at:], n, k, floor)
		}
		for at := whole; at < n; at += panelColumns {
			addPanel(dst[at:], n, start.at(0, at), a, b[at:], n, 1, k, min(panelColumns, n-at), floor)
		}
	case inBlocks(m, k, n):
		addBlocks(dst, start, a, factor{b, n, false}, m, k, n, floor)
	default:
		for i := 0; i < m; i += rowBlock {
			rows := min(rowBlock, m-i)
			for at := 0; at < n; at += panelColumns {
				addPanel(dst[i*n+at:], n, start.at(i, at), a.below(i), b[min(at, len(b)):], n, rows, k, min(panelColumns, n-at), floor)
			}
		}
	}
}
