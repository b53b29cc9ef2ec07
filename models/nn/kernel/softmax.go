package kernel

import "math"

// LogSoftmax writes to dst, shape [n], the logarithms of the softmax over the
// scores where mask holds, and −Inf elsewhere; every dst is −Inf where it holds
// nowhere. It returns the logarithm of the sum of exponentials. Scores may be
// as far apart as float32 allows; dst may be scores.
func LogSoftmax(dst, scores []float32, mask []bool) (logSum float32) {
	dst, scores = dst[:len(mask)], scores[:len(mask)]
	low := float32(math.Inf(-1))
	top := low
	for i, legal := range mask {
		if legal {
			top = max(top, scores[i])
		}
	}
	if top == low {
		for i := range dst {
			dst[i] = low
		}
		return low
	}
	logSum = top + float32(math.Log(sumExp(scores, mask, top)))
	for i, legal := range mask {
		dst[i] = low
		if legal {
			dst[i] = scores[i] - logSum
		}
	}
	return logSum
}

// sumExp returns Σ exp(scores[i] − top) over the legal ones, block by block.
func sumExp(scores []float32, mask []bool, top float32) (sum float64) {
	var terms [block]float32
	for at := 0; at < len(mask); at += block {
		n := min(block, len(mask)-at)
		for i := range n {
			terms[i] = scores[at+i] - top
		}
		opExp.apply(terms[:], terms[:])
		for i, legal := range mask[at:][:n] {
			if legal {
				sum += float64(terms[i])
			}
		}
	}
	return sum
}

// LogSoftmaxGradient writes to dst the gradient at the scores, given dy, the
// gradient at LogSoftmax's results y: dy[i] − exp(y[i])·Σ dy where mask holds
// and exactly 0 elsewhere, whatever dy is there. dst may be dy.
func LogSoftmaxGradient(dst, dy, y []float32, mask []bool) {
	total := 0.0
	for i, legal := range mask {
		if legal {
			total += float64(dy[i])
		}
	}
	var p [block]float32
	for at := 0; at < len(mask); at += block {
		n := min(block, len(mask)-at)
		copy(p[:], y[at:][:n])
		opExp.apply(p[:], p[:])
		for i, legal := range mask[at:][:n] {
			g := float32(0)
			if legal {
				g = dy[at+i] - p[i]*float32(total)
			}
			dst[at+i] = g
		}
	}
}
