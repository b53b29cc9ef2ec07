package neural

import (
	"context"
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// Scores returns the score of every candidate of s less that of stopping, shape
// [jobs][strategies]: the highest that fits is picked first, and after the first pick
// none of 0 or less. -Inf are candidates that the cluster and the quotas have no GPUs
// for. nil is a network that overflowed. The caller owns the result.
func (p *Policy) Scores(s *env.State) [][]float64 {
	d := p.pool.Get().(*decision)
	defer p.pool.Put(d)
	if p.score(context.Background(), d, s) != nil {
		return nil
	}
	scores := make([][]float64, len(s.Jobs))
	for i := range scores {
		scores[i] = make([]float64, len(s.Jobs[i].Strategies))
	}
	for row, c := range d.encoder.Candidates() {
		if row == stopRow {
			continue
		}
		x := float64(d.scores[row]) - float64(d.scores[stopRow])
		if !d.obs.Mask[row] {
			x = math.Inf(-1)
		}
		scores[c.Job][c.Strategy] = x
	}
	return scores
}
