package kernel

// dots writes the products of the first whole values of each row, whole > 0.
func dots(dst, x, w []float32, k, whole int) {
	rows, blocks := uintptr(len(dst)), uintptr(whole/block)
	switch level {
	case AVX512:
		dotsAVX512(&dst[0], &x[0], uintptr(float*k), &w[0], rows, blocks)
	case AVX2:
		dotsAVX2(&dst[0], &x[0], uintptr(float*k), &w[0], rows, blocks)
	default:
		plainDots(dst, x, w, k, whole)
	}
}
