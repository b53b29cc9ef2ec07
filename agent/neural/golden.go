package neural

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// NewGolden returns golden inputs of m from observations it may meet, in their
// order, with the scores that m gives them. Observations with more than
// models.MaxGoldenCandidates rows keep their first ones; of more than
// models.MaxGoldenCases observations as many are taken, evenly spread. It copies
// what it keeps.
func NewGolden(m *models.Model, observations []*env.Observation) (models.Golden, error) {
	n := min(len(observations), models.MaxGoldenCases)
	cases := make([]models.GoldenCase, n)
	for i := range cases {
		at := i * len(observations) / n
		o := observations[at]
		rows := min(o.N(), models.MaxGoldenCandidates)
		if rows == 0 || len(o.Candidates)%o.N() != 0 {
			return models.Golden{}, fmt.Errorf("neural: golden: observation %d has %d values for %d rows", at, len(o.Candidates), o.N())
		}
		cases[i] = models.GoldenCase{
			Global:     append([]float32(nil), o.Global...),
			Candidates: append([]float32(nil), o.Candidates[:rows*(len(o.Candidates)/o.N())]...),
			Mask:       append([]bool(nil), o.Mask[:rows]...),
		}
	}
	g, err := models.NewGolden(m.Params, cases)
	if err != nil {
		return models.Golden{}, fmt.Errorf("neural: golden: %w", err)
	}
	return *g, nil
}

// probeRows is the number of candidates of the points that Probe looks at.
const probeRows = 64

// Probe returns an error that wraps ErrNonFinite if m's scores are not finite
// somewhere: at points spread over the bounds of its features and at their
// corners. It shows a network that overflows, of which golden inputs may be
// missing or too tame.
func Probe(m *models.Model) error {
	scorer, scratch := nn.NewScorer(m.Params), nn.Scratch{}
	e := &m.Manifest.Encoder
	o := env.Observation{Global: make([]float32, len(e.Global)), Candidates: make([]float32, probeRows*len(e.Candidate)), Mask: make([]bool, probeRows)}
	scores := make([]float32, probeRows)
	for point := range uint32(8) {
		for i, f := range e.Global {
			o.Global[i] = between(f, point, uint32(i))
		}
		for i := range o.Candidates {
			o.Candidates[i] = between(e.Candidate[i%len(e.Candidate)], point, uint32(i))
		}
		for i := range o.Mask {
			o.Mask[i] = point != 1 // also the point at which nothing is legal
		}
		scorer.Score(scores, o.Global, o.Candidates, o.Mask, &scratch)
		if err := checkFinite(scores); err != nil {
			return fmt.Errorf("neural: probe %d: %w", point, err)
		}
	}
	return nil
}

// between returns the lower bound at point 0, the upper one at point 1, and one
// of a fixed sequence of values between them at others.
func between(f models.Feature, point, i uint32) float32 {
	switch point {
	case 0:
		return f.Low
	case 1:
		return f.High
	}
	// Weyl's sequence: multiples of the golden ratio are spread evenly.
	u := float32((point*7919+i)*2654435769>>8) / (1 << 24)
	return f.Low + u*(f.High-f.Low)
}
