package neural

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// Rows come by descending score, then by row; both zeros are equal.
func TestRowsComeByScore(t *testing.T) {
	scores := []float32{
		0, float32(math.Copysign(0, -1)), 1, -1, 1, math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0, 1.0000001, float32(math.Copysign(0, -1)),
	}
	r := stream(1)
	for range 500 {
		scores = append(scores, math.Float32frombits(r.Uint32()))
	}
	scores = slices.DeleteFunc(scores, func(s float32) bool { return s-s != 0 })
	want := make([]int32, len(scores))
	for row := range scores {
		want[row] = int32(row)
	}
	slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
	d := decision{scores: scores}
	d.sortRows()
	for i, at := range d.order {
		if at.Index != want[i] {
			t.Fatalf("place %d: row %d with score %v, want row %d with score %v", i, at.Index, scores[at.Index], want[i], scores[want[i]])
		}
	}
}
