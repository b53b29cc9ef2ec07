package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// masks returns nil, for all, and masks that keep some and no rows.
func masks(r *rand.Rand, rows int) [][]bool {
	some := make([]bool, rows)
	for i := range some {
		some[i] = r.IntN(3) > 0
	}
	return [][]bool{nil, some, make([]bool, rows)}
}

// Every level gives the bits of adding row by row, and rows that are not kept
// reach nothing, not even NaN.
func TestSumRowsAddsRowByRow(t *testing.T) {
	for _, s := range [][2]int{{0, 5}, {1, 1}, {3, 15}, {7, 16}, {5, 31}, {9, 32}, {20, 33}, {11, 48}, {4, 103}, {2500, 17}} {
		rows, width := s[0], s[1]
		r := rand.New(rand.NewPCG(uint64(rows), uint64(width)))
		for _, keep := range masks(r, rows) {
			x, dst := random(r, rows*width), random(r, width)
			want := slices.Clone(dst)
			for i := range rows {
				for j := range width {
					if keep == nil || keep[i] {
						want[j] += x[i*width+j]
					} else {
						x[i*width+j] = float32(math.NaN())
					}
				}
			}
			for _, l := range levels() {
				got := slices.Clone(dst)
				at(t, l, func() { SumRows(got, x, rows, keep) })
				if !slices.Equal(got, want) {
					t.Errorf("%v %dx%d: got %v, want %v", l, rows, width, got, want)
				}
			}
		}
	}
}

func TestAddToRowsAddsToEachRow(t *testing.T) {
	for _, s := range [][2]int{{0, 5}, {1, 1}, {3, 15}, {7, 16}, {5, 31}, {9, 32}, {20, 33}, {11, 48}, {4, 103}, {2500, 17}} {
		rows, width := s[0], s[1]
		r := rand.New(rand.NewPCG(uint64(rows), uint64(width)))
		for _, keep := range masks(r, rows) {
			const scale = 0.3
			x, row := random(r, rows*width), random(r, width)
			want := slices.Clone(x)
			for i := range rows {
				for j := range width {
					if keep == nil || keep[i] {
						want[i*width+j] += row[j] * scale
					}
				}
			}
			for _, l := range levels() {
				got := slices.Clone(x)
				at(t, l, func() { AddToRows(got, row, scale, rows, keep) })
				if err := near(got, want, 1e-6); err != nil {
					t.Errorf("%v %dx%d: %v", l, rows, width, err)
				}
				for i := range got {
					if keep != nil && !keep[i/width] && got[i] != x[i] {
						t.Fatalf("%v %dx%d: changed row %d, which is not kept", l, rows, width, i/width)
					}
				}
			}
		}
	}
}

// ApplyExp64 is math.Exp but for its last bits, at any place and in place.
func TestExp64EqualsMath(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	x := []float64{0, math.Copysign(0, -1), 1, -1, math.Ln2, -math.Ln2 / 2, math.Ln2 / 2, -600, 708.9, -707.9, 1e-300, -1e-17}
	for range 3000 {
		x = append(x, -600*r.Float64(), 8*r.NormFloat64())
	}
	var wide []float64
	for _, l := range levels() {
		for _, n := range []int{0, 1, 7, 8, 9, len(x)} {
			got := slices.Clone(x)
			at(t, l, func() { ApplyExp64(got[:n], got[:n]) })
			for i, v := range got[:n] {
				if want := math.Exp(x[i]); math.Abs(v-want) > 4e-16*want {
					t.Errorf("%v: exp(%v): got %v, want %v", l, x[i], v, want)
				}
			}
			if n < len(x) {
				continue
			}
			if l == AVX512 && !slices.Equal(got, wide) {
				t.Error("AVX2 and AVX-512 differ")
			}
			wide = got
		}
		limits := []float64{math.Inf(-1), -1e9, 1e9, math.Inf(1), math.NaN()}
		at(t, l, func() { ApplyExp64(limits, limits) })
		if !(limits[0] > 0) || !(limits[1] > 0) || math.IsInf(limits[2], 0) || math.IsInf(limits[3], 0) || !math.IsNaN(limits[4]) {
			t.Errorf("%v: results at the limits: %v", l, limits)
		}
	}
}

func TestSumSquares(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 100, 5000} {
		x := random(rand.New(rand.NewPCG(4, uint64(n))), n)
		want := 0.0
		for _, v := range x {
			want += float64(v) * float64(v)
		}
		var bits []float64
		for _, l := range levels() {
			at(t, l, func() { bits = append(bits, SumSquares(x)) })
		}
		for i, got := range bits {
			if math.Abs(got-want) > 1e-13*want || got != bits[0] {
				t.Errorf("%d values, %v: got %v, want %v, and the bits of every level", n, levels()[i], got, want)
			}
		}
	}
}

func TestScale(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 100} {
		x := random(rand.New(rand.NewPCG(5, uint64(n))), n)
		for _, l := range levels() {
			got := slices.Clone(x)
			at(t, l, func() { Scale(got, got, 0.3) })
			for i, v := range x {
				if got[i] != v*0.3 {
					t.Errorf("%v, %d of %d: got %v, want %v", l, i, n, got[i], v*0.3)
				}
			}
		}
	}
}
