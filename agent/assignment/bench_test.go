package assignment

import (
	"fmt"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

func randomCost(rows, columns int) []float64 {
	r := rng.New(1, "assignment/test")
	cost := make([]float64, rows*columns)
	for i := range cost {
		cost[i] = 1000 * r.Float64()
	}
	return cost
}

func BenchmarkSolve(b *testing.B) {
	for _, size := range [][2]int{{10, 100}, {100, 100}, {100, 1000}, {500, 500}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			var s Solver
			cost := randomCost(size[0], size[1])
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Solve(cost, size[0], size[1]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
