//go:build !amd64

package kernel

func sumRows(dst, x []float32, width int, keep []bool, columns int) {
	plainSumRows(dst[:columns], x, width, keep)
}

func maxRows(dst, x []float32, width int, keep []bool, columns int) {
	plainMaxRows(dst[:columns], x, width, keep)
}

func addToRows(x, row []float32, width int, keep []bool) { plainAddToRows(x, row, width, keep) }

func expDoubles(dst, x []float64) { plainExpDoubles(dst, x) }

func sumSquares(sums *[block]float64, x []float32) { plainSumSquares(sums, x) }
