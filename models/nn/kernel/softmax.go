package kernel

import "math"

// low is what stands for no value: the logarithm of probability 0.
var low = float32(math.Inf(-1))

// LogSoftmax writes to dst, shape [n], the logarithms of the softmax over the
// scores where mask holds, and −Inf elsewhere; every dst is −Inf where it holds
// nowhere. It returns the logarithm of the sum of exponentials. Scores may be
// as far apart as float32 allows; dst may be scores.
func LogSoftmax(dst, scores []float32, mask []bool) (logSum float32) {
	dst, scores = dst[:len(mask)], scores[:len(mask)]
	top := greatest(scores, mask)
	if top == low {
		for i := range dst {
			dst[i] = low
		}
		return low
	}
	logSum = top + float32(math.Log(sumExp(scores, mask, top)))
	eachBlock(len(mask), func(from, to int) {
		logSoftmaxKept(dst[from:to], scores[from:], mask[from:], logSum)
	}, func(from int) {
		var y, x [block]float32
		keep := tail(&x, scores[from:], mask[from:])
		logSoftmaxKept(y[:], x[:], keep[:], logSum)
		copy(dst[from:], y[:])
	})
	return logSum
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
	eachBlock(len(mask), func(from, to int) {
		logSoftmaxGradientKept(dst[from:to], dy[from:], y[from:], mask[from:], float32(total))
	}, func(from int) {
		var dx, d, results [block]float32
		keep := tail(&d, dy[from:], mask[from:])
		copy(results[:], y[from:])
		logSoftmaxGradientKept(dx[:], d[:], results[:], keep[:], float32(total))
		copy(dst[from:], dx[:])
	})
}

// eachBlock calls whole for as many blocks as there are in n values, if any, and
// rest for what is left, if anything.
func eachBlock(n int, whole func(from, to int), rest func(from int)) {
	end := n - n%block
	if end > 0 {
		whole(0, end)
	}
	if end < n {
		rest(end)
	}
}

// tail copies fewer values than a block to x and returns their mask.
func tail(x *[block]float32, values []float32, mask []bool) (keep [block]bool) {
	copy(x[:], values)
	copy(keep[:], mask)
	return keep
}

// greatest returns the greatest score where mask holds, low where it holds nowhere.
func greatest(scores []float32, mask []bool) float32 {
	var tops [block]float32
	for i := range tops {
		tops[i] = low
	}
	eachBlock(len(mask), func(_, to int) { maximumKept(&tops, scores[:to], mask) }, func(from int) {
		var x [block]float32
		keep := tail(&x, scores[from:], mask[from:])
		maximumKept(&tops, x[:], keep[:])
	})
	top := low
	for _, t := range tops {
		top = max(top, t)
	}
	return top
}

// sumPart is how many terms are summed in float32 before they go to float64.
const sumPart = 64 * block

// sumExp returns Σ exp(scores[i] − top) over the legal ones.
func sumExp(scores []float32, mask []bool, top float32) (sum float64) {
	for from := 0; from < len(mask); from += sumPart {
		part, keep := scores[from:min(from+sumPart, len(mask))], mask[from:]
		var sums [block]float32
		eachBlock(len(part), func(_, to int) { expSumKept(&sums, part[:to], keep, top) }, func(from int) {
			var x [block]float32
			left := tail(&x, part[from:], keep[from:len(part)])
			expSumKept(&sums, x[:], left[:], top)
		})
		for _, s := range sums {
			sum += float64(s)
		}
	}
	return sum
}
