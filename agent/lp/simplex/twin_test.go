package simplex

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// dense solves p with gonum's simplex: slow, but general. In standard form,
// minimise c·v with A·v = b and v >= 0, the columns are the candidates that can
// matter, z for MaxMin, and a slack for each row; the slacks are a basis.
func dense(p *Problem) (float64, error) {
	in := newInstance(p)
	if in.n == 0 {
		return 0, nil
	}
	m, rows := len(in.rate), in.n+in.k
	cols := m + rows
	if p.Objective == MaxMin {
		rows, cols = rows+in.n, cols+in.n+1
	}
	a, b, c := mat.NewDense(rows, cols, nil), make([]float64, rows), make([]float64, cols)
	basis := make([]int, rows)
	for r := range rows {
		basis[r] = cols - rows + r
		a.Set(r, basis[r], 1)
	}
	for j := range in.n {
		b[j] = 1
		for i := in.start[j]; i < in.start[j+1]; i++ {
			original := in.originOf(i)
			a.Set(j, int(i), 1)
			for r, k := range in.resource {
				for _, u := range p.Usages[p.Usage[original]] {
					if u.Resource == k {
						a.Set(in.n+r, int(i), u.Amount)
					}
				}
			}
			if p.Objective == Sum {
				c[i] = -p.Rate[original]
			} else {
				a.Set(in.n+in.k+j, int(i), -p.Rate[original]/p.Target[in.job[j]])
			}
		}
		if p.Objective == MaxMin {
			a.Set(in.n+in.k+j, m, 1)
			c[m] = -1
		}
	}
	for r, k := range in.resource {
		b[in.n+r] = p.Capacity[k]
	}
	opt, _, err := lp.Simplex(c, a, b, 1e-12, basis)
	return -opt, err
}

var families = []family{
	{jobs: 12, cands: 4, resources: 2},
	{jobs: 12, cands: 4, resources: 3, decades: 1, copies: true},
	{jobs: 12, cands: 5, resources: 3, ties: true},
	{jobs: 10, cands: 4, resources: 4, decades: 1, several: true},
	{jobs: 10, cands: 4, resources: 4, ties: true, several: true, zeros: true, copies: true},
	{jobs: 10, cands: 4, resources: 3, decades: 6, several: true},
	{jobs: 1, cands: 9, resources: 3, decades: 1, several: true},
	{jobs: 12, cands: 3, resources: 2, decades: 1, ample: true},
}

var objectives = []struct {
	name      string
	objective Objective
}{{"sum", Sum}, {"maxmin", MaxMin}}

// forFamilies runs check on n random problems of each family.
func forFamilies(t *testing.T, n int, check func(t *testing.T, p *Problem)) {
	t.Helper()
	for _, o := range objectives {
		for i, f := range families {
			f.objective = o.objective
			t.Run(o.name, func(t *testing.T) {
				r := rng.New(uint64(i), "families")
				for range n {
					check(t, f.random(r))
				}
			})
		}
	}
}

// mustSolve solves p, which Check has approved by then, to optimality.
func mustSolve(t *testing.T, p *Problem, o Options) *Result {
	t.Helper()
	r, err := Solve(t.Context(), p, o)
	if err != nil {
		t.Fatalf("%v\n%+v", err, p)
	}
	if r.Status != Optimal {
		t.Errorf("%v with gap %v after %d pivots\n%+v", r.Status, r.Gap, r.Pivots, p)
	}
	return r
}

// The objective equals that of gonum's simplex. Primal equals dual: Solve has it
// checked that Bound follows from the prices.
func TestSolveTwin(t *testing.T) {
	compared, failed := 0, 0
	forFamilies(t, 50, func(t *testing.T, p *Problem) {
		got := mustSolve(t, p, Options{})
		want, err := dense(p)
		if err != nil {
			failed++
			return
		}
		compared++
		if math.Abs(got.Objective-want) > 1e-7*want {
			t.Errorf("objective %v, bound %v, want %v\n%+v", got.Objective, got.Bound, want, p)
		}
	})
	if compared < 750 || failed > compared/50 {
		t.Errorf("compared %d problems, gonum's simplex failed on %d", compared, failed)
	}
}
