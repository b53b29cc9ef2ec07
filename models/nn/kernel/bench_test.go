package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// BenchmarkProduct reports GFLOP/s of every level beside gonum's product, one
// thread. Shapes are those of the networks and a large square.
func BenchmarkProduct(b *testing.B) {
	for _, s := range [][3]int{{64, 64, 128}, {2048, 128, 128}, {65536, 64, 64}, {512, 512, 512}} {
		m, k, n := s[0], s[1], s[2]
		r := rand.New(rand.NewPCG(1, 2))
		x, w, dst := random(r, m*k), random(r, k*n), make([]float32, m*n)
		report := func(b *testing.B) {
			b.ReportMetric(2*float64(m)*float64(k)*float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		}
		for _, l := range levels()[1:] {
			b.Run(fmt.Sprintf("%dx%dx%d/%v", m, k, n, l), func(b *testing.B) {
				b.ReportAllocs()
				at(b, l, func() {
					for b.Loop() {
						MultiplyAdd(dst, x, w, m, k, n)
					}
				})
				report(b)
			})
			b.Run(fmt.Sprintf("%dx%dx%d/left-%v", m, k, n, l), func(b *testing.B) {
				g := make([]float32, k*n)
				at(b, l, func() {
					for b.Loop() {
						MultiplyAddLeft(g, x, dst, k, m, n)
					}
				})
				report(b)
			})
			b.Run(fmt.Sprintf("%dx%dx%d/right-%v", m, k, n, l), func(b *testing.B) {
				at(b, l, func() {
					for b.Loop() {
						MultiplyAddRight(dst, x, w, m, k, n)
					}
				})
				report(b)
			})
		}
		b.Run(fmt.Sprintf("%dx%dx%d/gonum", m, k, n), func(b *testing.B) {
			for b.Loop() {
				gonum.Implementation{}.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, x, k, w, n, 1, dst, n)
			}
			report(b)
		})
	}
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
