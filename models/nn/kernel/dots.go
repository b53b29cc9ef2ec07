package kernel

// Dots writes to dst[i] the product of the i-th row of x, shape [len(dst), k],
// and w, shape [k]: 16 partial sums, folded in halves, then what is left of k.
func Dots(dst, x, w []float32, k int) {
	if len(dst) == 0 {
		return
	}
	_, _ = x[:len(dst)*k], w[:k]
	whole := k - k%block
	clear(dst)
	if whole > 0 {
		dots(dst, x, w, k, whole)
	}
	for i := range dst {
		sum := dst[i]
		for p := whole; p < k; p++ {
			sum += float32(x[i*k+p] * w[p]) // the conversion forbids fusing: same bits on every processor
		}
		dst[i] = sum
	}
}

// plainDots is dots in plain Go, in the same order.
func plainDots(dst, x, w []float32, k, whole int) {
	for i := range dst {
		var sums [block]float32
		for p := 0; p < whole; p += block {
			for j := range sums {
				sums[j] += float32(x[i*k+p+j] * w[p+j])
			}
		}
		for half := block / 2; half > 0; half /= 2 {
			for j := range half {
				sums[j] += sums[j+half]
			}
		}
		dst[i] = sums[0]
	}
}
