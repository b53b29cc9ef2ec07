package gavel

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Python 3.11: the sum of -math.log(1 - r.random()) / (1/mean), where r is
// random.Random(3), as in scheduler.py with seed 0.
func TestArrivals(t *testing.T) {
	want := []float64{0, 244.5860729103015, 951.7748275290958, 1367.5426956563874, 2201.0679444933708}
	if diff := cmp.Diff(want, Arrivals(0, 900, 5)); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
	at := Arrivals(7, 1, 20_000)
	if mean := at[len(at)-1] / float64(len(at)-1); math.Abs(mean-1) > 0.03 {
		t.Errorf("the mean gap is %v, want 1", mean)
	}
	if len(Arrivals(1, 1, 0)) != 0 {
		t.Error("got arrivals of no jobs")
	}
}

// Correctly rounded logarithms (Python's decimal with 50 digits), and math/big's
// at random places.
func TestLogarithm(t *testing.T) {
	for x, want := range map[float64]float64{
		1: 0, 0.5: -0.6931471805599453, 0.7071067811865475: -0.34657359027997275, 0.7071067811865476: -0.3465735902799726,
		1 - 0x1p-53: -1.1102230246251565e-16, 0x1p-53: -36.7368005696771, 0.1: -2.3025850929940455, 1.0 / 3: -1.0986122886681098,
	} {
		if got := logarithm(x); got != want {
			t.Errorf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
	m := newMersenne(1)
	for range 3000 {
		x := 1 - m.float64()
		if got, want := logarithm(x), slowLogarithm(x); got != want {
			t.Errorf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
}

// slowLogarithm returns ln x, rounded from 200 bits: Newton's method on exp, from
// math.Log.
func slowLogarithm(x float64) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	exp := func(y *big.Float) *big.Float { // by halving until the series is short
		const halvings = 30
		small := new(big.Float).SetPrec(200).SetMantExp(y, -halvings)
		term, sum := number(1), number(1)
		for i := 1.0; i < 12; i++ {
			term.Mul(term, small).Quo(term, number(i))
			sum.Add(sum, term)
		}
		for range halvings {
			sum.Mul(sum, sum)
		}
		return sum
	}
	y := number(math.Log(x))
	for range 2 { // y += x·e^-y - 1
		step := exp(new(big.Float).Neg(y))
		step.Sub(step.Mul(step, number(x)), number(1))
		y.Add(y, step)
	}
	got, _ := y.Float64()
	return got
}

// The first jobs of seed 0, from Gavel's generator. Types: ResNet-18 with five
// batch sizes, ResNet-50 with four, Transformer and LM with five, then
// Recommendation with five, A3C and CycleGAN, which cannot be distributed.
func TestDraw(t *testing.T) {
	distributed := make([]bool, 26)
	for i := range 19 {
		distributed[i] = true
	}
	got := Draw(0, 2, distributed, true)
	want := []Drawn{{Type: 2, GPUs: 8, Duration: 68344.35010595087}, {Type: 9, GPUs: 1, Duration: 31016.60914593223}}
	for i := range want {
		if got[i].Type != want[i].Type || got[i].GPUs != want[i].GPUs || math.Abs(got[i].Duration-want[i].Duration) > 1e-10 {
			t.Errorf("job %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	sizes := map[int]int{}
	for _, j := range Draw(3, 20_000, distributed, true) {
		sizes[j.GPUs]++
		if j.GPUs > 1 && !distributed[j.Type] || j.Duration < 60*math.Pow(10, 1.5) || j.Duration > 60e4 {
			t.Fatalf("drew %+v", j)
		}
	}
	for gpus, share := range map[int]float64{1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05} {
		if got := float64(sizes[gpus]) / 20_000; math.Abs(got-share) > 0.01 {
			t.Errorf("%v of the jobs have %d GPUs, want %v", got, gpus, share)
		}
	}
	for _, j := range Draw(3, 100, distributed, false) {
		if j.GPUs != 1 {
			t.Fatalf("drew %+v without gangs", j)
		}
	}
}
