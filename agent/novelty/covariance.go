package novelty

import "math"

// covariance returns the covariance of deviations from a mean, lower triangle by
// rows, better conditioned than the plain one: variances are raised to their least
// and the rest is multiplied by 1 − λ, which is a mix with the diagonal matrix of
// the same variances. λ is the one of least expected error (Schäfer and Strimmer,
// Statistical Applications in Genetics and Molecular Biology 4, 2005, target D):
//
//	λ = Σ var(s[i,j]) / Σ s[i,j]²,  i ≠ j
//
// for independent states, and at least 0.01, as those of an episode are not.
func covariance(deviations [][]float64) []float64 {
	d, n := len(deviations[0]), float64(len(deviations))
	s := make([]float64, 0, d*(d+1)/2)
	noise, signal := 0.0, 0.0
	for i := range d {
		for j := range i + 1 {
			sum, squares := 0.0, 0.0
			for _, x := range deviations {
				product := float64(x[i] * x[j])
				sum += product
				squares += float64(product * product)
			}
			mean := sum / n
			s = append(s, mean)
			if i != j {
				noise += (squares/n - mean*mean) / n
				signal += mean * mean
			}
		}
	}
	lambda := 1.0
	if signal > 0 {
		lambda = min(1, max(0.01, noise/signal))
	}
	k := 0
	for i := range d {
		for range i {
			s[k] *= 1 - lambda
			k++
		}
		s[k] = max(s[k], minDeviation*minDeviation)
		k++
	}
	round(s)
	return s
}

// round keeps seven digits: more say nothing and make the manifest long.
func round(xs []float64) {
	for i, x := range xs {
		if x != 0 {
			unit := math.Pow(10, 6-math.Floor(math.Log10(math.Abs(x))))
			xs[i] = math.Round(x*unit) / unit
		}
	}
}
