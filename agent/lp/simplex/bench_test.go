package simplex

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// cluster returns a problem like a busy cluster's: n jobs with s candidates over
// k GPU types, of 1, 2, 4 or 8 GPUs, with near-linear speedup. There is about one
// GPU per job, and the target of a job is the mean of its rates, so that capacity
// is what limits MaxMin.
func cluster(objective Objective, n, s, k int) *Problem {
	r := rng.New(1, "cluster")
	p := &Problem{Objective: objective, Offsets: []int32{0}}
	for t := range k {
		p.Capacity = append(p.Capacity, math.Ceil(float64(n)/float64(k)*(0.5+r.Float64())))
		for g := range 4 {
			p.Usages = append(p.Usages, Usage{{int32(t), float64(int(1) << g)}})
		}
	}
	speed := make([]float64, k)
	for t := range speed {
		speed[t] = 0.5 + 3*r.Float64()
	}
	for range n {
		addClusterJob(p, r, speed, s)
	}
	return p
}

func addClusterJob(p *Problem, r *rand.Rand, speed []float64, s int) {
	weight, efficiency := math.Exp(r.NormFloat64()), 0.7+0.3*r.Float64()
	total := 0.0
	for range s {
		t, g := r.IntN(len(speed)), r.IntN(4)
		p.Rate = append(p.Rate, weight*speed[t]*(0.7+0.6*r.Float64())*math.Pow(float64(int(1)<<g), efficiency))
		p.Usage = append(p.Usage, int32(4*t+g))
		total += p.Rate[len(p.Rate)-1]
	}
	p.endJob(total / float64(s))
}

func BenchmarkSolve(b *testing.B) {
	for _, objective := range []Objective{Sum, MaxMin} {
		for _, size := range [][3]int{{100, 9, 4}, {1000, 16, 4}, {10000, 16, 4}, {10000, 16, 16}} {
			p := cluster(objective, size[0], size[1], size[2])
			name := fmt.Sprintf("%s/%dx%d/K=%d", [...]string{"sum", "maxmin"}[objective], size[0], size[1], size[2])
			b.Run(name, func(b *testing.B) {
				var r *Result
				for b.Loop() {
					var err error
					if r, err = Solve(b.Context(), p, Options{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(r.Pivots), "pivots")
				b.ReportMetric(r.Gap, "gap")
			})
		}
	}
}
