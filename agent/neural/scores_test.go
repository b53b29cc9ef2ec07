package neural

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
)

// byScores decides by scores alone, as Scores documents them.
func byScores(s *env.State, scores [][]float64) env.Allocation {
	type candidate struct {
		job, strategy int
		score         float64
	}
	var list []candidate
	for i := range scores {
		for k, x := range scores[i] {
			if !math.IsInf(x, -1) {
				list = append(list, candidate{i, k, x})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	a, budget, picked := env.NewAllocation(len(s.Jobs)), env.NewBudget(s), false
	for _, c := range list {
		j := &s.Jobs[c.job]
		if picked && c.score <= 0 {
			break
		}
		if a[c.job] == env.Idle && budget.Fits(j, &j.Strategies[c.strategy]) {
			budget.Take(j, &j.Strategies[c.strategy])
			a[c.job], picked = c.strategy, true
		}
	}
	return a
}

// Going by the scores gives the policy's decisions, whether stop comes early or late.
func TestScores(t *testing.T) {
	r := stream(7)
	stopped, impossible := 0, 0
	for n := range 60 {
		m := randomModel(r, 16)
		if n%3 == 0 {
			m = priorModel(r)
		}
		p := mustPolicy(t, m)
		s := agenttest.RandomState(r, agenttest.Options{Constrained: n%2 == 0})
		scores := p.Scores(s)
		budget := env.NewBudget(s)
		for i := range scores {
			for k, x := range scores[i] {
				possible := budget.Possible(&s.Jobs[i], &s.Jobs[i].Strategies[k])
				if math.IsInf(x, -1) == possible {
					t.Errorf("state %d: job %d, strategy %d: score %v, possible: %v", n, i, k, x, possible)
				}
				if !possible {
					impossible++
				}
			}
		}
		got, err := p.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if want := byScores(s, scores); !slices.Equal(got, want) {
			t.Errorf("state %d: decided %v, by scores %v", n, got, want)
		}
		if slices.ContainsFunc(scores, func(x []float64) bool {
			return slices.ContainsFunc(x, func(x float64) bool { return x <= 0 && !math.IsInf(x, -1) })
		}) {
			stopped++
		}
	}
	if impossible == 0 {
		t.Error("every candidate is possible in every state, want some that are not")
	}
	if stopped < 10 || stopped == 60 {
		t.Errorf("stop comes before some candidate in %d of 60 states, want some but not all", stopped)
	}
}
