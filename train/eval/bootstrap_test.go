package eval

import (
	"math"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

// TestBootstrapCovers draws samples of a known mean: a 95 % interval of 20
// values has to hold it about as often as it says.
func TestBootstrapCovers(t *testing.T) {
	r := rng.New(1, "test")
	const trials = 300
	covered := 0
	for range trials {
		values := make([]float64, 20)
		for i := range values {
			values[i] = 3 + r.NormFloat64()
		}
		if b := Bootstrap(values, r); b.Low <= 3 && 3 <= b.High {
			covered++
		}
	}
	// The percentile bootstrap is a little narrow at 20 values: about 93 %.
	if share := float64(covered) / trials; share < 0.88 || share > 0.98 {
		t.Errorf("covered the mean in %v of %d trials, want about 0.93", share, trials)
	}
}

// TestBootstrapWidth compares with the normal theory: ±1.96·σ/√n.
func TestBootstrapWidth(t *testing.T) {
	r := rng.New(2, "test")
	values := make([]float64, 400)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	b := Bootstrap(values, r)
	if got, want := (b.High-b.Low)/2, 1.96/20; math.Abs(got-want) > 0.15*want {
		t.Errorf("half width is %v, want about %v", got, want)
	}
}

func TestBootstrapOfOneValue(t *testing.T) {
	if got := Bootstrap([]float64{7}, rng.New(1, "test")); got != (Interval{7, 7, 7}) {
		t.Errorf("got %+v, want 7 without width", got)
	}
}
