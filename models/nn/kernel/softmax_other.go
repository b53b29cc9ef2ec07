//go:build !amd64

package kernel

func maximumKept(tops *[block]float32, x []float32, keep []bool) { plainMaximumKept(tops, x, keep) }

func expSumKept(sums *[block]float32, x []float32, keep []bool, top float32) {
	plainExpSumKept(sums, x, keep, top)
}

func logSoftmaxKept(y, x []float32, keep []bool, logSum float32) {
	plainLogSoftmaxKept(y, x, keep, logSum)
}

func logSoftmaxGradientKept(dx, dy, y []float32, keep []bool, total float32) {
	plainLogSoftmaxGradientKept(dx, dy, y, keep, total)
}
