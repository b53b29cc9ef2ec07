package assignment

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// total returns the cost of an assignment, and whether it is one.
func total(cost []float64, columns int, colOf []int32) (float64, bool) {
	sum := 0.0
	taken := make([]bool, columns)
	for i, j := range colOf {
		if j < 0 || int(j) >= columns || taken[j] {
			return 0, false
		}
		taken[j] = true
		sum += cost[i*columns+int(j)]
	}
	return sum, true
}

// least returns the least cost by trying every assignment.
func least(cost []float64, rows, columns int) float64 {
	taken := make([]bool, columns)
	var try func(i int) float64
	try = func(i int) float64 {
		if i == rows {
			return 0
		}
		best := math.Inf(1)
		for j := range columns {
			if !taken[j] {
				taken[j] = true
				best = min(best, cost[i*columns+j]+try(i+1))
				taken[j] = false
			}
		}
		return best
	}
	return try(0)
}

func TestSolveEqualsBruteForce(t *testing.T) {
	var s Solver // one for all problems, whose sizes go up and down
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		columns := rapid.IntRange(max(rows, 1), 7).Draw(t, "columns")
		value := rapid.Float64Range(-100, 100)
		if rapid.Bool().Draw(t, "ties") {
			value = rapid.Map(rapid.IntRange(-2, 2), func(i int) float64 { return float64(i) })
		}
		cost := rapid.SliceOfN(value, rows*columns, rows*columns).Draw(t, "cost")
		kept := slices.Clone(cost)
		colOf, err := s.Solve(cost, rows, columns)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := total(cost, columns, colOf)
		if want := least(cost, rows, columns); !ok || len(colOf) != rows || math.Abs(got-want) > 1e-9 {
			t.Errorf("got %v, cost %v, valid: %v, want cost %v", colOf, got, ok, want)
		}
		if diff := cmp.Diff(kept, cost); diff != "" {
			t.Errorf("costs were changed:\n%s", diff)
		}
	})
}

// The dual values prove the answer best, whatever its size: reduced costs are
// >= 0 and 0 where a row has its column, and columns without a row are free.
func TestDualsCertify(t *testing.T) {
	var s Solver
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 30).Draw(t, "rows")
		columns := rows + rapid.IntRange(0, 30).Draw(t, "more")
		cost := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), rows*columns, rows*columns).Draw(t, "cost")
		colOf, err := s.Solve(cost, rows, columns)
		if err != nil {
			t.Fatal(err)
		}
		const tolerance = 1e-6
		for i := range rows {
			for j := range columns {
				reduced := cost[i*columns+j] - s.u[i] - s.v[j]
				if reduced < -tolerance || int(colOf[i]) == j && reduced > tolerance {
					t.Fatalf("row %d, column %d: reduced cost %v, assigned: %v", i, j, reduced, int(colOf[i]) == j)
				}
			}
		}
		for j := range columns {
			if s.v[j] > tolerance || s.rowOf[j] == none && s.v[j] < -tolerance {
				t.Fatalf("column %d: price %v, row %d", j, s.v[j], s.rowOf[j])
			}
		}
	})
}

// Of equally good assignments the one of SciPy 1.17.1, linear_sum_assignment.
func TestTiesAreSciPys(t *testing.T) {
	var s Solver
	for _, test := range []struct {
		rows, columns int
		digits        string // costs
		want          []int32
	}{
		{1, 1, "1", []int32{0}},
		{1, 5, "11111", []int32{0}},
		{2, 2, "1000", []int32{1, 0}},
		{2, 5, "0110010100", []int32{0, 1}},
		{3, 3, "201020211", []int32{1, 0, 2}},
		{3, 6, "111111111010010110", []int32{0, 3, 2}},
		{4, 4, "0100121222111011", []int32{0, 2, 3, 1}},
		{4, 8, "02000222021101210102201222102100", []int32{0, 4, 2, 3}},
		{5, 5, "1111110110010100001001101", []int32{0, 1, 2, 4, 3}},
		{5, 9, "121222302110013013300201130220331323321020330", []int32{7, 3, 1, 2, 5}},
		{6, 12, "100122111012100202211211012002120201201210112210102212112222012001222102", []int32{9, 2, 0, 5, 1, 3}},
		{7, 7, "0111011011101000010000001111000010001011111111110", []int32{4, 0, 5, 1, 3, 2, 6}},
	} {
		cost := make([]float64, len(test.digits))
		for i, c := range test.digits {
			cost[i] = float64(c - '0')
		}
		got, err := s.Solve(cost, test.rows, test.columns)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.digits, diff)
		}
	}
	constant := slices.Repeat([]float64{3}, 6*9)
	got, err := s.Solve(constant, 6, 9)
	if diff := cmp.Diff([]int32{0, 1, 2, 3, 4, 5}, got); err != nil || diff != "" {
		t.Errorf("constant matrix: %v (-want +got):\n%s", err, diff)
	}
}

func TestSolveRefuses(t *testing.T) {
	var s Solver
	for name, test := range map[string]struct {
		cost          []float64
		rows, columns int
	}{
		"more rows than columns": {make([]float64, 6), 3, 2},
		"wrong length":           {make([]float64, 5), 2, 3},
		"negative":               {nil, -1, 3},
		"NaN":                    {[]float64{1, math.NaN()}, 1, 2},
		"infinite":               {[]float64{1, math.Inf(1)}, 1, 2},
		"too large":              {[]float64{1, -1e301}, 1, 2},
	} {
		if _, err := s.Solve(test.cost, test.rows, test.columns); !errors.Is(err, ErrCost) {
			t.Errorf("%s: got %v, want ErrCost", name, err)
		}
	}
}

func TestLargestCosts(t *testing.T) {
	var s Solver
	got, err := s.Solve([]float64{-1e300, 1e300, 1e300, -1e300, 1e300, 1e300, -1e300, 1e300, 1e300}, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := total(make([]float64, 9), 3, got); !ok {
		t.Errorf("got %v, want an assignment", got)
	}
}

func TestSolveDoesNotAllocate(t *testing.T) {
	var s Solver
	cost := randomCost(20, 60)
	if n := testing.AllocsPerRun(10, func() { _, _ = s.Solve(cost, 20, 60) }); n != 0 {
		t.Errorf("%v allocations per problem, want 0", n)
	}
}
