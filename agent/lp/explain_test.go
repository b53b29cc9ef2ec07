package lp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env"
)

// The prices and gains add up to the bound, candidates with a share have no
// regret, none has a negative one, and rows with a price are full: the optimality
// conditions, in terms of the explanation.
func TestExplainAddsUp(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		randomStates(60, func(s *env.State) {
			e, err := p.Explain(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			total := 0.0
			for _, row := range e.Rows {
				total += row.Price * row.Capacity
				if row.Used > row.Capacity*(1+1e-9) {
					t.Errorf("row %+v is overstepped", row)
				}
			}
			for j, job := range e.Jobs {
				total += job.Gain
				for _, c := range job.Choices {
					if slack := 1e-6 * (c.Value + c.Cost + e.Bound); c.Regret < 0 || c.Weight > 1e-6 && c.Weight*c.Regret > slack {
						t.Errorf("job %d: %+v", j, c)
					}
				}
			}
			if math.Abs(total-e.Bound) > 1e-6*e.Bound {
				t.Errorf("rows and jobs are worth %v, bound %v", total, e.Bound)
			}
		})
	})
}
