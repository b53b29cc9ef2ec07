package simplex

import "math"

// leaving says what the entering column drives out: basic column row, or the
// key of job if that is not none.
type leaving struct {
	row   int
	job   int32
	step  float64 // value of the entering column
	pivot float64 // pivot element, also after a swap of keys
}

// touched is a job whose key changes with the entering column.
type touched struct {
	job      int32
	x, slope float64 // value of its key, and its change per unit
}

// ratioTest finds what leaves when c, whose relative column is w, enters:
// Harris' rule, the largest pivot among those that allow about the shortest
// step. θ never leaves.
func (e *core) ratioTest(c column) (leaving, bool) {
	e.touch(c)
	largest := 0.0
	for _, w := range e.w {
		largest = max(largest, math.Abs(w))
	}
	for _, t := range e.touched {
		largest = max(largest, math.Abs(t.slope))
	}
	least := tinyPivot * largest
	limit := math.Inf(1)
	for r, w := range e.w {
		if w > least && e.cols[r].job != scale {
			limit = min(limit, (e.x[r]+e.slack)/w)
		}
	}
	for _, t := range e.touched {
		if -t.slope > least {
			limit = min(limit, (t.x+e.slack)/-t.slope)
		}
	}
	out := leaving{row: none, job: none}
	for r, w := range e.w {
		if w > least && e.cols[r].job != scale && e.x[r]/w <= limit && w > out.pivot {
			out = leaving{r, none, e.x[r] / w, w}
		}
	}
	for _, t := range e.touched {
		if p := -t.slope; p > least && t.x/p <= limit && p > out.pivot {
			out = leaving{none, t.job, t.x / p, p}
		}
	}
	out.step = max(out.step, 0)
	return out, out.pivot > 0
}

// touch lists the jobs whose keys change when c enters.
func (e *core) touch(c column) {
	e.touched = e.touched[:0]
	if c.job >= 0 {
		e.touchJob(c.job, 0, -1)
	}
	for r, b := range e.cols {
		if b.job >= 0 {
			e.touchJob(b.job, e.x[r], e.w[r])
		}
	}
}

func (e *core) touchJob(j int32, x, slope float64) {
	for i := range e.touched {
		if t := &e.touched[i]; t.job == j {
			t.x -= x
			t.slope += slope
			return
		}
	}
	e.touched = append(e.touched, touched{j, e.in.count[j] - x, slope})
}
