package kernel

import "math"

// ApplyExp64 writes exp(x[i]) to dst, which may be x, with a relative error below
// 4e-16. Results stay within exp(−708) and exp(709): no denormal and no infinite
// value.
func ApplyExp64(dst, x []float64) {
	const lanes = block / 2
	n, dst := len(x), dst[:len(x)]
	whole := n - n%lanes
	if whole > 0 {
		expDoubles(dst[:whole], x)
	}
	if n > whole {
		var d, s [lanes]float64
		copy(s[:], x[whole:])
		expDoubles(d[:], s[:])
		copy(dst[whole:], d[:])
	}
}

func plainExpDoubles(dst, x []float64) {
	for i := range dst {
		dst[i] = math.Exp(min(max(x[i], -708), 709))
	}
}

// SumSquares returns Σ x[i]²: 16 partial sums, folded in halves, then what is left
// of x.
func SumSquares(x []float32) float64 {
	var sums [block]float64
	whole := len(x) - len(x)%block
	if whole > 0 {
		sumSquares(&sums, x[:whole])
	}
	for half := block / 2; half > 0; half /= 2 {
		for j := range half {
			sums[j] += sums[j+half]
		}
	}
	for _, v := range x[whole:] {
		sums[0] += float64(float64(v) * float64(v))
	}
	return sums[0]
}

func plainSumSquares(sums *[block]float64, x []float32) {
	for i, v := range x {
		sums[i%block] += float64(float64(v) * float64(v))
	}
}
