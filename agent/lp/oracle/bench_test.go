package oracle

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
)

// BenchmarkWarm re-solves problems of which 1 % of the jobs changed since the last.
func BenchmarkWarm(b *testing.B) {
	for _, o := range []struct {
		name      string
		objective simplex.Objective
	}{{"sum", simplex.Sum}, {"maxmin", simplex.MaxMin}} {
		for _, types := range []int{4, 16} {
			b.Run(fmt.Sprintf("%s/10000x16/K=%d", o.name, types), func(b *testing.B) {
				list := []*simplex.Problem{Cluster(Shape{Objective: o.objective, Jobs: 10_000, Candidates: 16, Types: types, Seed: 1})}
				for i := range uint64(16) {
					list = append(list, Change(list[i], 0.01, i+1))
				}
				var solver simplex.Solver
				if _, err := solver.Solve(b.Context(), list[0], simplex.Options{}); err != nil {
					b.Fatal(err)
				}
				pivots, n := 0, 0
				for b.Loop() {
					n++
					r, err := solver.Solve(b.Context(), list[n%len(list)], simplex.Options{})
					if err != nil {
						b.Fatal(err)
					}
					pivots += r.Pivots
				}
				b.ReportMetric(float64(pivots)/float64(n), "pivots")
			})
		}
	}
}
