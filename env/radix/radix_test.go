package radix

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env/rng"
)

// The sorter and a stable sort by comparisons agree, whatever the keys: few bits
// and many, all equal, of every number.
func TestSortEqualsStableSort(t *testing.T) {
	var s Sorter
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(0, 64).Draw(t, "bits")
		keys := rapid.SliceOfN(rapid.Uint64(), 0, 300).Draw(t, "keys")
		items := make([]Item, len(keys))
		for i, k := range keys {
			items[i] = Item{k & (1<<bits - 1), int32(i)}
		}
		want := slices.Clone(items)
		slices.SortStableFunc(want, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
		s.Sort(items)
		if !slices.Equal(items, want) {
			t.Fatalf("got %v, want %v", items, want)
		}
	})
}

// Keys order as the numbers do.
func TestKeysOrderAsNumbersDo(t *testing.T) {
	numbers := []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0, math.SmallestNonzeroFloat64, 1, 1 + 0x1p-52, math.MaxFloat64, math.Inf(1)}
	for _, a := range numbers {
		for _, b := range numbers {
			if got, want := cmp.Compare(Float64(a), Float64(b)), cmp.Compare(a, b); got != want {
				t.Errorf("Float64: %v against %v: got %d, want %d", a, b, got, want)
			}
			x, y := float32(a), float32(b)
			if got, want := cmp.Compare(Float32(x), Float32(y)), cmp.Compare(x, y); got != want {
				t.Errorf("Float32: %v against %v: got %d, want %d", x, y, got, want)
			}
		}
	}
}

func TestSortDoesNotAllocate(t *testing.T) {
	var s Sorter
	items := random(1000)
	s.Sort(items)
	if got := testing.AllocsPerRun(10, func() { s.Sort(items) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

func random(n int) []Item {
	r := rng.New(1, "radix")
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{Float32(float32(r.NormFloat64())), int32(i)}
	}
	return items
}

// BenchmarkSort sorts keys of float32 beside the library's sort of packed keys.
func BenchmarkSort(b *testing.B) {
	for _, n := range []int{181, 16_001, 160_001} {
		items := random(n)
		b.Run(fmt.Sprintf("radix/%d", n), func(b *testing.B) {
			var s Sorter
			scratch := make([]Item, n)
			b.ReportAllocs()
			for b.Loop() {
				copy(scratch, items)
				s.Sort(scratch)
			}
		})
		b.Run(fmt.Sprintf("slices/%d", n), func(b *testing.B) {
			packed := make([]uint64, n)
			for b.Loop() {
				for i, it := range items {
					packed[i] = it.Key<<32 | uint64(it.Index)
				}
				slices.Sort(packed)
			}
		})
	}
}
