package optim

import (
	"math"
	"slices"
	"testing"
)

// The first step of Adam has length rate whatever the gradient's scale
// (Kingma & Ba, section 2.1).
func TestFirstStepHasLengthRate(t *testing.T) {
	for _, g := range []float32{1e-2, 1, 1e3} {
		p := []float32{0, 0}
		NewAdam(2).Step(p, []float32{g, -g}, 0.1)
		for i, want := range []float64{-0.1, 0.1} {
			if math.Abs(float64(p[i])-want) > 2e-4 {
				t.Errorf("gradient %v: moved to %v, want %v", g, p[i], want)
			}
		}
	}
}

// slowAdam writes algorithm 1 down in float64.
func slowAdam(grads [][]float32, rate float64) []float64 {
	n := len(grads[0])
	p, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
	for t, g := range grads {
		for i := range g {
			m[i] = 0.9*m[i] + 0.1*float64(g[i])
			v[i] = 0.999*v[i] + 0.001*float64(g[i])*float64(g[i])
			mHat := m[i] / (1 - math.Pow(0.9, float64(t+1)))
			vHat := v[i] / (1 - math.Pow(0.999, float64(t+1)))
			p[i] -= rate * mHat / (math.Sqrt(vHat) + 1e-5)
		}
	}
	return p
}

func gradients(n int) [][]float32 {
	var grads [][]float32
	for t := range n {
		grads = append(grads, []float32{float32(math.Sin(float64(t))), 3, float32(t%5) - 2})
	}
	return grads
}

func TestAdamMatchesSlowTwin(t *testing.T) {
	grads := gradients(200)
	p, a := make([]float32, 3), NewAdam(3)
	for _, g := range grads {
		a.Step(p, g, 0.01)
	}
	for i, want := range slowAdam(grads, 0.01) {
		if math.Abs(float64(p[i])-want) > 1e-4 {
			t.Errorf("parameter %d is %v, want %v", i, p[i], want)
		}
	}
}

// Saving and restoring in the middle changes no bit of what follows.
func TestRestoredAdamContinuesExactly(t *testing.T) {
	grads := gradients(100)
	straight, a := make([]float32, 3), NewAdam(3)
	for _, g := range grads {
		a.Step(straight, g, 0.01)
	}
	broken, b := make([]float32, 3), NewAdam(3)
	for i, g := range grads {
		if i == 50 {
			raw, err := b.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			b = NewAdam(3)
			if err := b.UnmarshalBinary(raw); err != nil {
				t.Fatal(err)
			}
		}
		b.Step(broken, g, 0.01)
	}
	if !slices.Equal(broken, straight) {
		t.Errorf("with a restart %v, without %v", broken, straight)
	}
}

func TestRestoreRefusesOtherStates(t *testing.T) {
	raw, err := NewAdam(3).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{"empty": nil, "cut": raw[:len(raw)-1], "magic": append([]byte("x"), raw[1:]...)} {
		if NewAdam(3).UnmarshalBinary(bad) == nil {
			t.Errorf("%s: restored without an error", name)
		}
	}
	if NewAdam(4).UnmarshalBinary(raw) == nil {
		t.Error("restored the state of 3 parameters for 4")
	}
}

func TestClipNorm(t *testing.T) {
	g := []float32{3, 4}
	if norm := ClipNorm(g, 10); norm != 5 || !slices.Equal(g, []float32{3, 4}) {
		t.Errorf("norm %v below the limit: got %v", norm, g)
	}
	if norm := ClipNorm(g, 1); norm != 5 || math.Abs(float64(g[0])-0.6) > 1e-6 || math.Abs(float64(g[1])-0.8) > 1e-6 {
		t.Errorf("norm %v above the limit: got %v, want [0.6 0.8]", norm, g)
	}
}
