package heuristic

import "github.com/yardmaster/yardmaster/env"

// Scores returns the score in nats of every candidate of s, shape
// [jobs][strategies]: the highest that fits is picked first. -Inf rules a
// candidate out. The caller owns the result.
func (d *Density) Scores(s *env.State) [][]float64 {
	return d.scores(emptyPool(s), d.expectation(s))
}

// Scores returns the scores of the first stage; see [Density.Scores].
func (t *TwoStage) Scores(s *env.State) [][]float64 { return t.first.Scores(s) }

// Scores returns the score of every candidate; see [Density.Scores].
func (t *Tardiness) Scores(s *env.State) [][]float64 { return t.scores(emptyPool(s)) }
