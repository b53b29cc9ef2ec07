package neural

import (
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
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
