package datasets

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// Split cuts j into consecutive parts in the order of submission, part i
// holding the given fraction of the rows (not of the time span: traces start
// and end thinly, and a part without jobs is of no use). Fractions are > 0 and
// sum to at most 1; what they leave is dropped from the end. Boundaries are
// rounded to the nearest row, and every part has at least one.
//
// The parts share j's rows and keep its metadata, with one filter added that
// names the part. Times stay those of j: they are not rebased.
func (j *Jobs) Split(fractions ...float64) ([]*Jobs, error) {
	return j.splitAt(fractions, func(cumulated float64) int {
		return int(math.Round(cumulated * float64(len(j.Rows))))
	})
}

// SplitSpan is [Jobs.Split] by fractions of the time from the first submission
// to the last: a job belongs to the part in whose time it was submitted.
func (j *Jobs) SplitSpan(fractions ...float64) ([]*Jobs, error) {
	if len(j.Rows) == 0 {
		return j.Split(fractions...)
	}
	first, last := j.Rows[0].Submit, j.Rows[len(j.Rows)-1].Submit
	return j.splitAt(fractions, func(cumulated float64) int {
		if cumulated >= 1-fractionSlack {
			return len(j.Rows) // the last submission is part of the last part
		}
		return j.search(first + time.Duration(math.Round(cumulated*float64(last-first))))
	})
}

// fractionSlack is how far fractions that should sum to 1 may be off it.
const fractionSlack = 1e-9

// splitAt cuts j at the rows that end gives for the sums of the fractions.
func (j *Jobs) splitAt(fractions []float64, end func(cumulated float64) int) ([]*Jobs, error) {
	sum := 0.0
	for _, f := range fractions {
		if !(f > 0 && f <= 1) {
			return nil, fmt.Errorf("datasets: split %s: fraction %v, want > 0 and at most 1", j.Name, f)
		}
		sum += f
	}
	if len(fractions) == 0 || sum > 1+fractionSlack {
		return nil, fmt.Errorf("datasets: split %s: fractions %v sum to %v, want > 0 and at most 1", j.Name, fractions, sum)
	}
	parts := make([]*Jobs, len(fractions))
	from, cumulated := 0, 0.0
	for i, f := range fractions {
		cumulated += f
		to := min(len(j.Rows), end(cumulated))
		if to <= from {
			return nil, fmt.Errorf("datasets: split %s: part %d of %v has none of the %d rows; use larger fractions or more jobs", j.Name, i+1, fractions, len(j.Rows))
		}
		parts[i] = j.derive(j.Rows[from:to:to], fmt.Sprintf("rows %d to %d of %d by submission", from+1, to, len(j.Rows)))
		from = to
	}
	return parts, nil
}

// derive returns a table of rows with j's name and metadata and one filter more,
// which says what was done to j.
func (j *Jobs) derive(rows []Row, filter string) *Jobs {
	derived := &Jobs{Name: j.Name, Meta: j.Meta, Rows: rows}
	derived.Meta.Filters = append(slices.Clone(j.Meta.Filters), filter)
	return derived
}

// search returns the position of the first row submitted at or after at.
func (j *Jobs) search(at time.Duration) int {
	return sort.Search(len(j.Rows), func(i int) bool { return j.Rows[i].Submit >= at })
}
