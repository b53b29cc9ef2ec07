package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// levels returns those that this processor has.
func levels() []Level {
	all := []Level{Plain}
	for l := AVX2; l <= best(); l++ {
		all = append(all, l)
	}
	return all
}

// at runs f with the level in use.
func at(t testing.TB, l Level, f func()) {
	t.Helper()
	old := level
	level = l
	defer func() { level = old }()
	f()
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// sizes cover every tile, every edge of a panel and the blocks around the
// limits of the copied ones.
var sizes = [][3]int{
	{1, 1, 1},
	{1, 7, 1},
	{2, 3, 5},
	{3, 1, 17},
	{5, 16, 15},
	{6, 9, 16},
	{7, 33, 31},
	{13, 4, 32},
	{14, 12, 33},
	{15, 64, 48},
	{27, 5, 63},
	{29, 130, 64},
	{57, 56, 64},
	{113, 31, 40},
	{230, 20, 9},
	{31, 129, 257},
	{60, 300, 300},
	{128, 1, 300},
	{64, 128, 2},
	{33, 40, 8},
	{70, 9, 1},
	{100, 17, 7},
	{40, 200, 64},
	{1, 20, 64},
	{1, 65, 200},
	{130, 70, 4},
	{4, 0, 6},
	{0, 3, 6},
	{3, 3, 0},
	{70, 131, 260},
	{131, 200, 290},
	{290, 129, 131},
}

// slowProduct adds a·b to dst in float64; element (i, p) of a is
// a[i·row + p·inner], (p, j) of b is b[p·bRow + j·bColumn].
func slowProduct(dst, a, b []float32, m, k, n, row, inner, bRow, bColumn int) []float32 {
	sums := slices.Clone(dst)
	for i := range m {
		for j := range n {
			sum := float64(dst[i*n+j])
			for p := range k {
				sum += float64(a[i*row+p*inner]) * float64(b[p*bRow+j*bColumn])
			}
			sums[i*n+j] = float32(sum)
		}
	}
	return sums
}

// exactProduct adds a·b to dst as the kernels do: in the order of p, each product
// and addition rounded once.
func exactProduct(dst, a, b []float32, m, k, n, row, inner, bRow, bColumn int) []float32 {
	sums := slices.Clone(dst)
	for i := range m {
		for j := range n {
			sum := dst[i*n+j]
			for p := range k {
				sum = fma32(a[i*row+p*inner], b[p*bRow+j*bColumn], sum)
			}
			sums[i*n+j] = sum
		}
	}
	return sums
}

// fma32 is x·y + z rounded once, for finite values. The product is exact in
// float64; the sum is rounded to odd there, so that rounding it again to float32
// errs nowhere (Boldo & Melquiond, IEEE Transactions on Computers 57(4), 2008).
func fma32(x, y, z float32) float32 {
	product, addend := float64(x)*float64(y), float64(z)
	sum := product + addend
	back := sum - product
	rest := (product - (sum - back)) + (addend - back) // what rounding the sum lost, exactly (Knuth's TwoSum)
	if bits := math.Float64bits(sum); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

func near(got, want []float32, tolerance float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d values, want %d", len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= tolerance*(1+math.Abs(float64(want[i])))) {
			return fmt.Errorf("[%d]: got %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// productForms are the products with the distances of their arguments' elements.
var productForms = []struct {
	name          string
	product       func(dst, a, b []float32, m, k, n int)
	row, inner    func(m, k int) int
	bRow, bColumn func(k, n int) int
	fresh         bool
}{
	{"a·b", Multiply, func(_, k int) int { return k }, func(_, _ int) int { return 1 }, func(_, n int) int { return n }, func(_, _ int) int { return 1 }, true},
	{"+a·b", MultiplyAdd, func(_, k int) int { return k }, func(_, _ int) int { return 1 }, func(_, n int) int { return n }, func(_, _ int) int { return 1 }, false},
	{"+aᵀ·b", MultiplyAddLeft, func(_, _ int) int { return 1 }, func(m, _ int) int { return m }, func(_, n int) int { return n }, func(_, _ int) int { return 1 }, false},
	{"+a·bᵀ", MultiplyAddRight, func(_, k int) int { return k }, func(_, _ int) int { return 1 }, func(_, _ int) int { return 1 }, func(k, _ int) int { return k }, false},
	{"a·bᵀ", MultiplyRight, func(_, k int) int { return k }, func(_, _ int) int { return 1 }, func(_, _ int) int { return 1 }, func(k, _ int) int { return k }, true},
}

func TestProductsEqualTheirTwins(t *testing.T) {
	for _, form := range productForms {
		for _, s := range sizes {
			m, k, n := s[0], s[1], s[2]
			r := rand.New(rand.NewPCG(uint64(m), uint64(1000*k+n)))
			// What lies behind a result must stay as it is.
			const guard = 40
			a, b, dst := random(r, m*k), random(r, k*n), random(r, m*n+guard)
			start := dst
			if form.fresh {
				start = make([]float32, m*n)
			}
			want := slowProduct(start[:m*n], a, b, m, k, n, form.row(m, k), form.inner(m, k), form.bRow(k, n), form.bColumn(k, n))
			exact := exactProduct(start[:m*n], a, b, m, k, n, form.row(m, k), form.inner(m, k), form.bRow(k, n), form.bColumn(k, n))
			for _, l := range levels() {
				got := slices.Clone(dst)
				at(t, l, func() { form.product(got[:m*n], a, b, m, k, n) })
				if err := near(got[:m*n], want, 1e-6*float64(k+1)); err != nil {
					t.Errorf("%s %v %v: %v", form.name, l, s, err)
				}
				if !slices.Equal(got[m*n:], dst[m*n:]) {
					t.Errorf("%s %v %v: wrote behind the result", form.name, l, s)
				}
				if l != Plain && !slices.Equal(got[:m*n], exact) {
					t.Errorf("%s %v %v: the bits are not those of additions in order", form.name, l, s)
				}
			}
		}
	}
}

func TestLinearAppliesBiasAndActivation(t *testing.T) {
	for _, s := range sizes {
		n, in, out := s[0], s[1], s[2]
		r := rand.New(rand.NewPCG(7, uint64(n+in*out)))
		x, w, bias := random(r, n*in), random(r, in*out), random(r, out)
		start := make([]float32, 0, n*out)
		for range n {
			start = append(start, bias...)
		}
		sums := slowProduct(start, x, w, n, in, out, in, 1, out, 1)
		for act, f := range map[Activation]func(float64) float64{
			Identity: func(x float64) float64 { return x },
			ReLU:     func(x float64) float64 { return max(x, 0) },
			Tanh:     math.Tanh,
			GELU:     func(x float64) float64 { return x / 2 * (1 + math.Tanh(slope*(x+cubic*x*x*x))) },
		} {
			want := make([]float32, len(sums))
			for i, v := range sums {
				want[i] = float32(f(float64(v)))
			}
			for _, l := range levels() {
				got := make([]float32, n*out)
				at(t, l, func() { Linear(got, x, w, bias, n, in, out, act) })
				if err := near(got, want, 1e-6*float64(in+1)); err != nil {
					t.Errorf("activation %d, %v %v: %v", act, l, s, err)
				}
			}
		}
	}
}

func TestNaNPassesTheFloor(t *testing.T) {
	for _, l := range levels() {
		at(t, l, func() {
			dst := make([]float32, 40)
			Linear(dst, []float32{float32(math.NaN())}, slices.Repeat([]float32{1}, 40), make([]float32, 40), 1, 1, 40, ReLU)
			for i, v := range dst {
				if v == v {
					t.Fatalf("%v: [%d] is %v, want NaN", l, i, v)
				}
			}
		})
	}
}

func TestShortSlicesPanic(t *testing.T) {
	full := make([]float32, 6)
	for name, f := range map[string]func(){
		"dst":  func() { Multiply(full[:5], full, full, 2, 3, 3) },
		"a":    func() { Multiply(full, full[:5:5], full, 2, 3, 2) },
		"b":    func() { MultiplyAdd(full, full, full[:5:5], 2, 3, 2) },
		"bias": func() { Linear(full, full, full, full[:1:1], 2, 3, 2, ReLU) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a short %s did not panic", name)
				}
			}()
			f()
		}()
	}
}

func TestProductsDoNotAllocate(t *testing.T) {
	a, b, dst := make([]float32, 300*300), make([]float32, 300*300), make([]float32, 300*300)
	for _, l := range levels() {
		at(t, l, func() {
			for name, f := range map[string]func(dst, a, b []float32, m, k, n int){"a·b": MultiplyAdd, "aᵀ·b": MultiplyAddLeft, "a·bᵀ": MultiplyAddRight} {
				for _, n := range []int{77, 300} { // by panels, by blocks
					if got := testing.AllocsPerRun(3, func() { f(dst, a, b, 300, 100, n) }); got != 0 {
						t.Errorf("%s %v, %d columns: %v allocations", name, l, n, got)
					}
				}
			}
		})
	}
}
