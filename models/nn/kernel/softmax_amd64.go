package kernel

func maximumKept(tops *[block]float32, x []float32, keep []bool) {
	switch n := uintptr(len(x) / block); level {
	case AVX512:
		maximumKeptAVX512(&tops[0], &x[0], &keep[0], n)
	case AVX2:
		maximumKeptAVX2(&tops[0], &x[0], &keep[0], n)
	default:
		plainMaximumKept(tops, x, keep)
	}
}

func expSumKept(sums *[block]float32, x []float32, keep []bool, top float32) {
	switch n := uintptr(len(x) / block); level {
	case AVX512:
		expSumKeptAVX512(&sums[0], &x[0], &keep[0], top, n)
	case AVX2:
		expSumKeptAVX2(&sums[0], &x[0], &keep[0], top, n)
	default:
		plainExpSumKept(sums, x, keep, top)
	}
}

func logSoftmaxKept(y, x []float32, keep []bool, logSum float32) {
	var unused [block]float32
	switch n := uintptr(len(y) / block); level {
	case AVX512:
		logSoftmaxKeptAVX512(&unused[0], &y[0], &x[0], &keep[0], logSum, low, n)
	case AVX2:
		logSoftmaxKeptAVX2(&unused[0], &y[0], &x[0], &keep[0], logSum, low, n)
	default:
		plainLogSoftmaxKept(y, x, keep, logSum)
	}
}

func logSoftmaxGradientKept(dx, dy, y []float32, keep []bool, total float32) {
	var unused [block]float32
	switch n := uintptr(len(dx) / block); level {
	case AVX512:
		logSoftmaxGradientKeptAVX512(&unused[0], &dx[0], &dy[0], &y[0], &keep[0], total, n)
	case AVX2:
		logSoftmaxGradientKeptAVX2(&unused[0], &dx[0], &dy[0], &y[0], &keep[0], total, n)
	default:
		plainLogSoftmaxGradientKept(dx, dy, y, keep, total)
	}
}
