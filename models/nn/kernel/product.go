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

// origin is what a product is added to: element (i, j) is data[i·row + j]. With
// row 0 all rows are one: a bias.
type origin struct {
	data []float32
	row  int
}

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
	// Rows of a and b come by in parts that stay in the second-level cache while
	// every tile of the result passes.
	rows := max(leftRows, leftValues/max(1, m+n))
	for from := 0; from < k; from += rows {
		addProduct(dst, origin{dst, n}, strided{a[from*m:], 1, m}, b[from*n:], m, min(rows, k-from), n, noFloor)
	}
}

const (
	leftValues = 1 << 16 // of a and b in a part: 256 KiB
	leftRows   = 64      // at least, so that sums do not go to memory and back too often
)

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
		begin := origin{start.data[at:], start.row}
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
	packFrom     = 256 // from so many columns on, rows of b are apart enough to evict each other
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
			addPanel(dst[at:], n, origin{start.data[at:], start.row}, a, b[at:], n, 1, k, min(panelColumns, n-at), floor)
		}
	case n >= packFrom && m > 2*rowsOfATile:
		addPacked(dst, start, a, b, m, k, n, floor)
	default:
		for i := 0; i < m; i += rowBlock {
			rows := min(rowBlock, m-i)
			for at := 0; at < n; at += panelColumns {
				addPanel(dst[i*n+at:], n, origin{start.data[i*start.row+at:], start.row}, strided{a.data[i*a.row:], a.row, a.inner}, b[min(at, len(b)):], n, rows, k, min(panelColumns, n-at), floor)
			}
		}
	}
}

// rowsOfATile are the rows of the largest tile.
const rowsOfATile = 14

// addPacked is addProduct with the panels of b copied together first.
func addPacked(dst []float32, start origin, a strided, b []float32, m, k, n int, floor float32) {
	var packed [packedInner * panelColumns]float32
	for at := 0; at < n; at += panelColumns {
		columns := min(panelColumns, n-at)
		begin := origin{start.data[at:], start.row}
		for from := 0; from == 0 || from < k; from += packedInner {
			inner := min(packedInner, k-from)
			for p := range inner {
				copy(packed[p*panelColumns:][:columns], b[(from+p)*n+at:])
			}
			last := noFloor
			if from+inner == k {
				last = floor
			}
			addPanel(dst[at:], n, begin, strided{a.data[min(from*a.inner, len(a.data)):], a.row, a.inner}, packed[:], panelColumns, m, inner, columns, last)
			begin = origin{dst[at:], n}
		}
	}
}
