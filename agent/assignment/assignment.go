// Package assignment solves the linear assignment problem: give each row of a
// cost matrix a column of its own so that the sum of the costs is least.
//
// # Method
//
// Rows are added one by one; for each, a shortest augmenting path is found in
// the reduced costs with Dijkstra's algorithm (Jonker and Volgenant, Computing
// 1987), in the form for matrices with more columns than rows of Crouse ("On
// implementing 2D rectangular assignment algorithms", IEEE Trans. Aerosp.
// Electron. Syst. 2016). Time is O(R²·C), memory O(R + C) beside the matrix.
//
// # Ties
//
// Of several best assignments the one returned is that of SciPy's
// scipy.optimize.linear_sum_assignment (1.4 and later), which Gavel's AlloX
// depends on: columns that are still to be reached are kept in the order that
// rectangular_lsap.cpp keeps them in, and of those that are equally near a free
// one comes first. So a constant matrix gets the identity.
//
// # Limits
//
// Costs are numbers from -1e300 to 1e300. There are at least as many columns as
// rows.
package assignment

import (
	"errors"
	"fmt"
	"math"
)

// ErrCost is wrapped by the errors of malformed cost matrices.
var ErrCost = errors.New("assignment: malformed costs")

// maxCost leaves room for the sums of a path.
const maxCost = 1e300

// none marks a row or column without a partner.
const none = -1

// Solver keeps scratch memory between problems. The zero value is ready to
// use; it is not safe for concurrent use.
type Solver struct {
	u, v     []float64 // dual values of rows and columns
	colOf    []int32   // [R] column of a row, or none
	rowOf    []int32   // [C] row of a column, or none
	distance []float64 // [C] of the shortest path to a column
	from     []int32   // [C] row before it on that path
	open     []int32   // columns not yet reached
	rows     []int32   // rows on the tree, the one to add first
	columns  []int32   // columns on the tree
}

// Solve returns the column of each row, shape [rows], borrowed until the next
// call. cost has shape [rows·columns], row-major, and is only read.
func (s *Solver) Solve(cost []float64, rows, columns int) ([]int32, error) {
	if rows < 0 || columns < rows || columns > math.MaxInt32 || len(cost) != rows*columns {
		return nil, fmt.Errorf("%w: %d costs for %d rows and %d columns, want at least as many columns as rows", ErrCost, len(cost), rows, columns)
	}
	for i, c := range cost {
		if !(math.Abs(c) <= maxCost) {
			return nil, fmt.Errorf("%w: row %d, column %d is %v, want -1e300 to 1e300", ErrCost, i/columns, i%columns, c)
		}
	}
	s.init(rows, columns)
	for row := range rows {
		s.add(cost, int32(row), columns)
	}
	return s.colOf, nil
}

func (s *Solver) init(rows, columns int) {
	s.u, s.v = zeroed(s.u, rows), zeroed(s.v, columns)
	s.distance = zeroed(s.distance, columns)
	s.colOf, s.rowOf = filled(s.colOf, rows, none), filled(s.rowOf, columns, none)
	s.from, s.open = filled(s.from, columns, none), filled(s.open, columns, 0)
}

// add gives row a column, moving others where that is cheaper.
func (s *Solver) add(cost []float64, row int32, columns int) {
	sink, length := s.search(cost, row, columns)
	s.u[row] += length
	for _, i := range s.rows[1:] {
		s.u[i] += length - s.distance[s.colOf[i]]
	}
	for _, j := range s.columns {
		s.v[j] -= length - s.distance[j]
	}
	for j := sink; ; {
		i := s.from[j]
		s.rowOf[j] = i
		s.colOf[i], j = j, s.colOf[i]
		if i == row {
			return
		}
	}
}

// search finds the shortest path from row to a column that is free, and its
// length.
func (s *Solver) search(cost []float64, row int32, columns int) (int32, float64) {
	open := s.open[:columns]
	for k := range open {
		open[k] = int32(columns - 1 - k)
		s.distance[k] = math.Inf(1)
	}
	s.rows, s.columns = s.rows[:0], s.columns[:0]
	length := 0.0
	for i := row; ; {
		s.rows = append(s.rows, i)
		at := s.relax(cost[int(i)*columns:int(i+1)*columns], i, open, length)
		j := open[at]
		length = s.distance[j]
		s.columns = append(s.columns, j)
		open[at] = open[len(open)-1]
		open = open[:len(open)-1]
		if s.rowOf[j] == none {
			return j, length
		}
		i = s.rowOf[j]
	}
}

// relax shortens the paths to the open columns by way of row i, at this length
// from the start, and returns the position of the nearest column.
func (s *Solver) relax(cost []float64, i int32, open []int32, length float64) int {
	nearest, at := math.Inf(1), 0
	for k, j := range open {
		if d := length + cost[j] - s.u[i] - s.v[j]; d < s.distance[j] {
			s.distance[j] = d
			s.from[j] = i
		}
		if d := s.distance[j]; d < nearest || d == nearest && s.rowOf[j] == none {
			nearest, at = d, k
		}
	}
	return at
}

func zeroed(x []float64, n int) []float64 {
	if cap(x) < n {
		return make([]float64, n, 2*n) // problems that grow by a row at a time shall not allocate each time
	}
	x = x[:n]
	clear(x)
	return x
}

func filled(x []int32, n int, with int32) []int32 {
	if cap(x) < n {
		x = make([]int32, n, 2*n)
	}
	x = x[:n]
	for i := range x {
		x[i] = with
	}
	return x
}
