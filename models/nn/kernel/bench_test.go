package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// library is somebody's product of matrices: dst [m, n] plus a·b, aᵀ·b (a is
// [k, m]) or a·bᵀ (b is [n, k]).
type library struct {
	name               string
	plain, left, right func(dst, a, b []float32, m, k, n int)
}

// others are the libraries that ours stands beside. The build tag openblas adds
// OpenBLAS.
var others = []library{{
	name: "gonum",
	plain: func(dst, a, b []float32, m, k, n int) {
		gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, b, n, 1, dst, n)
	},
	left: func(dst, a, b []float32, m, k, n int) {
		gonum.Implementation{}.Sgemm(blas.Trans, blas.NoTrans, m, n, k, 1, a, m, b, n, 1, dst, n)
	},
	right: func(dst, a, b []float32, m, k, n int) {
		gonum.Implementation{}.Sgemm(blas.NoTrans, blas.Trans, m, n, k, 1, a, k, b, k, 1, dst, n)
	},
}}

// ours returns the library of this package at a level.
func ours(b testing.TB, l Level) library {
	with := func(product func(dst, a, b []float32, m, k, n int)) func(dst, a, b []float32, m, k, n int) {
		return func(dst, x, w []float32, m, k, n int) { at(b, l, func() { product(dst, x, w, m, k, n) }) }
	}
	return library{l.String(), with(MultiplyAdd), with(MultiplyAddLeft), with(MultiplyAddRight)}
}

// form is one of the three products of a library.
type form struct {
	name string
	of   func(l library) func(dst, a, b []float32, m, k, n int)
}

var forms = []form{
	{"plain", func(l library) func(dst, a, b []float32, m, k, n int) { return l.plain }},
	{"left", func(l library) func(dst, a, b []float32, m, k, n int) { return l.left }},
	{"right", func(l library) func(dst, a, b []float32, m, k, n int) { return l.right }},
}

// productsAgree fails where a library's products differ from ours.
func productsAgree(t *testing.T, other library) {
	t.Helper()
	mine := ours(t, best())
	for _, f := range forms {
		for _, s := range sizes {
			m, k, n := s[0], s[1], s[2]
			if m*k*n == 0 {
				continue
			}
			r := rand.New(rand.NewPCG(uint64(m), uint64(n)))
			a, b, got := random(r, m*k), random(r, k*n), random(r, m*n)
			want := append([]float32(nil), got...)
			f.of(mine)(got, a, b, m, k, n)
			f.of(other)(want, a, b, m, k, n)
			if err := near(got, want, 1e-5*math.Sqrt(float64(k))); err != nil {
				t.Errorf("%s, %v beside %s: %v", f.name, s, other.name, err)
			}
		}
	}
}

func TestProductsEqualGonums(t *testing.T) { productsAgree(t, others[0]) }

// BenchmarkProduct reports GFLOP/s on one thread of every level and of the other
// libraries, with the build tag openblas of OpenBLAS, too: all in one run, by
// turns, the fastest turn of each, so that what else the machine does counts for
// none. Shapes are those of the networks and a large square.
func BenchmarkProduct(b *testing.B) {
	for _, s := range [][3]int{{64, 64, 128}, {2048, 32, 32}, {2048, 128, 128}, {65536, 64, 64}, {512, 512, 512}} {
		for _, f := range forms {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", s[0], s[1], s[2], f.name), func(b *testing.B) { compare(b, f, s[0], s[1], s[2]) })
		}
	}
}

// compare times one form of product of m·k·n, or of k·m·n where left: a weight's
// gradient sums over the rows.
func compare(b *testing.B, f form, m, k, n int) {
	if f.name == "left" {
		m, k = k, m
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // gonum's starts goroutines
	var all []library
	for _, l := range levels()[1:] {
		all = append(all, ours(b, l))
	}
	all = append(all, others...)
	r := rand.New(rand.NewPCG(1, 2))
	x, w, dst := random(r, m*k), random(r, k*n), make([]float32, m*n)
	work := 2 * float64(m) * float64(k) * float64(n)
	calls := int(max(1, 2e7/work)) // about a fifth of a millisecond between looks at the clock
	fastest := make([]time.Duration, len(all))
	for b.Loop() {
		for turn := range 4 {
			for i, l := range all {
				start := time.Now()
				for range calls {
					f.of(l)(dst, x, w, m, k, n)
				}
				if spent := time.Since(start); turn > 0 && (fastest[i] == 0 || spent < fastest[i]) { // the first turn warms up
					fastest[i] = spent
				}
			}
			clear(dst)
		}
	}
	for i, l := range all {
		b.ReportMetric(work*float64(calls)/fastest[i].Seconds()/1e9, l.name+"-GFLOP/s")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkElementwise reports Gvalues/s.
func BenchmarkElementwise(b *testing.B) {
	const n = 4096
	r := rand.New(rand.NewPCG(1, 2))
	x, y, z, dst := random(r, n), random(r, n), random(r, n), make([]float32, n)
	step := AdamStep{Beta1: 0.9, Beta2: 0.999, Rate: 0.001, Unbias: 1, Epsilon: 1e-5}
	for _, f := range []struct {
		name string
		run  func()
	}{
		{"tanh", func() { ApplyTanh(dst, x) }},
		{"exp", func() { ApplyExp(dst, x) }},
		{"gelu", func() { ApplyGELU(dst, x) }},
		{"adam", func() { clear(z); step.Apply(dst, y, z, x) }},
	} {
		for _, l := range levels() {
			b.Run(fmt.Sprintf("%s/%v", f.name, l), func(b *testing.B) {
				at(b, l, func() {
					for b.Loop() {
						f.run()
					}
				})
				b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gvalues/s")
			})
		}
	}
}

// BenchmarkRows reports Gvalues/s of what goes along rows: 256 candidates of 64
// values, three in four of them legal.
func BenchmarkRows(b *testing.B) {
	const rows, width = 256, 64
	r := rand.New(rand.NewPCG(1, 2))
	x, y, row, gain, shift := random(r, rows*width), make([]float32, rows*width), random(r, width), random(r, width), random(r, width)
	mask := make([]bool, rows*width)
	for i := range mask {
		mask[i] = r.IntN(4) > 0
	}
	doubles := make([]float64, rows*width)
	for _, f := range []struct {
		name string
		run  func()
	}{
		{"mean", func() { MeanRows(row, x, mask[:rows]) }},
		{"max", func() { MaxRows(row, x, mask[:rows]) }},
		{"layer-norm", func() { LayerNorm(y, x, gain, shift, rows, width) }},
		{"layer-norm-gradient", func() { LayerNormGradient(y, row, shift, x, x, gain, rows, width) }},
		{"log-softmax", func() { LogSoftmax(y, x, mask) }},
		{"exp64", func() { clear(doubles); ApplyExp64(doubles, doubles) }},
	} {
		for _, l := range levels() {
			b.Run(fmt.Sprintf("%s/%v", f.name, l), func(b *testing.B) {
				b.ReportAllocs()
				at(b, l, func() {
					for b.Loop() {
						f.run()
					}
				})
				b.ReportMetric(rows*width*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gvalues/s")
			})
		}
	}
}
