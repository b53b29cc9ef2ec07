package nn

import (
	"math"
	"testing"
)

func TestSoftmaxWeightsEqualTheDefinition(t *testing.T) {
	r := stream(1)
	scores := make([]float32, 50)
	fillNormal(r, scores, 4)
	weights := make([]float64, len(scores))
	top := SoftmaxWeights(weights, scores)
	sum, slow := 0.0, 0.0
	for i, s := range scores {
		sum += weights[i]
		slow += math.Exp(float64(s))
	}
	for i, s := range scores {
		got, want := weights[i]/sum, math.Exp(float64(s))/slow
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("probability %d: got %v, want %v", i, got, want)
		}
		if got := Relative(s, top) - math.Log(sum); math.Abs(got-math.Log(want)) > 1e-9 {
			t.Errorf("log probability %d: got %v, want %v", i, got, math.Log(want))
		}
	}
}

// Scores that differ by more than any exponential can hold still give every row
// a positive weight.
func TestSoftmaxWeightsOfExtremeScores(t *testing.T) {
	scores := []float32{math.MaxFloat32, -math.MaxFloat32, 0, 1e30}
	weights := make([]float64, len(scores))
	if top := SoftmaxWeights(weights, scores); top != math.MaxFloat32 {
		t.Errorf("top: got %v", top)
	}
	floor := math.Exp(-Spread)
	for i, want := range []float64{1, floor, floor, floor} {
		if weights[i] != want || weights[i] == 0 {
			t.Errorf("weight %d: got %v, want %v", i, weights[i], want)
		}
	}
}

func TestSoftmaxWeightsOfNothing(t *testing.T) {
	if top := SoftmaxWeights(nil, nil); !math.IsInf(top, -1) {
		t.Errorf("top of no scores: got %v, want -Inf", top)
	}
}
