package blas

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// agree fails where got and want differ by more than rounding of k additions.
func agree(t interface{ Fatalf(string, ...any) }, got, want []float32, k int) {
	for i := range want {
		if off := math.Abs(float64(got[i] - want[i])); !(off <= 1e-6*float64(k+4)*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("[%d]: got %v, want %v", i, got[i], want[i])
		}
	}
}

// Every product that BLAS allows is gonum's: transposed or not, with gaps, with
// factors, of odd shapes.
func TestProductsEqualGonums(t *testing.T) {
	transposes := []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 70)
		m, n, k := size.Draw(t, "m"), size.Draw(t, "n"), size.Draw(t, "k")
		tA, tB := rapid.SampledFrom(transposes).Draw(t, "tA"), rapid.SampledFrom(transposes).Draw(t, "tB")
		alpha, beta := rapid.SampledFrom([]float32{1, 1, 0, -0.5}).Draw(t, "alpha"), rapid.SampledFrom([]float32{0, 1, 0.25}).Draw(t, "beta")
		gap := rapid.SampledFrom([]int{0, 0, 0, 3})
		lda, ldb, ldc := stored(tA, m, k)+gap.Draw(t, "gap a"), stored(tB, k, n)+gap.Draw(t, "gap b"), n+gap.Draw(t, "gap c")
		r := rand.New(rand.NewPCG(uint64(m), uint64(n*100+k)))
		a, b, got := random(r, max(m, k)*lda), random(r, max(k, n)*ldb), random(r, m*ldc)
		want := slices.Clone(got)
		Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, got, ldc)
		gonum.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, want, ldc)
		agree(t, got, want, k)

		incX, incY := rapid.IntRange(1, 2).Draw(t, "inc x"), rapid.IntRange(1, 2).Draw(t, "inc y")
		lenX, lenY := n, m
		if tA != blas.NoTrans {
			lenX, lenY = m, n
		}
		x, y := random(r, incX*lenX), random(r, incY*lenY)
		want = slices.Clone(y)
		Implementation{}.Sgemv(tA, m, n, alpha, random(rand.New(rand.NewPCG(1, 1)), m*n), n, x, incX, beta, y, incY)
		gonum.Implementation{}.Sgemv(tA, m, n, alpha, random(rand.New(rand.NewPCG(1, 1)), m*n), n, x, incX, beta, want, incY)
		agree(t, y, want, max(m, n))
		x, y = random(r, incX*k), random(r, incY*k)
		agree(t, []float32{Implementation{}.Sdot(k, x, incX, y, incY)}, []float32{gonum.Implementation{}.Sdot(k, x, incX, y, incY)}, 2*k)
	})
}

// Gorgonia's own MatMul goes through the kernels once they are in use, also of
// transposed tensors.
func TestGorgoniaUsesTheKernels(t *testing.T) {
	before := gorgonia.WhichBLAS()
	defer gorgonia.Use(before)
	r := rand.New(rand.NewPCG(2, 1))
	a, b := tensor.New(tensor.WithShape(33, 17), tensor.WithBacking(random(r, 33*17))), tensor.New(tensor.WithShape(33, 50), tensor.WithBacking(random(r, 33*50)))
	if err := a.T(); err != nil {
		t.Fatal(err)
	}
	want, err := tensor.MatMul(a, b)
	if err != nil {
		t.Fatal(err)
	}
	used := &counting{}
	gorgonia.Use(used)
	got, err := tensor.MatMul(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if used.products != 1 {
		t.Errorf("%d products went through the implementation, want 1", used.products)
	}
	agree(t, got.Data().([]float32), want.Data().([]float32), 33)
	Use()
	if _, ours := gorgonia.WhichBLAS().(Implementation); !ours {
		t.Errorf("in use: %T", gorgonia.WhichBLAS())
	}
}

// counting counts the products that the kernels compute.
type counting struct {
	Implementation
	products int
}

func (c *counting) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, x []float32, ldc int) {
	if form(tA, tB, beta) != nil {
		c.products++
	}
	c.Implementation.Sgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, x, ldc)
}
