package datasets

import (
	"cmp"
	"iter"
	"slices"
)

// repeatedIDs yields the positions of rows whose id another row has, each with
// that of the row before it with the same id.
func repeatedIDs(rows []Row) iter.Seq2[int, int] {
	return func(yield func(earlier, later int) bool) {
		order := make([]int32, len(rows)) // MaxRows fits
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(rows[a].ID, rows[b].ID), cmp.Compare(a, b))
		})
		for i := 1; i < len(order); i++ {
			if rows[order[i]].ID == rows[order[i-1]].ID && !yield(int(order[i-1]), int(order[i])) {
				return
			}
		}
	}
}
