package oracle

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/yardmaster/yardmaster/agent/lp/simplex"
	"github.com/yardmaster/yardmaster/env/rng"
)

// dense solves m with gonum's simplex: slow, but general.
func dense(m *Model) (float64, error) {
	var high, equal []Row
	for _, r := range m.Rows {
		if r.Low == r.High {
			equal = append(equal, r)
			continue
		}
		if !math.IsInf(r.High, 1) {
			high = append(high, r)
		}
		if !math.IsInf(r.Low, -1) {
			turned := Row{High: -r.Low}
			for _, t := range r.Terms {
				turned.Terms = append(turned.Terms, Term{t.Column, -t.Value})
			}
			high = append(high, turned)
		}
	}
	n := len(m.Cost)
	a := mat.NewDense(len(high)+len(equal), n+len(high), nil)
	b := make([]float64, len(high)+len(equal))
	c := append(append([]float64(nil), m.Cost...), make([]float64, len(high))...)
	for i, r := range append(high, equal...) {
		for _, t := range r.Terms {
			a.Set(i, t.Column, a.At(i, t.Column)+t.Value)
		}
		if b[i] = r.High; i < len(high) {
			a.Set(i, n+i, 1)
		}
	}
	optimum, _, err := lp.Simplex(c, a, b, 1e-11, nil)
	return optimum, err
}

// The objective of every kind of program equals that of gonum's simplex, and what
// one calls infeasible is so for the other.
func TestTwin(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			r := rng.New(1, "oracle/"+kind)
			compared, infeasible, failed := 0, 0, 0
			size := Size{Jobs: 7, Candidates: 4, Resources: 3}
			if kind == "total" {
				size.Jobs = 3 // with a row for each tangent, more is slow
			}
			for i := range 150 {
				p := Random(r, kind, size)
				got, err := simplex.Solve(t.Context(), p, simplex.Options{})
				if err != nil {
					t.Fatalf("%d: %v\n%+v", i, err, p)
				}
				if got.Status != simplex.Optimal && got.Status != simplex.Infeasible {
					t.Errorf("%d: %v, objective %v, bound %v, gap %v, %d pivots\n%.600s", i, got.Status, got.Objective, got.Bound, got.Gap, got.Pivots, fmt.Sprintf("%+v", p))
					continue
				}
				m := FromProblem(p, got)
				if len(m.Cost) == 0 || len(m.Rows) == 0 {
					continue
				}
				want, err := dense(m)
				switch {
				case errors.Is(err, lp.ErrInfeasible):
					infeasible++
					if got.Status != simplex.Infeasible {
						t.Errorf("%d: %v, gonum says infeasible\n%+v", i, got.Status, p)
					}
				case err != nil:
					failed++
				case got.Status == simplex.Infeasible:
					t.Errorf("%d: infeasible, gonum says %v\n%+v", i, want, p)
				default:
					compared++
					if want = m.Objective(want); math.Abs(got.Objective-want) > 1e-6*max(math.Abs(want), m.Size) {
						t.Errorf("%d: objective %v, bound %v, want %v\n%+v", i, got.Objective, got.Bound, want, p)
					}
				}
			}
			t.Logf("%d compared, %d infeasible, gonum failed on %d", compared, infeasible, failed)
			if compared < 60 {
				t.Errorf("only %d problems compared", compared)
			}
		})
	}
}
