package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/combin"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/datasets"
)

func TestKolmogorovSmirnovByHand(t *testing.T) {
	for _, test := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1}, []float64{1}, 0},
		{[]float64{1}, []float64{2}, 1},
		{[]float64{1, 2}, []float64{2, 1}, 0},
		{[]float64{1, 3}, []float64{2, 4}, 0.5},
		{[]float64{1, 1, 1, 5}, []float64{1, 5}, 0.25},
		{[]float64{3, 1, 2}, []float64{4, 5, 6, 2.5}, 0.75}, // at 3, F is 1 and G is 1/4
		{[]float64{0, 0, 0, 0}, []float64{0, 1}, 0.5},
	} {
		if got := KolmogorovSmirnov(test.a, test.b); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("KS(%v, %v) = %v, want %v", test.a, test.b, got, test.want)
		}
	}
}

// All interleavings of two samples of n are equally likely under the hypothesis.
// The counts of those with n·D >= k over C(2n, n) are the exact distribution that
// tables give, by the formula of Gnedenko and Korolyuk (Doklady 80, 1951):
// P(nD >= k) = 2·Σ_{j>=1} (−1)^(j+1)·C(2n, n−jk)/C(2n, n). Two entries are also
// written out from tables of that distribution: for n = 5, P(D >= 4/5) = 0.0794
// and P(D >= 1) = 0.0079.
func TestKolmogorovSmirnovAgainstTheTable(t *testing.T) {
	for _, n := range []int{2, 3, 5, 6} {
		counts := make([]int, n+1)
		total := 0
		for _, chosen := range combin.Combinations(2*n, n) {
			var a, b []float64
			for i := range 2 * n {
				if slices.Contains(chosen, i) {
					a = append(a, float64(i))
				} else {
					b = append(b, float64(i))
				}
			}
			counts[int(math.Round(KolmogorovSmirnov(a, b)*float64(n)))]++
			total++
		}
		at, tail := 0, make([]float64, n+2)
		for k := n; k >= 0; k-- {
			at += counts[k]
			tail[k] = float64(at) / float64(total)
		}
		for k := 1; k <= n; k++ {
			want, sign := 0.0, 1.0
			for j := 1; j*k <= n; j++ {
				want += 2 * sign * float64(combin.Binomial(2*n, n-j*k)) / float64(combin.Binomial(2*n, n))
				sign = -sign
			}
			if math.Abs(tail[k]-want) > 1e-12 {
				t.Errorf("n = %d: P(nD >= %d) = %v, want %v", n, k, tail[k], want)
			}
		}
		if n == 5 && (math.Abs(tail[4]-0.0794) > 5e-5 || math.Abs(tail[5]-0.0079) > 5e-5) {
			t.Errorf("n = 5: P(D >= 4/5) = %v and P(D >= 1) = %v, want 0.0794 and 0.0079", tail[4], tail[5])
		}
	}
}

// Against gonum's, and symmetric.
func TestKolmogorovSmirnovAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(0, 20).Draw(t, "value")) }), 1, 50)
		a, b := sample.Draw(t, "a"), sample.Draw(t, "b")
		got := KolmogorovSmirnov(a, b)
		slices.Sort(a)
		slices.Sort(b)
		if want := stat.KolmogorovSmirnov(a, nil, b, nil); math.Abs(got-want) > 1e-12 {
			t.Fatalf("KS(%v, %v) = %v, gonum's is %v", a, b, got, want)
		}
		if back := KolmogorovSmirnov(b, a); back != got {
			t.Fatalf("KS(%v, %v) = %v, the other way round %v", a, b, got, back)
		}
	})
}

// The sweep with weights is the plain distance of a sample in which each value is
// repeated as often as its weight says.
func TestWeightedSweepAgainstRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 20).Draw(t, "n"), rapid.IntRange(1, 20).Draw(t, "m")
		values := make([]float64, n+m)
		weights := make([]float64, n)
		var a []float64
		for i := range values {
			values[i] = float64(rapid.IntRange(0, 9).Draw(t, "value"))
			if i < n {
				k := rapid.IntRange(1, 4).Draw(t, "weight")
				weights[i] = float64(k) / 8
				a = append(a, slices.Repeat([]float64{values[i]}, k)...)
			}
		}
		s := newSweep(values)
		if got, want := s.ks(weights), KolmogorovSmirnov(a, values[n:]); math.Abs(got-want) > 1e-12 {
			t.Fatalf("values %v, weights %v: %v, want %v", values, weights, got, want)
		}
	})
}

// Comparing a table with itself gives 0; figures of a table made by hand.
func TestCompareByHand(t *testing.T) {
	row := func(id int64, at time.Duration, gpus int32, run time.Duration, tenant string) datasets.Row {
		return datasets.Row{ID: id, Submit: at, GPUs: gpus, Duration: run, Tenant: tenant}
	}
	a := &datasets.Jobs{Name: "a", Rows: []datasets.Row{
		row(1, 0, 1, time.Minute, "x"), row(2, time.Hour, 1, time.Minute, "x"), row(3, 2*time.Hour, 2, time.Hour, "y"), row(4, 5*time.Hour, 2, time.Hour, "x"),
	}}
	same, err := Compare(a, a)
	if err != nil {
		t.Fatal(err)
	}
	if same.InterArrival != 0 || same.Duration != 0 || same.Size != 0 || same.HourOfDay != 0 || same.Tenants != 0 {
		t.Errorf("a table is %+v from itself, want 0", same)
	}
	b := &datasets.Jobs{Name: "b", Rows: []datasets.Row{row(1, 0, 1, time.Minute, "x"), row(2, time.Hour, 1, time.Hour, "z")}}
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	// Gaps 1, 1, 3 h against 1 h; three quarters of the hours 0, 1, 2, 5 against half of 0, 1.
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"KS of gaps", c.InterArrival, 1.0 / 3},
		{"KS of durations", c.Duration, 0},
		{"KS of sizes", c.Size, 0.5},
		{"hours", c.HourOfDay, 0.5},
		{"tenants", c.Tenants, 0.5},
		{"counts 1, 1, 1, 0, 0: dispersion", c.A.Dispersion, 0.24 / 0.6},
		{"gaps 1, 1, 3: CV", c.A.CV, math.Sqrt(8.0/9) / (5.0 / 3)},
		{"jobs per hour", c.A.PerHour, 0.6},
	} {
		if math.Abs(x.got-x.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", x.what, x.got, x.want)
		}
	}
	if _, err := Compare(a, &datasets.Jobs{Name: "one", Rows: a.Rows[:1]}); err == nil {
		t.Error("one job: got no error")
	}
}

// Normal scores keep the order, ties share one, and they are those of a normal
// sample in distribution.
func TestScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 2001)
	for i := range x {
		x[i] = math.Exp(5 * r.Float64())
	}
	z := scores(x)
	if mean, variance := moments(z); math.Abs(mean) > 1e-9 || math.Abs(variance-1) > 0.01 {
		t.Errorf("mean %v and variance %v of the scores, want 0 and 1", mean, variance)
	}
	if got := scores([]float64{7, 7, 7}); got[0] != 0 || got[1] != 0 || got[2] != 0 {
		t.Errorf("scores of ties %v, want 0", got)
	}
}

func TestPercentile(t *testing.T) {
	x := []float64{1, 2, 4}
	for p, want := range map[float64]float64{0: 1, 0.25: 1.5, 0.5: 2, 0.75: 3, 1: 4} {
		if got := percentile(x, p); got != want {
			t.Errorf("percentile %v of %v: got %v, want %v", p, x, got, want)
		}
	}
}
