package neural

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/radix"
)

// stopRow is the row of JobStrategy-v0's observation that ends the round.
const stopRow = 0

// pick goes through the rows by descending score and takes each whose job has
// none yet and which fits, until stop. Stop is not legal before the
// first pick: reached earlier, it ends the round right after it. The result is in
// the memory of a where that is enough. O(N).
func (d *decision) pick(a env.Allocation, s *env.State) env.Allocation {
	candidates := d.encoder.Candidates()
	d.sortRows()
	d.budget.Reset(s)
	if cap(a) < len(s.Jobs) {
		a = make(env.Allocation, len(s.Jobs))
	}
	a = a[:len(s.Jobs)]
	for i := range a {
		a[i] = env.Idle
	}
	picked, stop := false, false
	for _, at := range d.order {
		row := at.Index
		if row == stopRow {
			if picked {
				break
			}
			stop = true
			continue
		}
		c := candidates[row]
		if a[c.Job] != env.Idle {
			continue
		}
		j := &s.Jobs[c.Job]
		st := &j.Strategies[c.Strategy]
		if !d.budget.Fits(j, st) {
			continue
		}
		a[c.Job] = int(c.Strategy)
		d.budget.Take(j, st)
		picked = true
		if stop || d.budget.Exhausted() {
			break
		}
	}
	return a
}

// sortRows fills d.order with the rows by descending score, the lowest row first
// among equals. Scores must not be NaN.
func (d *decision) sortRows() {
	d.order = grow(d.order, len(d.scores))
	for row, score := range d.scores {
		d.order[row] = radix.Item{Key: math.MaxUint32 - radix.Float32(score), Index: int32(row)}
	}
	d.sorter.Sort(d.order)
}
