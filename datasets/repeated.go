package datasets

import (
	"cmp"
	"iter"
	"slices"
)

// repeatedIDs yields the positions of ids that there are twice, each with the one
// before it of the same id.
func repeatedIDs(ids []int64) iter.Seq2[int, int] {
	return func(yield func(earlier, later int) bool) {
		order := make([]int32, len(ids)) // MaxRows fits
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(ids[a], ids[b]), cmp.Compare(a, b))
		})
		for i := 1; i < len(order); i++ {
			if ids[order[i]] == ids[order[i-1]] && !yield(int(order[i-1]), int(order[i])) {
				return
			}
		}
	}
}

// ids returns the ids of the rows, in their order.
func (j *Jobs) ids() []int64 {
	all := make([]int64, len(j.Rows))
	for i := range j.Rows {
		all[i] = j.Rows[i].ID
	}
	return all
}
