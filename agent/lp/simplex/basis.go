package simplex

import (
	"cmp"
	"math"
	"slices"
)

// row returns the row of the inverse that belongs to basic column r.
func (e *core) row(r int) []float64 {
	k := len(e.cols)
	return e.inverse[r*k : r*k+k]
}

// usageOf writes the usage of column c to dst, shape [k].
func (e *core) usageOf(dst []float64, c column) {
	clear(dst)
	switch c.job {
	case over:
		dst[c.lo] = -1
	case under:
		dst[c.lo] = 1
	case scale:
		for k, v := range e.capacity {
			dst[k] = -v
		}
	default:
		e.in.addColumn(dst, c, 1)
	}
}

// relativeUsage writes the usage of c less that of its job's key to dst.
func (e *core) relativeUsage(dst []float64, c column) {
	e.usageOf(dst, c)
	if c.job >= 0 {
		e.in.addColumn(dst, e.keys[c.job], -1)
	}
}

// solve writes inverse·v to dst.
func (e *core) solve(dst, v []float64) {
	for r := range dst {
		sum := 0.0
		for i, a := range e.row(r) {
			sum += a * v[i]
		}
		dst[r] = sum
	}
}

// isBasic reports whether c is in the basis.
func (e *core) isBasic(c column) bool {
	return slices.Contains(e.cols, c)
}

// heaviest returns the basic column of job j of the largest value, or none.
func (e *core) heaviest(j int32) int {
	best := none
	for r, c := range e.cols {
		if c.job == j && (best == none || e.x[r] > e.x[best]) {
			best = r
		}
	}
	return best
}

// swapKey makes basic column r the key of its job and the key, whose value is
// what the job's basic columns leave, basic in its place. Relative to the new
// key, the inverse changes in row r only.
func (e *core) swapKey(r int) {
	j := e.cols[r].job
	row := e.row(r)
	for q, c := range e.cols {
		if c.job == j && q != r {
			for i, v := range e.row(q) {
				row[i] += v
			}
		}
	}
	for i := range row {
		row[i] = -row[i]
	}
	e.keys[j], e.cols[r] = e.cols[r], e.keys[j]
}

// replace puts c with value x in place of basic column r, by one elimination
// step with pivot w[r].
func (e *core) replace(r int, c column, x float64) {
	e.cols[r], e.x[r] = c, x
	pivotRow := e.row(r)
	f := 1 / e.w[r]
	for i := range pivotRow {
		pivotRow[i] *= f
	}
	for q, w := range e.w {
		if q == r || w == 0 {
			continue
		}
		row := e.row(q)
		for i, v := range pivotRow {
			row[i] -= w * v
		}
	}
	e.updates++
}

// factorize recomputes inverse, basic values and prices from the columns. It
// reports false if the basis has become singular to working precision.
func (e *core) factorize() bool {
	k := len(e.cols)
	m := e.matrix
	clear(m)
	for c, col := range e.cols {
		e.relativeUsage(e.d, col)
		for r, v := range e.d {
			m[2*k*r+c] = v
		}
		m[2*k*c+k+c] = 1
	}
	if !eliminate(m, k, 2*k) {
		return false
	}
	for r := range k {
		copy(e.row(r), m[2*k*r+k:2*k*r+2*k])
	}
	e.updates = 0
	copy(e.d, e.limit)
	for k, u := range e.usageOfKeys() {
		e.d[k] -= u
	}
	e.solve(e.x, e.d)
	e.computePrices()
	return true
}

// eliminate turns [A | B], shape [k,width], into [I | A⁻¹·B] by Gauss and Jordan's
// elimination with row pivoting. It reports false if A is singular.
func eliminate(m []float64, k, width int) bool {
	for c := range k {
		p := c
		for r := c + 1; r < k; r++ {
			if math.Abs(m[width*r+c]) > math.Abs(m[width*p+c]) {
				p = r
			}
		}
		pivot := m[width*p+c]
		if !(math.Abs(pivot) > 1e-290) { // also NaN
			return false
		}
		row := m[width*c+c : width*c+width] // what is left of it is 0 already
		if p != c {
			other := m[width*p+c : width*p+width]
			for i := range row {
				row[i], other[i] = other[i], row[i]
			}
		}
		for i := range row {
			row[i] /= pivot
		}
		for r := range k {
			f := m[width*r+c]
			if r == c || f == 0 {
				continue
			}
			target := m[width*r+c : width*r+width]
			for i, v := range row {
				target[i] -= f * v
			}
		}
	}
	return true
}

// start makes keys, which fit the prices, and elastic columns the basis. Rows
// in which the keys take more than the limit are over, the others under.
func (e *core) start() bool {
	copy(e.limit, e.capacity)
	used := e.usageOfKeys()
	for k, u := range used {
		e.cols[k] = column{job: under, lo: int32(k)}
		if u > e.limit[k] {
			e.cols[k].job = over
		}
	}
	return e.factorize()
}

// startScaled is start for the program in which all capacities are scaled by θ,
// which costs 1: θ is basic in the row where the box lets prices·capacity be 1,
// going through the rows from the tightest on.
func (e *core) startScaled() bool {
	clear(e.limit)
	used := e.usageOfKeys()
	order := make([]int32, len(used))
	total := 0.0
	for k := range order {
		order[k] = int32(k)
		total += e.box.low[k] * e.capacity[k]
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(used[b]/e.capacity[b], used[a]/e.capacity[a]), cmp.Compare(a, b))
	})
	kind := int32(over)
	for i, k := range order {
		total += (e.box.high[k] - e.box.low[k]) * e.capacity[k]
		e.cols[i] = column{job: kind, lo: k}
		if kind == over && (total >= 1 || i == len(order)-1) {
			e.cols[i] = column{job: scale}
			kind = under
		}
	}
	return e.factorize()
}

// usageOfKeys returns what the keys take, shape [k].
func (e *core) usageOfKeys() []float64 {
	t := tally{in: e.in, taken: e.taken}
	for _, j := range e.jobs {
		t.column(e.keys[j], e.in.count[j])
	}
	used := make([]float64, len(e.cols))
	t.add(used)
	return used
}

// tally sums up what columns of jobs take, first by usage vector: the amounts are
// looked up once for each.
type tally struct {
	in    *instance
	taken []float64 // [q], all 0 before the first column and after add
}

// column counts a job's column f times.
func (t *tally) column(c column, f float64) {
	if c.lo != none {
		t.taken[t.in.vector[c.lo]] += f * (1 - c.weight)
	}
	if c.hi != none {
		t.taken[t.in.vector[c.hi]] += f * c.weight
	}
}

// add adds the usage to dst, shape [k], and begins anew.
func (t *tally) add(dst []float64) {
	for q, n := range t.taken {
		if n != 0 {
			t.in.addVector(dst, int32(q), n)
			t.taken[q] = 0
		}
	}
}
