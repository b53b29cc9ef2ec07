package kernel

// sumRows adds columns of the rows of x that keep keeps to dst: one block or two.
func sumRows(dst, x []float32, width int, keep []bool, columns int) {
	row, rows := uintptr(float*width), uintptr(len(keep))
	switch {
	case level == AVX512 && columns == block:
		sumRowsAVX512(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX512:
		sumWideRowsAVX512(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX2 && columns == block:
		sumRowsAVX2(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX2:
		sumWideRowsAVX2(&dst[0], &x[0], row, &keep[0], rows)
	default:
		plainSumRows(dst[:columns], x, width, keep)
	}
}

// maxRows raises columns of dst to the rows of x that keep keeps.
func maxRows(dst, x []float32, width int, keep []bool, columns int) {
	row, rows := uintptr(float*width), uintptr(len(keep))
	switch {
	case level == AVX512 && columns == block:
		maxRowsAVX512(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX512:
		maxWideRowsAVX512(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX2 && columns == block:
		maxRowsAVX2(&dst[0], &x[0], row, &keep[0], rows)
	case level == AVX2:
		maxWideRowsAVX2(&dst[0], &x[0], row, &keep[0], rows)
	default:
		plainMaxRows(dst[:columns], x, width, keep)
	}
}

// addToRows adds row, one block or two, to the rows of x that keep keeps.
func addToRows(x, row []float32, width int, keep []bool) {
	apart, rows := uintptr(float*width), uintptr(len(keep))
	switch {
	case level == AVX512 && len(row) == block:
		addToRowsAVX512(&row[0], &x[0], apart, &keep[0], rows)
	case level == AVX512:
		addToWideRowsAVX512(&row[0], &x[0], apart, &keep[0], rows)
	case level == AVX2 && len(row) == block:
		addToRowsAVX2(&row[0], &x[0], apart, &keep[0], rows)
	case level == AVX2:
		addToWideRowsAVX2(&row[0], &x[0], apart, &keep[0], rows)
	default:
		plainAddToRows(x, row, width, keep)
	}
}

// expDoubles is ApplyExp64 for whole vectors: len(dst) is a multiple of 8.
func expDoubles(dst, x []float64) {
	switch n := uintptr(len(dst)); level {
	case AVX512:
		expDoublesAVX512(&dst[0], &x[0], n/8)
	case AVX2:
		expDoublesAVX2(&dst[0], &x[0], n/4)
	default:
		plainExpDoubles(dst, x)
	}
}

// sumSquares adds the squares of whole blocks to their places in a block.
func sumSquares(sums *[block]float64, x []float32) {
	switch n := uintptr(len(x) / block); level {
	case AVX512:
		sumSquaresAVX512(&sums[0], &x[0], n)
	case AVX2:
		sumSquaresAVX2(&sums[0], &x[0], n)
	default:
		plainSumSquares(sums, x)
	}
}
