package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func randomMask(r *rand.Rand, n int) []bool {
	mask := make([]bool, n)
	for i := range mask {
		mask[i] = r.IntN(3) > 0
	}
	return mask
}

// onEveryLevel runs f at every level and a few sizes.
func onEveryLevel(t *testing.T, f func(t *testing.T, r *rand.Rand, n int)) {
	t.Helper()
	for _, l := range levels() {
		t.Run(l.String(), func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 15, 16, 17, 40, 100} {
				at(t, l, func() { f(t, rand.New(rand.NewPCG(5, uint64(n))), n) })
			}
		})
	}
}

func TestLogSoftmaxEqualsItsTwin(t *testing.T) {
	onEveryLevel(t, func(t *testing.T, r *rand.Rand, n int) {
		scores, mask := random(r, n), randomMask(r, n)
		for i := range scores {
			scores[i] = scores[i]*20 + 1000 // would overflow without the shift
		}
		sum, top := 0.0, math.Inf(-1)
		for i, legal := range mask {
			if legal {
				top = max(top, float64(scores[i]))
			}
		}
		for i, legal := range mask {
			if legal {
				sum += math.Exp(float64(scores[i]) - top)
			}
		}
		got := make([]float32, n)
		LogSoftmax(got, scores, mask)
		for i, legal := range mask {
			want := math.Inf(-1)
			if legal {
				want = float64(scores[i]) - top - math.Log(sum)
			}
			if legal && math.Abs(float64(got[i])-want) > 2e-4 || !legal && got[i] != float32(want) {
				t.Errorf("[%d] of %d: got %v, want %v", i, n, got[i], want)
			}
		}
	})
}

func TestLogSoftmaxOfNothingLegal(t *testing.T) {
	got := make([]float32, 3)
	if sum := LogSoftmax(got, []float32{1, 2, 3}, make([]bool, 3)); !math.IsInf(float64(sum), -1) {
		t.Errorf("log sum: got %v, want -Inf", sum)
	}
	for _, v := range got {
		if !math.IsInf(float64(v), -1) {
			t.Errorf("got %v, want -Inf", got)
		}
	}
}

// derivative returns the central difference of f at x[i].
func derivative(f func() float64, x []float32, i int) float64 {
	const h = 1e-2
	old := x[i]
	defer func() { x[i] = old }()
	x[i] = old + h
	up, high := f(), x[i]
	x[i] = old - h
	down, low := f(), x[i]
	return (up - down) / (float64(high) - float64(low))
}

// weighted returns Σ w·y where w is not 0.
func weighted(w, y []float32) float64 {
	sum := 0.0
	for i, v := range w {
		if v != 0 {
			sum += float64(v) * float64(y[i])
		}
	}
	return sum
}

func closeTo(t *testing.T, what string, i int, got float32, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 3e-3*(1+math.Abs(want)) {
		t.Errorf("%s[%d]: got %v, want %v", what, i, got, want)
	}
}

func TestLogSoftmaxGradient(t *testing.T) {
	onEveryLevel(t, func(t *testing.T, r *rand.Rand, n int) {
		scores, mask, dy := random(r, n), randomMask(r, n), random(r, n)
		for i, legal := range mask {
			if !legal {
				dy[i] = 0
			}
		}
		y, got := make([]float32, n), make([]float32, n)
		LogSoftmax(y, scores, mask)
		LogSoftmaxGradient(got, dy, y, mask)
		out := make([]float32, n)
		for i, legal := range mask {
			want := derivative(func() float64 { LogSoftmax(out, scores, mask); return weighted(dy, out) }, scores, i)
			closeTo(t, "gradient", i, got[i], want)
			if !legal && got[i] != 0 {
				t.Errorf("masked [%d]: gradient %v, want exactly 0", i, got[i])
			}
		}
		for i := range dy {
			if !mask[i] {
				dy[i] = float32(math.NaN())
			}
		}
		again := make([]float32, n)
		LogSoftmaxGradient(again, dy, y, mask)
		if !slices.Equal(again, got) {
			t.Errorf("what stands at masked rows changed the gradient: %v, want %v", again, got)
		}
	})
}

// Layer norm at every level, its definition in float64, and its derivatives.
func TestLayerNorm(t *testing.T) {
	for _, l := range levels() {
		for _, width := range []int{1, 2, 5, 16, 33, 48} {
			at(t, l, func() { layerNormOf(t, width) })
		}
	}
}

func layerNormOf(t *testing.T, width int) {
	t.Helper()
	const n = 3
	r := rand.New(rand.NewPCG(6, 6))
	x, dy, gain, shift := random(r, n*width), random(r, n*width), random(r, width), random(r, width)
	y := make([]float32, n*width)
	LayerNorm(y, x, gain, shift, n, width)
	for i := range n {
		mean, inverse := moments(x[i*width:][:width])
		for j, v := range x[i*width:][:width] {
			want := (float64(v)-mean)*inverse*float64(gain[j]) + float64(shift[j])
			if got := float64(y[i*width+j]); math.Abs(got-want) > 2e-5*(1+math.Abs(want)) {
				t.Errorf("%v, width %d, [%d, %d]: got %v, want %v", level, width, i, j, got, want)
			}
		}
	}
	dx, dGain, dShift := make([]float32, n*width), make([]float32, width), make([]float32, width)
	LayerNormGradient(dx, dGain, dShift, dy, x, gain, n, width)
	f := func() float64 { LayerNorm(y, x, gain, shift, n, width); return weighted(dy, y) }
	if width > 2 { // two values are ±1 whatever they are, up to epsilon: their differences are noise
		for i := range dx {
			closeTo(t, "dx", i, dx[i], derivative(f, x, i))
		}
	}
	for j := range width {
		closeTo(t, "dGain", j, dGain[j], derivative(f, gain, j))
		closeTo(t, "dShift", j, dShift[j], derivative(f, shift, j))
	}
}

// Both instruction sets give the same bits of layer norm and log-softmax.
func TestReductionsGiveTheSameBits(t *testing.T) {
	if best() < AVX512 {
		t.Skip("this processor has one instruction set")
	}
	const n, width = 5, 80
	r := rand.New(rand.NewPCG(9, 1))
	x, dy, gain, shift, mask := random(r, n*width), random(r, n*width), random(r, width), random(r, width), randomMask(r, n*width)
	var wide [][]float32
	for _, l := range levels()[1:] {
		results := make([][]float32, 6)
		for i := range results {
			results[i] = make([]float32, n*width)
		}
		at(t, l, func() {
			LayerNorm(results[0], x, gain, shift, n, width)
			LayerNormGradient(results[1], results[2][:width], results[3][:width], dy, x, gain, n, width)
			LogSoftmax(results[4][:n*width-3], x, mask[:n*width-3])
			LogSoftmaxGradient(results[5], dy, x, mask)
		})
		for i := range results {
			if wide != nil && !slices.Equal(results[i], wide[i]) {
				t.Errorf("result %d differs", i)
			}
		}
		wide = results
	}
}

func TestPooling(t *testing.T) {
	onEveryLevel(t, func(t *testing.T, r *rand.Rand, n int) {
		const width = 19
		for _, mask := range [][]bool{randomMask(r, n), make([]bool, n)} {
			x, dy := random(r, n*width), random(r, width)
			counts := func(i int) bool { return mask[i] || !slices.Contains(mask, true) }
			mean, most := make([]float32, width), make([]float32, width)
			MeanRows(mean, x, mask)
			MaxRows(most, x, mask)
			for j := range width {
				sum, rows, top := 0.0, 0, float32(math.Inf(-1))
				for i := range n {
					if counts(i) {
						sum += float64(x[i*width+j])
						top = max(top, x[i*width+j])
						rows++
					}
				}
				if math.Abs(float64(mean[j])-sum/float64(max(1, rows))) > 1e-5 || most[j] != top {
					t.Errorf("column %d of %d rows: mean %v and maximum %v, want %v and %v", j, n, mean[j], most[j], sum/float64(max(1, rows)), top)
				}
			}
			dx := make([]float32, n*width)
			MeanRowsGradient(dx, dy, mask)
			out := make([]float32, width)
			for i := range dx {
				closeTo(t, "mean", i, dx[i], derivative(func() float64 { MeanRows(out, x, mask); return weighted(dy, out) }, x, i))
			}
			clear(dx)
			MaxRowsGradient(dx, dy, x, most, mask)
			for i, g := range dx {
				want := float32(0)
				if counts(i/width) && x[i] == most[i%width] {
					want = dy[i%width]
				}
				if g != want {
					t.Errorf("maximum: gradient at [%d] is %v, want %v", i, g, want)
				}
			}
		}
	})
}

func TestDotsEqualTheirTwins(t *testing.T) {
	for _, k := range []int{0, 1, 15, 16, 17, 32, 50, 64, 129} {
		const rows = 7
		r := rand.New(rand.NewPCG(8, uint64(k)))
		x, w := random(r, rows*k), random(r, k)
		want := slowProduct(make([]float32, rows), x, w, rows, k, 1, k, 1, 1, 1)
		var wide []float32
		for _, l := range levels() {
			got := make([]float32, rows)
			at(t, l, func() { Dots(got, x, w, k) })
			if err := near(got, want, 1e-6*float64(k+1)); err != nil {
				t.Errorf("%v, %d values: %v", l, k, err)
			}
			if l == AVX2 {
				wide = got
			}
			if l == AVX512 && !slices.Equal(got, wide) {
				t.Errorf("%d values: AVX2 and AVX-512 differ", k)
			}
		}
	}
}
