package lp

import (
	"math"
	"slices"
	"testing"
	"time"

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
			if e.Goal == "" || e.Minimise != (p.formulation.name == "lp:gavel-total") {
				t.Errorf("goal %q, minimised: %v", e.Goal, e.Minimise)
			}
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

// Of jobs that divide their time, the one that has had least of what it is due goes
// first; what it has had follows from its progress and its age.
func TestExplainSaysWhoIsDue(t *testing.T) {
	s := elasticState()
	s.Now = 1000 * time.Second
	s.Cluster.Nodes = []env.Node{{Type: 0, GPUs: 2}}
	s.Jobs = nil
	for id, done := range []float64{9000, 4500, 0} { // of 1/3 of the time at 18 steps/s: 6000
		s.Jobs = append(s.Jobs, env.JobState{
			ID: int64(id), Batch: 1, GPUs: 2, Weight: 1, Done: done, Remaining: 1e6, Current: env.Idle,
			Strategies: []env.Strategy{{GPUs: 2, Nodes: 1, Throughput: 18}},
		})
	}
	e, err := Explain(t.Context(), s, "lp:maxmin")
	if err != nil {
		t.Fatal(err)
	}
	for j, want := range []float64{(9000 + 300) / (6 * 1050.), (4500 + 300) / (6 * 1050.), 300 / (6 * 1050.)} {
		if got := e.Jobs[j].Had; math.Abs(got-want) > 1e-6 {
			t.Errorf("job %d has had %v of what it is due, want %v", j, got, want)
		}
	}
	if want := (env.Allocation{env.Idle, env.Idle, 0}); !slices.Equal(e.Allocation, want) {
		t.Errorf("allocation %v, want %v", e.Allocation, want)
	}
	e, err = Explain(t.Context(), s, "lp:srpt")
	if err != nil || e.Jobs[0].Had != 0 {
		t.Errorf("lp:srpt rounds to whole jobs: had %v (%v), want 0", e.Jobs[0].Had, err)
	}
}
