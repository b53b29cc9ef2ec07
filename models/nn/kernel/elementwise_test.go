package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// arguments returns values over the whole range of the functions, exact zeros
// and the ends of float32 among them.
func arguments(r *rand.Rand, n int) []float32 {
	x := random(r, n)
	for i := range x {
		switch r.IntN(4) {
		case 0:
			x[i] *= 30
		case 1:
			x[i] *= 1e-4
		}
	}
	copy(x, []float32{0, float32(math.Copysign(0, -1)), 1e-30, -1e-30, 100, -100, 7.9, -7.9, math.MaxFloat32, -math.MaxFloat32})
	return x
}

func TestFunctionsEqualTheirTwins(t *testing.T) {
	functions := []struct {
		name      string
		fast      func(dst, x []float32)
		slow      func(x float64) float64
		tolerance float64 // times 1 + |want|
		relative  bool
	}{
		{"tanh", ApplyTanh, math.Tanh, 3e-7, false},
		{"exp", ApplyExp, func(x float64) float64 { return math.Exp(float64(max(expLow, min(expHigh, float32(x))))) }, 2e-7, true},
		{"gelu", ApplyGELU, func(x float64) float64 { return x / 2 * (1 + math.Tanh(slope*(x+cubic*x*x*x))) }, 7e-7, false},
		{"relu", ApplyReLU, func(x float64) float64 { return max(x, 0) }, 0, false},
	}
	for _, f := range functions {
		for n := range 70 {
			x := arguments(rand.New(rand.NewPCG(3, uint64(n))), n)
			if f.name == "gelu" {
				for i := range x {
					x[i] = max(-1e4, min(1e4, x[i])) // its cube overflows
				}
			}
			var wide []float32
			for _, l := range levels() {
				got := slices.Clone(x)
				at(t, l, func() { f.fast(got, got) })
				for i, v := range x {
					want := f.slow(float64(v))
					scale := 1 + math.Abs(want)
					if f.relative {
						scale = want
					}
					if d := math.Abs(float64(got[i]) - want); !(d <= f.tolerance*scale) {
						t.Errorf("%s %v: f(%v) is %v, want %v", f.name, l, v, got[i], want)
					}
				}
				if l == AVX2 {
					wide = got
				}
				if l == AVX512 && !slices.Equal(got, wide) {
					t.Errorf("%s: AVX2 and AVX-512 differ for %d values", f.name, n)
				}
			}
		}
	}
}

func TestFunctionsKeepNaN(t *testing.T) {
	for _, l := range levels() {
		at(t, l, func() {
			for name, f := range map[string]func(dst, x []float32){"tanh": ApplyTanh, "exp": ApplyExp, "gelu": ApplyGELU, "relu": ApplyReLU} {
				x := []float32{1, float32(math.NaN()), 2}
				f(x, x)
				if x[1] == x[1] || x[0] != x[0] || x[2] != x[2] {
					t.Errorf("%s %v: got %v, want NaN in the middle only", name, l, x)
				}
			}
		})
	}
}

// Derivatives equal central differences of the plain functions.
func TestGradients(t *testing.T) {
	const h = 1e-5
	functions := map[Activation]func(x float64) float64{
		Identity: func(x float64) float64 { return x },
		ReLU:     func(x float64) float64 { return max(x, 0) },
		Tanh:     math.Tanh,
		GELU:     func(x float64) float64 { return x / 2 * (1 + math.Tanh(slope*(x+cubic*x*x*x))) },
	}
	for act, f := range functions {
		tolerance := 5e-6
		if act == GELU {
			tolerance = 1.5e-5 // its tails multiply tanh's error by x
		}
		for n := range 40 {
			r := rand.New(rand.NewPCG(uint64(act), uint64(n)))
			x, dy := arguments(r, n), random(r, n)
			for i := range x {
				x[i] = max(-100, min(100, x[i]))
				if math.Abs(float64(x[i])) < 1e-3 {
					x[i] = 1 // away from ReLU's kink
				}
			}
			y, want := make([]float32, n), make([]float32, n)
			for i, v := range x {
				y[i] = float32(f(float64(v)))
				want[i] = float32(float64(dy[i]) * (f(float64(v)+h) - f(float64(v)-h)) / (2 * h))
			}
			for _, l := range levels() {
				got := make([]float32, n)
				at(t, l, func() { Gradient(act, got, dy, x, y) })
				if err := near(got, want, tolerance); err != nil {
					t.Errorf("activation %d, %v, %d values: %v", act, l, n, err)
				}
			}
		}
	}
}

func TestAddScaledAndMaximum(t *testing.T) {
	for n := range 70 {
		r := rand.New(rand.NewPCG(9, uint64(n)))
		x, y := random(r, n), random(r, n)
		sum, most := make([]float32, n), make([]float32, n)
		for i := range x {
			sum[i] = float32(float64(y[i]) + 0.3*float64(x[i]))
			most[i] = max(x[i], y[i])
		}
		for _, l := range levels() {
			at(t, l, func() {
				got := slices.Clone(y)
				AddScaled(got, x, 0.3)
				if err := near(got, sum, 1e-7); err != nil {
					t.Errorf("add scaled %v: %v", l, err)
				}
				got = slices.Clone(y)
				Maximum(got, x)
				if !slices.Equal(got, most) {
					t.Errorf("maximum %v: got %v, want %v", l, got, most)
				}
			})
		}
	}
}

func TestAdamEqualsItsTwin(t *testing.T) {
	step := AdamStep{Beta1: 0.9, Beta2: 0.999, Rate: 0.01, Unbias: 3, Epsilon: 1e-5}
	for n := range 70 {
		r := rand.New(rand.NewPCG(4, uint64(n)))
		start := [4][]float32{random(r, n), random(r, n), random(r, n), random(r, n)}
		for i, v := range start[2] {
			start[2][i] = v * v
		}
		var want [3][]float32
		for i := range want {
			want[i] = slices.Clone(start[i])
		}
		step.plain(want[0], want[1], want[2], start[3])
		for _, l := range levels() {
			var got [3][]float32
			for i := range got {
				got[i] = slices.Clone(start[i])
			}
			at(t, l, func() { step.Apply(got[0], got[1], got[2], start[3]) })
			for i := range got {
				if err := near(got[i], want[i], 1e-6); err != nil {
					t.Errorf("%v, array %d of %d values: %v", l, i, n, err)
				}
			}
		}
	}
}
