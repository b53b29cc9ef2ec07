package kernel

// Products too large for the caches go by blocks: part of b is copied together,
// panel by panel, and stays in the second-level cache while the rows of a pass,
// each block of which meets all of its panels.
const (
	blockColumns = 128 // of b in a block, and packedInner of its rows: 64 KiB
	blockRows    = 128 // of a
	leftRow      = 144 // values from one row of a copied block of a to the next: an odd number of cache lines, so that rows do not evict each other

	blocksFrom = 1 << 21 // multiplications: less do not pay for the copies
)

// factor is the right side of a product: element (p, j) is data[p·row + j], or
// data[j·row + p] where transposed.
type factor struct {
	data       []float32
	row        int
	transposed bool
}

// pack copies the rows from .. from+inner of n columns from column at on to dst,
// whose rows are panelColumns apart.
func (b factor) pack(dst []float32, from, inner, at, n int) {
	switch {
	case b.transposed:
		transposeInto(dst, b.data[at*b.row+from:], b.row, inner, n)
	case n == panelColumns:
		packPanel(dst, b.data[from*b.row+at:], b.row, inner)
	default:
		copyRows(dst, panelColumns, b.data[from*b.row+at:], b.row, inner, n)
	}
}

// inBlocks says whether a product goes by blocks.
func inBlocks(m, k, n int) bool {
	// From so many columns on, rows of b are apart enough to evict each other. A
	// tile of AVX-512 has twice the columns, and waits half as often.
	apart := 128
	if level == AVX512 {
		apart = 256
	}
	return level != Plain && n >= apart && m >= blockRows/4 && m*k*n >= blocksFrom
}

// addBlocks writes start + a·b to dst, shape [m, n], and raises results to floor.
func addBlocks(dst []float32, start origin, a strided, b factor, m, k, n int, floor float32) {
	var right [packedInner * blockColumns]float32
	if a.row == 1 { // columns side by side: a tile would take a piece of each of many far rows
		var left [packedInner * leftRow]float32
		addBlocksBy(left[:], right[:], dst, start, a, b, m, k, n, floor)
		return
	}
	addBlocksBy(nil, right[:], dst, start, a, b, m, k, n, floor)
}

// addBlocksBy is addBlocks with memory for a block of b and, where a is copied,
// one of a.
func addBlocksBy(left, right, dst []float32, start origin, a strided, b factor, m, k, n int, floor float32) {
	for at := 0; at < n; at += blockColumns {
		columns := min(blockColumns, n-at)
		begin := start.at(0, at)
		for from := 0; from < k; from += packedInner {
			inner := min(packedInner, k-from)
			for j := 0; j < columns; j += panelColumns {
				b.pack(right[j*packedInner:], from, inner, at+j, min(panelColumns, columns-j))
			}
			last := noFloor
			if from+inner == k {
				last = floor
			}
			for i := 0; i < m; i += blockRows {
				rows, block := min(blockRows, m-i), a.from(from).below(i)
				if left != nil {
					copyRows(left, leftRow, block.data, block.inner, inner, rows)
					block = strided{left, 1, leftRow}
				}
				for j := 0; j < columns; j += panelColumns {
					addPanel(dst[i*n+at+j:], n, begin.at(i, j), block, right[j*packedInner:], panelColumns, rows, inner, min(panelColumns, columns-j), last)
				}
			}
			begin = origin{dst[at:], n}
		}
	}
}

// copyRows copies n columns of so many rows.
func copyRows(dst []float32, dstRow int, src []float32, srcRow, rows, n int) {
	for i := range rows {
		copy(dst[i*dstRow:][:n], src[i*srcRow:][:n])
	}
}
