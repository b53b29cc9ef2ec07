package synth

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anySample draws values of several magnitudes with ties, and weights.
func anySample(t *rapid.T) []weighted {
	n := rapid.IntRange(1, 300).Draw(t, "n")
	sample := make([]weighted, n)
	for i := range sample {
		v := math.Exp(rapid.Float64Range(-3, 14).Draw(t, "log value"))
		if rapid.Bool().Draw(t, "round") {
			v = math.Round(v)
		}
		sample[i] = weighted{v, rapid.Float64Range(0.01, 1).Draw(t, "weight")}
	}
	return sample
}

// A sketch stays close to the sample it is of: its quantile function is monotone
// and within its bounds, no value's probability is off by more than half its own
// weight and the tolerance allow, and the mean is that of the sample but for the
// smoothing.
func TestSketchIsCloseToItsSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := anySample(t)
		q := sketch(sample, 0.5)
		c := new(checker)
		if c.quantiles("q", q, 0, 1e9); len(c.errs) > 0 {
			t.Fatalf("%v: %v", q, c.errs)
		}
		slices.SortFunc(sample, func(a, b weighted) int { return cmp.Compare(a.value, b.value) })
		total := 0.0
		for _, s := range sample {
			total += s.weight
		}
		at, before := 0.0, 0.0
		for u := 0.0; u <= 1; u += 0.001 {
			v := q.at(u, 0.5)
			if v < at {
				t.Fatalf("quantile %v is %v, less than one before it, %v", u, v, at)
			}
			at = v
		}
		if len(q) >= maxKnots {
			return // no promise
		}
		low := 0.0
		for i, s := range sample {
			if i > 0 && sample[i-1].value != s.value {
				low = before / total
			}
			before += s.weight
			if i+1 < len(sample) && sample[i+1].value == s.value {
				continue
			}
			// Some quantile near the value's own probabilities is the value.
			if v := q.at(max(0, low-0.006), 0.5); v > s.value*(1+1e-5) {
				t.Fatalf("quantile %v is %v, want at most %v", low-0.006, v, s.value)
			}
			if v := q.at(min(1, before/total+0.006), 0.5); v < s.value*(1-1e-5) {
				t.Fatalf("quantile %v is %v, want at least %v", before/total+0.006, v, s.value)
			}
		}
	})
}

// Smoothing keeps the mean of a large sample with a heavy tail, which is the load.
func TestSketchKeepsTheMean(t *testing.T) {
	var sample []weighted
	sum := 0.0
	for i := range 5000 {
		v := 60 / math.Pow(1-(float64(i)+0.5)/5000, 0.8) // Pareto of index 1.25
		sample = append(sample, weighted{v, 1})
		sum += v / 5000
	}
	q := sketch(sample, finest)
	near(t, "mean", q.mean(finest), sum, 0.02)
	if len(q) > maxKnots {
		t.Errorf("%d points, want at most %d", len(q), maxKnots)
	}
}

func TestSketchKeepsAtoms(t *testing.T) {
	var sample []weighted
	for i := range 700 {
		sample = append(sample, weighted{600, 1}, weighted{float64(1 + i), 0.5})
	}
	q := sketch(sample, 0.5)
	n := 0
	for u := 0.0005; u < 1; u += 0.001 {
		if q.at(u, 0.5) == 600 {
			n++
		}
	}
	if n < 660 || n > 675 { // 2/3 and the 600 among the others
		t.Errorf("%d of 1000 draws are 600, want 667", n)
	}
}

// The closed forms against sums of small steps.
func TestQuantilesAgainstSmallSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := sketch(anySample(t), 0.5)
		mean, square := 0.0, 0.0
		const steps = 4000
		for i := range steps {
			v := q.at((float64(i)+0.5)/steps, 0.5)
			mean += v / steps
			square += v * v / steps
		}
		// A jump inside a step puts the sums off by at most the step times its height.
		largest := q[len(q)-1][1]
		if got := q.mean(0.5); math.Abs(got-mean) > 0.002*mean+largest/steps+1e-3 {
			t.Fatalf("mean of %v: %v, want %v", q, got, mean)
		}
		if mean < 1 {
			return // the grain is as large as the values
		}
		// The interval around a random instant has the mean E[v²]/E[v].
		around := 0.0
		for i := range steps {
			around += q.around((float64(i)+0.5)/steps, 0.5) / steps
		}
		if want := square / mean; math.Abs(around-want) > 0.05*want+largest*largest/steps/mean {
			t.Fatalf("mean around an instant of %v: %v, want %v", q, around, want)
		}
	})
}

func TestRound(t *testing.T) {
	for _, test := range []struct {
		x      float64
		digits int
		want   float64
	}{{0, 3, 0}, {1234567, 2, 1200000}, {0.00012345, 3, 0.000123}, {-99.96, 3, -100}, {3.3e6, 2, 3300000}} {
		if got := round(test.x, test.digits); got != test.want {
			t.Errorf("round(%v, %d) = %v, want %v", test.x, test.digits, got, test.want)
		}
	}
}

// The parts of a sample's weight in each class are about equal, bounds ascend and
// are values of the sample.
func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := anySample(t)
		n := rapid.IntRange(1, 8).Draw(t, "classes")
		bounds := cuts(slices.Clone(sample), n)
		if len(bounds) > n-1 || !slices.IsSorted(bounds) || len(slices.Compact(slices.Clone(bounds))) != len(bounds) {
			t.Fatalf("bounds %v for %d classes, want at most %d that ascend", bounds, n, n-1)
		}
		for _, b := range bounds {
			below := slices.ContainsFunc(sample, func(s weighted) bool { return s.value <= b })
			above := slices.ContainsFunc(sample, func(s weighted) bool { return s.value > b })
			if !below || !above {
				t.Fatalf("bound %v leaves a class empty", b)
			}
		}
	})
}
