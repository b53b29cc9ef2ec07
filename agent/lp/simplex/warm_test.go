package simplex

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// From any guess, good or bad, the answer is the one of a cold start.
func TestSolveFromAnyGuess(t *testing.T) {
	r := rng.New(1, "guesses")
	forFamilies(t, 40, func(t *testing.T, p *Problem) {
		cold := mustSolve(t, p, Options{})
		guess := *cold
		spread := []float64{0.001, 0.1, 2, 10}[r.IntN(4)]
		guess.Prices = append([]float64(nil), cold.Prices...)
		for k := range guess.Prices {
			guess.Prices[k] = (guess.Prices[k] + 1e-9*float64(r.IntN(2))) * math.Exp(spread*r.NormFloat64())
		}
		guess.Objective *= math.Exp(spread * r.NormFloat64())
		sameObjective(t, "warm", mustSolve(t, p, Options{Warm: &guess}).Objective, cold.Objective)
	})
}
