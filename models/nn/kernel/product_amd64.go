package kernel

const (
	float  = 4 // bytes of a float32
	narrow = 16
)

// addPanel writes start + a·b to n <= panelColumns columns of dst, whose rows are
// dstRow values apart like those of b bRow, and raises the results to floor.
func addPanel(dst []float32, dstRow int, start origin, a strided, b []float32, bRow, m, k, n int, floor float32) {
	switch {
	case k == 0:
		for i := range m {
			copy(dst[i*dstRow:][:n], start.data[i*start.row:])
		}
		raise(dst, dstRow, m, n, floor)
	case level == AVX512 && n <= narrow:
		narrowProductAVX512(&dst[0], uintptr(float*dstRow), &start.data[0], uintptr(float*start.row), &a.data[0], uintptr(float*a.row), uintptr(float*a.inner),
			&b[0], uintptr(float*bRow), uintptr(m), uintptr(k), floor, uint32(1<<n-1))
	case level == AVX512 && n == panelColumns:
		wholeProductAVX512(&dst[0], uintptr(float*dstRow), &start.data[0], uintptr(float*start.row), &a.data[0], uintptr(float*a.row), uintptr(float*a.inner),
			&b[0], uintptr(float*bRow), uintptr(m), uintptr(k), floor)
	case level == AVX512:
		productAVX512(&dst[0], uintptr(float*dstRow), &start.data[0], uintptr(float*start.row), &a.data[0], uintptr(float*a.row), uintptr(float*a.inner),
			&b[0], uintptr(float*bRow), uintptr(m), uintptr(k), floor, uint32(1<<n-1))
	default:
		for at := 0; at < n; at += narrow {
			if n-at >= narrow {
				narrowPanel(dst[at:], dstRow, origin{start.data[at:], start.row}, a, b[at:], bRow, m, k, floor)
			} else {
				edgePanel(dst[at:], dstRow, origin{start.data[at:], start.row}, a, b[at:], bRow, m, k, n-at, floor)
			}
		}
	}
}

// rowPanel is addPanel for one row and rowColumns columns.
func rowPanel(dst, start []float32, a strided, b []float32, bRow, k int, floor float32) {
	product := rowProductAVX2
	if level == AVX512 {
		product = rowProductAVX512
	}
	product(&dst[0], 0, &start[0], 0, &a.data[0], 0, uintptr(float*a.inner), &b[0], uintptr(float*bRow), 1, uintptr(k), floor)
}

// narrowPanel is addPanel for 16 columns.
func narrowPanel(dst []float32, dstRow int, start origin, a strided, b []float32, bRow, m, k int, floor float32) {
	productAVX2(&dst[0], uintptr(float*dstRow), &start.data[0], uintptr(float*start.row), &a.data[0], uintptr(float*a.row), uintptr(float*a.inner),
		&b[0], uintptr(float*bRow), uintptr(m), uintptr(k), floor)
}

// edgePanel is addPanel for n < 16 columns, by way of copies with 16.
func edgePanel(dst []float32, dstRow int, start origin, a strided, b []float32, bRow, m, k, n int, floor float32) {
	var right [packedInner * narrow]float32
	var sums [rowBlock * narrow]float32
	for i := 0; i < m; i += rowBlock {
		rows := min(rowBlock, m-i)
		copyRows(sums[:], narrow, start.data[i*start.row:], start.row, rows, n)
		for from := 0; from < k; from += packedInner {
			inner := min(packedInner, k-from)
			copyRows(right[:], narrow, b[from*bRow:], bRow, inner, n)
			last := noFloor
			if from+inner == k {
				last = floor
			}
			narrowPanel(sums[:], narrow, origin{sums[:], narrow}, strided{a.data[i*a.row+from*a.inner:], a.row, a.inner}, right[:], narrow, rows, inner, last)
		}
		copyRows(dst[i*dstRow:], dstRow, sums[:], narrow, rows, n)
	}
}

// packPanel copies panelColumns columns of rows > 0 rows that are srcRow values
// apart to rows side by side.
func packPanel(dst, src []float32, srcRow, rows int) {
	_, _ = dst[:rows*panelColumns], src[:(rows-1)*srcRow+panelColumns]
	copyPanelAVX2(&dst[0], &src[0], uintptr(float*srcRow), uintptr(rows))
}

// transposeInto writes the transpose of src, columns rows of inner values that
// are srcRow apart, to dst, whose rows are panelColumns apart: by squares of 8
// and, at the edges, value by value.
func transposeInto(dst, src []float32, srcRow, inner, columns int) {
	whole := 0
	if level != Plain && inner >= square {
		for ; whole+square <= columns; whole += square {
			transposeAVX2(&dst[whole], float*panelColumns, &src[whole*srcRow], uintptr(float*srcRow), uintptr(inner/square))
			plainTranspose(dst[whole:], src[whole*srcRow:], srcRow, inner-inner%square, inner, square)
		}
	}
	if whole < columns {
		plainTranspose(dst[whole:], src[whole*srcRow:], srcRow, 0, inner, columns-whole)
	}
}

// square is the side of what transposeAVX2 transposes at a time.
const square = 8
