package kernel

import "math"

// normEpsilon is added to the variance, as in PyTorch.
const normEpsilon = 1e-5

// LayerNorm writes to every row of dst, shape [n, width], the row of x with mean
// 0 and variance 1, times gain plus shift, both [width] (Ba, Kiros & Hinton,
// 2016, arXiv:1607.06450). dst may be x.
func LayerNorm(dst, x, gain, shift []float32, n, width int) {
	check(dst, n*width, x, n*width, gain, width)
	_ = shift[:width]
	if n > 0 && width > 0 && width%block == 0 && level != Plain {
		layerNorm(dst, x, gain, shift, n, width)
		return
	}
	for i := range n {
		mean, inverse := moments(x[i*width:][:width])
		for j, v := range x[i*width:][:width] {
			dst[i*width+j] = float32((float64(v)-mean)*inverse)*gain[j] + shift[j]
		}
	}
}

// moments returns the mean of row and 1 / √(variance + epsilon).
func moments(row []float32) (mean, inverse float64) {
	n := float64(max(1, len(row)))
	for _, v := range row {
		mean += float64(v) / n
	}
	variance := 0.0
	for _, v := range row {
		d := float64(v) - mean
		variance += float64(d*d) / n
	}
	return mean, 1 / math.Sqrt(variance+normEpsilon)
}

// LayerNormGradient writes to dx, shape [n, width], the gradient at LayerNorm's
// x, given dy at its results, and adds those of gain and shift to dGain and
// dShift. dx may be dy.
func LayerNormGradient(dx, dGain, dShift, dy, x, gain []float32, n, width int) {
	check(dx, n*width, x, n*width, gain, width)
	_, _, _ = dGain[:width], dShift[:width], dy[:n*width]
	if n > 0 && width > 0 && width%block == 0 && level != Plain {
		layerNormGradient(dx, dGain, dShift, dy, x, gain, n, width)
		return
	}
	for i := range n {
		row, dRow := x[i*width:][:width], dy[i*width:][:width]
		mean, inverse := moments(row)
		sum, product := 0.0, 0.0
		for j, v := range row {
			unit, g := (float64(v)-mean)*inverse, float64(dRow[j])
			dGain[j] += float32(g * unit)
			dShift[j] += float32(g)
			g *= float64(gain[j])
			sum += g / float64(width)
			product += g * unit / float64(width)
		}
		for j, v := range row {
			unit := (float64(v) - mean) * inverse
			dx[i*width+j] = float32((float64(dRow[j])*float64(gain[j]) - sum - unit*product) * inverse)
		}
	}
}
