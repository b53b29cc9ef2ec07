package kernel

// The parts of softmax.go in plain Go; lengths are those of the first array of values.

func plainMaximumKept(tops *[block]float32, x []float32, keep []bool) {
	for i, v := range x {
		if keep[i] {
			tops[i%block] = max(tops[i%block], v)
		}
	}
}

func plainExpSumKept(sums *[block]float32, x []float32, keep []bool, top float32) {
	var e [1]float32
	for i, v := range x {
		if keep[i] {
			e[0] = v - top
			plainExp(e[:], e[:])
			sums[i%block] += e[0]
		}
	}
}

func plainLogSoftmaxKept(y, x []float32, keep []bool, logSum float32) {
	for i := range y {
		if keep[i] {
			y[i] = x[i] - logSum
		} else {
			y[i] = low
		}
	}
}

func plainLogSoftmaxGradientKept(dx, dy, y []float32, keep []bool, total float32) {
	var e [1]float32
	for i := range dx {
		g := float32(0)
		if keep[i] {
			plainExp(e[:], y[i:i+1])
			g = dy[i] - float32(e[0]*total)
		}
		dx[i] = g
	}
}
