package simplex

import (
	"fmt"
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// dense solves p with gonum's simplex: slow, but general. In standard form,
// minimise c·v with A·v = b, v >= 0, the columns are x, for MaxMin z, and a slack
// for each row.
func dense(t *testing.T, p *Problem) float64 {
	t.Helper()
	var usable []int
	for j := range p.Jobs() {
		if p.usable(j) {
			usable = append(usable, j)
		}
	}
	if len(usable) == 0 {
		return 0
	}
	m, k, n := len(p.Rate), len(p.Capacity), len(usable)
	rows, cols := n+k, m+n+k
	if p.Objective == MaxMin {
		rows, cols = rows+n, cols+n+1
	}
	a, b, c := mat.NewDense(rows, cols, nil), make([]float64, rows), make([]float64, cols)
	for r := range rows {
		a.Set(r, cols-rows+r, 1)
	}
	for r, j := range usable {
		b[r] = 1
		for i := p.Offsets[j]; i < p.Offsets[j+1]; i++ {
			a.Set(r, int(i), 1)
			for _, u := range p.Usages[p.Usage[i]] {
				a.Set(n+int(u.Resource), int(i), u.Amount)
			}
			if p.Objective == Sum {
				c[i] = -p.Rate[i]
			} else {
				a.Set(n+k+r, int(i), -p.Rate[i]/p.Target[j])
			}
		}
		if p.Objective == MaxMin {
			a.Set(n+k+r, m, 1)
		}
	}
	copy(b[n:], p.Capacity)
	if p.Objective == MaxMin {
		c[m] = -1
	}
	basis := make([]int, rows) // the slacks
	for r := range basis {
		basis[r] = cols - rows + r
	}
	opt, _, err := lp.Simplex(c, a, b, 1e-12, basis)
	if err != nil {
		t.Skipf("gonum: %v", err)
	}
	return -opt
}

var families = []family{
	{jobs: 12, cands: 4, resources: 2},
	{jobs: 12, cands: 4, resources: 3, decades: 1, copies: true},
	{jobs: 12, cands: 5, resources: 3, ties: true},
	{jobs: 10, cands: 4, resources: 4, decades: 1, several: true},
	{jobs: 10, cands: 4, resources: 4, ties: true, several: true, zeros: true, copies: true},
	{jobs: 10, cands: 4, resources: 3, decades: 6},
	{jobs: 1, cands: 9, resources: 3, decades: 1, several: true},
}

// The objective equals that of gonum's simplex.
func TestSolveTwin(t *testing.T) {
	for _, objective := range []Objective{Sum, MaxMin} {
		for i, f := range families {
			f.objective = objective
			r := rng.New(uint64(i), "twin")
			for n := range 60 {
				p := f.random(r)
				t.Run(fmt.Sprintf("%d/%d/%d", objective, i, n), func(t *testing.T) {
					got, err := Solve(t.Context(), p, Options{})
					if err != nil {
						t.Fatal(err)
					}
					if got.Status != Optimal {
						t.Errorf("status %v with gap %v after %d pivots", got.Status, got.Gap, got.Pivots)
					}
					want := dense(t, p)
					if math.Abs(got.Objective-want) > 1e-7*want {
						t.Errorf("objective %v, bound %v, want %v", got.Objective, got.Bound, want)
					}
				})
			}
		}
	}
}
