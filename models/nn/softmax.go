package nn

import (
	"math"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Spread bounds how far below the highest score a score counts as it is: lower
// ones count as this much below. exp(−Spread) is far from underflow, so a
// softmax over any of the rows is defined and gives none of them probability 0.
const Spread = 600

// SoftmaxWeights writes exp(max(s[i] − max s, −Spread)) to dst, shape [N], and
// returns max s. The softmax over a set of rows is their weights over the sum of
// these.
func SoftmaxWeights(dst []float64, scores []float32) (top float64) {
	top = math.Inf(-1)
	for _, s := range scores {
		top = max(top, float64(s))
	}
	dst = dst[:len(scores)]
	for i, s := range scores {
		dst[i] = Relative(s, top)
	}
	kernel.ApplyExp64(dst, dst)
	return top
}

// Relative returns score as it counts where the highest one is top.
func Relative(score float32, top float64) float64 {
	return max(float64(score)-top, -Spread)
}
