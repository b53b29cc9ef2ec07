package neural

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// Sorting the keys is sorting by descending score, then by row; both zeros are
// equal.
func TestSortKeyOrders(t *testing.T) {
	scores := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 1, math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0, 1.0000001, float32(math.Copysign(0, -1)),
	}
	r := stream(1)
	for range 500 {
		scores = append(scores, math.Float32frombits(r.Uint32()))
	}
	scores = slices.DeleteFunc(scores, func(s float32) bool { return s-s != 0 })
	want := make([]int, len(scores))
	var keys []uint64
	for row, s := range scores {
		want[row] = row
		keys = append(keys, sortKey(s, row))
	}
	slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	slices.Sort(keys)
	for i, key := range keys {
		if got := rowOf(key); got != want[i] {
			t.Fatalf("place %d: row %d with score %v, want row %d with score %v", i, got, scores[got], want[i], scores[want[i]])
		}
	}
}
