package neural

import (
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// stopRow is the row of JobStrategy-v0's observation that ends the round.
const stopRow = 0

// pick goes through the rows by descending score and takes each whose job has
// none yet and which fits, until stop. Stop is not legal before the
// first pick: reached earlier, it ends the round right after it. O(N log N).
func (d *decision) pick(s *env.State) env.Allocation {
	candidates := d.encoder.Candidates()
	d.sortRows()
	d.budget.Reset(s)
	a, picked, stop := env.NewAllocation(len(s.Jobs)), false, false
	for _, key := range d.order {
		row := rowOf(key)
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
// among equals.
func (d *decision) sortRows() {
	d.order = d.order[:0]
	for row, score := range d.scores {
		d.order = append(d.order, sortKey(score, row))
	}
	slices.Sort(d.order)
}

// sortKey packs a score and a row so that ascending keys are descending scores,
// then ascending rows: sorting integers is several times faster than sorting
// through a comparison function. The upper half maps the score's bits to an
// order-preserving integer and complements it; score must not be NaN.
func sortKey(score float32, row int) uint64 {
	bits := math.Float32bits(score + 0) // -0 + 0 is +0: both zeros are equal
	if bits&(1<<31) != 0 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	return uint64(^bits)<<32 | uint64(uint32(row))
}

func rowOf(key uint64) int { return int(uint32(key)) }
