package gavel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Python 3.11: r = random.Random(seed); three times r.getrandbits(32), then
// four times r.shuffle of [0, 1, 2] and once of range(10); 700 words later one
// more getrandbits(32) and r.random().
func TestMersenneIsPythons(t *testing.T) {
	for _, test := range []struct {
		seed  uint64
		words []uint32
		three [][]int
		ten   []int
		later uint32
		next  float64
	}{
		{5, []uint32{2675342405, 1097127993, 3185950873}, [][]int{{2, 0, 1}, {2, 0, 1}, {1, 0, 2}, {1, 2, 0}}, []int{6, 2, 9, 1, 0, 4, 8, 3, 7, 5}, 1711675508, 0.8784571187475307},
		{0, []uint32{3626764237, 1654615998, 3255389356}, [][]int{{2, 0, 1}, {0, 2, 1}, {0, 2, 1}, {0, 2, 1}}, []int{5, 4, 8, 6, 0, 1, 7, 2, 3, 9}, 3731876939, 0.9155142682747232},
		{1<<40 + 7, []uint32{2635837658, 3209733218, 3500038837}, [][]int{{0, 1, 2}, {2, 0, 1}, {0, 1, 2}, {0, 1, 2}}, []int{4, 0, 5, 3, 1, 2, 9, 8, 7, 6}, 3015574433, 0.7605525418664407},
	} {
		m := newMersenne(test.seed)
		for i, want := range test.words {
			if got := m.uint32(); got != want {
				t.Errorf("seed %d: word %d is %d, want %d", test.seed, i, got, want)
			}
		}
		for i, want := range test.three {
			got := []int{0, 1, 2}
			m.shuffle(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d: shuffle %d (-want +got):\n%s", test.seed, i, diff)
			}
		}
		ten := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
		m.shuffle(ten)
		if diff := cmp.Diff(test.ten, ten); diff != "" {
			t.Errorf("seed %d: shuffle of ten (-want +got):\n%s", test.seed, diff)
		}
		for range 700 {
			m.uint32()
		}
		if word, next := m.uint32(), m.float64(); word != test.later || next != test.next {
			t.Errorf("seed %d: after 700 words: got %d and %v, want %d and %v", test.seed, word, next, test.later, test.next)
		}
	}
}
