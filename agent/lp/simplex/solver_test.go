package simplex

import (
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// Over rounds with changing numbers of copies, which are merged, a Solver's
// objectives are those of cold starts.
func TestSolver(t *testing.T) {
	r := rng.New(1, "solver")
	for _, o := range objectives {
		kinds := cluster(o.objective, 40, 9, 4)
		var s Solver
		for range 12 {
			p := repeated(kinds, 20+r.IntN(3), r, 0)
			p.Capacity = kinds.Capacity
			for range 50 {
				p.appendJob(kinds, r.IntN(40), func() float64 { return 0.9 + 0.2*r.Float64() })
			}
			got, err := s.Solve(t.Context(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != Optimal {
				t.Errorf("%s: %v with gap %v", o.name, got.Status, got.Gap)
			}
			sameObjective(t, o.name, got.Objective, mustSolve(t, p, Options{}).Objective)
		}
	}
}

// An interrupted search gives what it has.
func TestSolveInterrupt(t *testing.T) {
	for _, o := range objectives {
		p := cluster(o.objective, 1000, 9, 4)
		asked := 0
		r, err := Solve(t.Context(), p, Options{Interrupt: func() bool { asked++; return asked > 10 }})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != Stopped || r.Objective <= 0 || r.Gap >= 1 || r.Pivots > 88 || asked > 12 {
			t.Errorf("%s: %v with %v, gap %v, after %d pivots and %d questions", o.name, r.Status, r.Objective, r.Gap, r.Pivots, asked)
		}
	}
}

// A Solver never writes to a problem, whatever it solves next.
func TestSolverLeavesProblems(t *testing.T) {
	var s Solver
	var kept, problems []*Problem
	for i, o := range []Objective{Sum, MaxMin, Sum, Sum, MaxMin} {
		p := cluster(o, 60-5*i, 9, 4)
		q := *p
		q.Rate, q.Usage = append([]float64(nil), p.Rate...), append([]int32(nil), p.Usage...)
		q.Offsets = append([]int32(nil), p.Offsets...)
		problems, kept = append(problems, p), append(kept, &q)
		if _, err := s.Solve(t.Context(), p, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range problems {
		if !slices.Equal(p.Rate, kept[i].Rate) || !slices.Equal(p.Usage, kept[i].Usage) || !slices.Equal(p.Offsets, kept[i].Offsets) {
			t.Errorf("problem %d has changed", i)
		}
	}
}

// Prices are below 0 where more of a resource has to be used than is worth it: a
// guess like another, also for a problem that asks for nothing of the kind.
func TestSolverAfterLeast(t *testing.T) {
	p := &Problem{
		Capacity: []float64{2, 4}, Least: []float64{0, 3},
		Usages:  []Usage{{{0, 1}}, {{1, 1}}},
		Offsets: []int32{0, 2, 4, 6, 8},
		Rate:    []float64{5, 1, 5, 1, 5, 1, 5, 1}, Usage: []int32{0, 1, 0, 1, 0, 1, 0, 1},
	}
	var s Solver
	first, err := s.Solve(t.Context(), p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Prices[1] >= 0 {
		t.Fatalf("prices %v, want one below 0 for the second", first.Prices)
	}
	free := *p
	free.Least = nil
	for _, q := range []*Problem{p, &free} {
		r, err := s.Solve(t.Context(), q, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sameObjective(t, "warm", r.Objective, mustSolve(t, q, Options{}).Objective)
	}
}
