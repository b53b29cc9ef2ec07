package gavel

import (
	"math"
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

// Python 3.11: the sum of -math.log(1 - r.random()) / (1/mean), where r is
// random.Random(3), as in scheduler.py with seed 0.
func TestArrivals(t *testing.T) {
	want := []float64{0, 244.5860729103015, 951.7748275290958, 1367.5426956563874, 2201.0679444933708}
	if diff := cmp.Diff(want, Arrivals(0, 900, 5)); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	at := Arrivals(7, 1, 20_000)
	if mean := at[len(at)-1] / float64(len(at)-1); math.Abs(mean-1) > 0.03 {
		t.Errorf("the mean gap is %v, want 1", mean)
	}
	if len(Arrivals(1, 1, 0)) != 0 {
		t.Error("got arrivals of no jobs")
	}
}

// Correctly rounded logarithms (Python's decimal with 50 digits), and the
// neighbourhood of math.Log elsewhere.
func TestLogarithm(t *testing.T) {
	for x, want := range map[float64]float64{
		1: 0, 0.5: -0.6931471805599453, 0.7071067811865475: -0.34657359027997275, 0.7071067811865476: -0.3465735902799726,
		1 - 0x1p-53: -1.1102230246251565e-16, 0x1p-53: -36.7368005696771, 0.1: -2.3025850929940455, 1.0 / 3: -1.0986122886681098,
	} {
		if got := logarithm(x); got != want {
			t.Errorf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
	m := newMersenne(1)
	for range 5000 {
		x := 1 - m.float64()
		got, near := logarithm(x), math.Log(x)
		if got != near && got != math.Nextafter(near, 0) && got != math.Nextafter(near, -100) {
			t.Errorf("logarithm(%v) = %v, far from %v", x, got, near)
		}
	}
}
