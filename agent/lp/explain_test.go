package lp

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env"
)

// The prices and gains add up to the bound, candidates with a share have no
// regret, none has a negative one, and rows with a price are full: the optimality
// conditions, in terms of the explanation.
func TestExplainAddsUp(t *testing.T) {
	forPolicies(t, func(t *testing.T, p *Policy) {
		randomStates(30, func(s *env.State) {
			a, _, err := p.decide(t.Context(), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Explain(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			q := &a.program.problem
			for _, row := range e.Rows {
				if row.Used > row.Capacity*(1+1e-9) {
					t.Errorf("row %+v is overstepped", row)
				}
			}
			for j, job := range e.Jobs {
				for _, c := range job.Choices {
					if c.Regret < 0 {
						t.Errorf("job %d: %+v", j, c)
					}
				}
			}
			if !approximate[p.formulation.name] && q.Lag == nil {
				checkAddsUp(t, q, a.result, e)
			}
		})
	})
}

// approximate lists policies whose answers are not those of one linear program.
var approximate = map[string]bool{"lp:sia": true, "lp:hetero-pop": true}

func checkAddsUp(t *testing.T, q *simplex.Problem, r *simplex.Result, e *Explanation) {
	t.Helper()
	total, size := 0.0, 0.0
	for _, row := range e.Rows {
		total += row.Price * row.Capacity
	}
	for j, job := range e.Jobs {
		total += job.Gain
		size = max(size, job.Gain)
		if q.Floor != nil {
			total -= r.JobPrices[j] * q.Floor[j]
			size += r.JobPrices[j] * q.Floor[j]
		}
		if q.Base != nil {
			total -= r.JobPrices[j] * q.Base[j]
			size += r.JobPrices[j] * q.Base[j]
		}
		if q.Objective == simplex.Total && len(job.Choices) > 0 {
			total -= 2 * math.Sqrt(r.JobPrices[j]*q.Target[j])
		}
		for _, c := range job.Choices {
			if slack := 3e-6 * (math.Abs(c.Value) + c.Cost + math.Abs(e.Bound)); c.Weight > 1e-6 && c.Weight*c.Regret > slack {
				t.Errorf("job %d: %+v", j, c)
			}
		}
	}
	if q.Objective == simplex.Total {
		total = -total
	}
	if math.Abs(total-e.Bound) > 1e-6*(math.Abs(e.Bound)+size) {
		t.Errorf("rows and jobs are worth %v, bound %v", total, e.Bound)
	}
}
