package eval

import (
	"math/rand/v2"
	"slices"
)

// Interval is a mean over seeds with its 95 % confidence interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is the number of bootstrap samples. Agarwal et al. (NeurIPS 2021)
// use 50,000 for final tables and 2,000 for plots; 10,000 fixes three digits.
const resamples = 10_000

// Bootstrap returns the mean of values and its 95 % percentile bootstrap
// interval (Efron 1979). One value gives an interval of no width. It panics
// without values, which is a fault of the caller.
func Bootstrap(values []float64, r *rand.Rand) Interval {
	if len(values) == 0 {
		panic("eval: bootstrap of no values")
	}
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[r.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	const tail = resamples / 40 // 2.5 %
	return Interval{Mean: mean(values), Low: means[tail], High: means[resamples-1-tail]}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
