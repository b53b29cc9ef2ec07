package tune

import (
	"math"
	"testing"
)

func TestScores(t *testing.T) {
	// Three futures of very different costs, on which configuration 2 is
	// better than 0 by 1, 2 and 3; configuration 1 was not tried.
	costs := [][]float64{{11, 10}, {102, 100}, {1003, 1000}}
	s := newScores(3, []int{0, 2}, costs)
	if math.Abs(s.Cost[0]-372) > 1e-9 || math.Abs(s.Cost[2]-370) > 1e-9 || !math.IsNaN(s.Cost[1]) {
		t.Errorf("costs are %v, want 372, NaN, 370", s.Cost)
	}
	// Deviations −360, −270, 630 from the mean: sqrt((360² + 270² + 630²)/2/3).
	if want := math.Sqrt((360*360 + 270*270 + 630*630) / 6.0); math.Abs(s.Error[2]-want) > 1e-9 {
		t.Errorf("standard error is %v, want %v", s.Error[2], want)
	}
	if math.Abs(s.Relative[0]-2) > 1e-9 || s.Relative[2] != 0 || math.Abs(s.spread()-2) > 1e-9 {
		t.Errorf("relative costs are %v, spread %v, want 2, NaN, 0 and 2", s.Relative, s.spread())
	}
	if s.best(0) != 2 {
		t.Errorf("best is %d, want 2", s.best(0))
	}
	// Paired, the difference is certain though the costs are not: 2 ± 1/√3.
	gain, standardError := pairedGain(costs)
	if math.Abs(gain-2) > 1e-9 || math.Abs(standardError-1/math.Sqrt(3)) > 1e-9 {
		t.Errorf("gain is %v ± %v, want 2 ± %v", gain, standardError, 1/math.Sqrt(3))
	}
}

func TestIncumbentWinsTies(t *testing.T) {
	s := newScores(3, []int{0, 1, 2}, [][]float64{{5, 5, 5}})
	for incumbent := range 3 {
		if got := s.best(incumbent); got != incumbent {
			t.Errorf("best of equals is %d, want the incumbent %d", got, incumbent)
		}
	}
}
