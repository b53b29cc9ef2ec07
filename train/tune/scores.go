package tune

import "math"

// Scores is the result of a search.
type Scores struct {
	// Cost is the mean cost over the futures in weighted job-hours, and Error
	// its standard error, shape [C]; NaN for configurations not tried. Costs
	// vary together over the futures: compare them by Gain.
	Cost, Error []float64
	// Relative is the mean over the futures of the cost minus the lowest cost
	// on that future, shape [C]; NaN if not tried. It is what a teacher has to
	// tell: how much worse each configuration is.
	Relative []float64
	// Best is the configuration with the lowest mean cost.
	Best int
	// Gain is the mean difference between the costs of the incumbent and of
	// Best over the held-out futures, GainError its standard error. Both are 0
	// if Best is the incumbent.
	Gain, GainError float64
	// Choice is Best where Gain is significant, the incumbent elsewhere.
	Choice int
}

// newScores summarises costs, shape [futures][len(tried)], over n
// configurations.
func newScores(n int, tried []int, costs [][]float64) *Scores {
	s := &Scores{Cost: nans(n), Error: nans(n), Relative: nans(n)}
	for k, c := range tried {
		column := make([]float64, len(costs))
		relative := 0.0
		for i, row := range costs {
			column[i] = row[k]
			relative += row[k] - minimum(row)
		}
		s.Cost[c], s.Error[c] = meanError(column)
		s.Relative[c] = relative / float64(len(costs))
	}
	return s
}

// best returns the tried configuration with the lowest cost: the incumbent
// among equals, then the first.
func (s *Scores) best(incumbent int) int {
	best := incumbent
	for c, cost := range s.Cost {
		if cost < s.Cost[best] { // false for NaN
			best = c
		}
	}
	return best
}

// pairedGain returns the mean and the standard error of costs[i][0] -
// costs[i][1].
func pairedGain(costs [][]float64) (mean, standardError float64) {
	differences := make([]float64, len(costs))
	for i, row := range costs {
		differences[i] = row[0] - row[1]
	}
	return meanError(differences)
}

// meanError returns the mean of x and its standard error, 0 for one value.
func meanError(x []float64) (mean, standardError float64) {
	n := float64(len(x))
	for _, v := range x {
		mean += v / n
	}
	if len(x) < 2 {
		return mean, 0
	}
	square := 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(square / (n - 1) / n)
}

func minimum(x []float64) float64 {
	low := math.Inf(1)
	for _, v := range x {
		low = min(low, v)
	}
	return low
}

func nans(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN()
	}
	return x
}

// spread returns the difference between the highest and the lowest relative
// cost of the configurations tried.
func (s *Scores) spread() float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range s.Relative {
		if !math.IsNaN(x) {
			low, high = min(low, x), max(high, x)
		}
	}
	return high - low
}
