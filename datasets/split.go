package datasets

import (
	"fmt"
	"math"
	"slices"
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
	sum := 0.0
	for _, f := range fractions {
		if !(f > 0 && f <= 1) {
			return nil, fmt.Errorf("datasets: split %s: fraction %v, want > 0 and at most 1", j.Name, f)
		}
		sum += f
	}
	if len(fractions) == 0 || sum > 1+1e-9 {
		return nil, fmt.Errorf("datasets: split %s: fractions %v sum to %v, want > 0 and at most 1", j.Name, fractions, sum)
	}
	parts := make([]*Jobs, len(fractions))
	from, cumulated := 0, 0.0
	for i, f := range fractions {
		cumulated += f
		to := min(len(j.Rows), int(math.Round(cumulated*float64(len(j.Rows)))))
		if to <= from {
			return nil, fmt.Errorf("datasets: split %s: part %d of %v has none of the %d rows; use larger fractions or more jobs", j.Name, i+1, fractions, len(j.Rows))
		}
		part := &Jobs{Name: j.Name, Meta: j.Meta, Rows: j.Rows[from:to:to]}
		part.Meta.Filters = append(slices.Clone(j.Meta.Filters), fmt.Sprintf("rows %d to %d of %d by submission", from+1, to, len(j.Rows)))
		parts[i] = part
		from = to
	}
	return parts, nil
}
