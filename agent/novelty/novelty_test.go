package novelty

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

const globals, columns = 2, 4

// observe draws an observation: the load decides how many candidates there are and
// what they look like, column 3 follows from columns 1 and 2, column 0 is constant.
func observe(r *rand.Rand, load float64) *env.Observation {
	n := 20 + int(math.Abs(load)*20*r.Float64())
	o := &env.Observation{Global: []float32{float32(load), float32(r.NormFloat64())}, Mask: make([]bool, n)}
	for i := range n {
		a, b := float32(r.NormFloat64()), float32(r.NormFloat64())
		o.Candidates = append(o.Candidates, 0.5, a, b, a-b)
		o.Mask[i] = i > 0
	}
	return o
}

// record draws the observations of episodes one after the other.
func record(seed uint64, n int) []*env.Observation {
	r := rng.New(seed, "novelty")
	all := make([]*env.Observation, n)
	for i := range all {
		all[i] = observe(r, 1+0.5*r.Float64())
	}
	return all
}

func scorer(t testing.TB, observations []*env.Observation) *Scorer {
	t.Helper()
	n, err := Measure(observations)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(&n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHeldOutStatesScoreBelowOne(t *testing.T) {
	s := scorer(t, record(1, 2500))
	above := 0
	held := record(2, 2500)
	for _, o := range held {
		if s.Score(o) > 1 {
			above++
		}
	}
	if share := float64(above) / float64(len(held)); share > 0.02 {
		t.Errorf("%v of the states of the same distribution score above 1, want about 0.01", share)
	}
}

// What each part of the score is there for.
func TestShiftsScoreAboveOne(t *testing.T) {
	s := scorer(t, record(1, 2500))
	for name, shift := range map[string]func(*env.Observation){
		"a load never met":             func(o *env.Observation) { o.Global[0] = 4 },
		"a constant that changed":      func(o *env.Observation) { each(o, func(x []float32) { x[0] = 0.9 }) },
		"columns that no longer agree": func(o *env.Observation) { each(o, func(x []float32) { x[3] = x[1] + x[2] + 3 }) },
		"candidates out of range":      func(o *env.Observation) { each(o, func(x []float32) { x[1] *= 20; x[2] *= 20; x[3] *= 20 }) },
		"a global that is not a number": func(o *env.Observation) {
			o.Global[1] = float32(math.NaN())
			each(o, func(x []float32) { x[1] *= 20; x[2] *= 20 })
		},
	} {
		caught, shifted := 0, record(3, 200)
		for _, o := range shifted {
			shift(o)
			if !(s.Score(o) <= 1) {
				caught++
			}
		}
		if caught < len(shifted)*9/10 {
			t.Errorf("%s: %d of %d states score above 1, want nearly all", name, caught, len(shifted))
		}
	}
}

func each(o *env.Observation, f func(row []float32)) {
	for i := range o.N() {
		f(o.Candidates[i*columns:][:columns])
	}
}

// Score is the plain sum of its definition, written down once more.
func TestScoreTwin(t *testing.T) {
	n, err := Measure(record(1, 1500))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(&n)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range record(4, 100) {
		class := n.Classes[0]
		for _, c := range n.Classes {
			if legal(o) >= c.Candidates {
				class = c
			}
		}
		x := slices.Repeat([]float64{0}, globals+columns)
		rows, out := 0.0, 0.0
		for row, ok := range o.Mask {
			if !ok {
				continue
			}
			rows++
			for k, v := range o.Candidates[row*columns:][:columns] {
				x[globals+k] += float64(v)
				if v < n.Candidate[k].Low || v > n.Candidate[k].High {
					out++
				}
			}
		}
		for k := range x {
			if k < globals {
				x[k] = float64(o.Global[k])
				if o.Global[k] < n.Global[k].Low || o.Global[k] > n.Global[k].High {
					out++
				}
			} else {
				x[k] /= rows
			}
			x[k] -= class.Mean[k]
		}
		want := out / (rows*columns + globals) / class.Outside
		y, square := solve(n.Covariance, x), 0.0
		for k := range y {
			want = max(want, math.Abs(y[k])/class.Features[k])
			square += y[k] * y[k]
		}
		want = max(want, math.Sqrt(square)/class.Distance)
		if got := s.Score(o); math.Abs(got-want) > 1e-3*(1+want) {
			t.Errorf("state %d: got %v, want %v", i, got, want)
		}
	}
}

// solve returns L⁻¹·x by forward substitution, where L·Lᵀ is the covariance.
func solve(lower, x []float64) []float64 {
	d := len(x)
	at := func(i, j int) float64 { return lower[i*(i+1)/2+j] }
	l := make([][]float64, d)
	y := make([]float64, d)
	for i := range d {
		l[i] = make([]float64, d)
		for j := range i + 1 {
			sum := at(i, j)
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(sum)
			} else {
				l[i][j] = sum / l[j][j]
			}
		}
		y[i] = x[i]
		for k := range i {
			y[i] -= l[i][k] * y[k]
		}
		y[i] /= l[i][i]
	}
	return y
}

func TestMeasureIsAFunctionOfTheStates(t *testing.T) {
	a, err := Measure(record(5, 500))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Measure(record(5, 500))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("measured twice:\n%s", diff)
	}
}

func TestMeasureRefuses(t *testing.T) {
	if _, err := Measure(record(1, MinStates-1)); !errors.Is(err, ErrFewStates) {
		t.Errorf("few states: got %v, want ErrFewStates", err)
	}
	nothing := record(1, 100)
	for _, o := range nothing {
		clear(o.Mask)
		o.Mask[0] = true
	}
	if _, err := Measure(nothing); !errors.Is(err, ErrFewStates) {
		t.Errorf("states without a choice: got %v, want ErrFewStates", err)
	}
	odd := record(1, 100)
	odd[50].Global = odd[50].Global[:1]
	if _, err := Measure(odd); err == nil {
		t.Error("states with other features: got no error")
	}
}

func TestNewRefuses(t *testing.T) {
	n, err := Measure(record(1, 500))
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.Covariance {
		n.Covariance[i] = 1
	}
	if _, err := New(&n); !errors.Is(err, ErrStatistics) {
		t.Errorf("singular covariance: got %v, want ErrStatistics", err)
	}
	n.Covariance = n.Covariance[1:]
	if _, err := New(&n); !errors.Is(err, ErrStatistics) {
		t.Errorf("covariance cut off: got %v, want ErrStatistics", err)
	}
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200_000).Draw(t, "n")
		count, most := 0, 0
		var seen [16]int // of sixteenths
		for row := range spread(n) {
			if row < 0 || row >= n {
				t.Fatalf("row %d of %d", row, n)
			}
			count++
			seen[row*16/n]++
			most = max(most, seen[row*16/n])
		}
		if count != min(n, maxRows) || n > maxRows && most > maxRows/16+2 {
			t.Fatalf("%d rows of %d, %d in one sixteenth", count, n, most)
		}
	})
}

func TestPackKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float32Range(-10, 10).Draw(t, "a"), rapid.Float32Range(-10, 10).Draw(t, "b")
		fold := uint32(rapid.IntRange(0, folds-1).Draw(t, "fold"))
		if unpack(pack(a, fold)) != a || (a < b) != (pack(a, fold) < pack(b, fold)) && a != b {
			t.Fatalf("%v and %v became %x and %x", a, b, pack(a, fold), pack(b, fold))
		}
	})
}

// The memory of a score comes from a pool; without it nothing is allocated.
func TestScoreAllocatesNothing(t *testing.T) {
	observations := record(1, 500)
	s := scorer(t, observations)
	w, mean := newScratch(globals, columns), s.classes[0].Mean
	if n := testing.AllocsPerRun(100, func() { s.parts(w, observations[7], mean) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkScore(b *testing.B) {
	observations := record(1, 500)
	s := scorer(b, observations)
	b.ReportAllocs()
	for b.Loop() {
		s.Score(observations[7])
	}
}
