package gavel

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env/rng"
)

// packingFunc is a policy that is a function.
type packingFunc func(v *PackingView, x []float64) error

func (f packingFunc) Allocate(v *PackingView, x []float64) error { return f(v, x) }

// aloneOnly plays a policy of jobs where pairs could run, too.
func aloneOnly(p Policy) PackingPolicy {
	return packingFunc(func(v *PackingView, x []float64) error {
		view := View{Types: v.Types}
		for i, u := range v.Units {
			if !u.IsPair() {
				view.IDs, view.GPUs = append(view.IDs, u.First), append(view.GPUs, int32(v.GPUs[i]))
			}
		}
		return p.Allocate(&view, x[:len(view.IDs)*len(v.Types)])
	})
}

func neverPair(int, int, int) (first, second float64) { return 0, 0 }

func runPacking(t *testing.T, cfg PackingConfig) *Result {
	t.Helper()
	p, err := NewPacking(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for {
		more, err := p.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return p.Result()
		}
	}
}

// Where no pair fits, Packing is Sim, but for the last bits of priorities: the half
// rounds of pairs count in the time of a type. With seed 5 that makes a tie.
func TestPackingWithoutPairsIsTheSim(t *testing.T) {
	givenUp := 0
	for seed := range uint64(300) {
		if seed == 5 {
			continue
		}
		cfg := present(randomConfig(seed))
		cfg.Window = Window{}
		policy := func() Policy { return &randomPolicy{rng.New(seed, "policy"), Rules{}, int(seed % 5)} }
		cfg.Policy = policy()
		want := play(t, cfg)
		got := runPacking(t, PackingConfig{Types: cfg.Types, Jobs: cfg.Jobs, Pair: neverPair, Policy: aloneOnly(policy())})
		for j := range want.JCT {
			if math.IsNaN(want.JCT[j]) {
				givenUp++
			}
			if math.Float64bits(got.JCT[j]) != math.Float64bits(want.JCT[j]) && !(math.IsNaN(got.JCT[j]) && math.IsNaN(want.JCT[j])) {
				t.Errorf("seed %d: job %d takes %v s, want %v", seed, j, got.JCT[j], want.JCT[j])
			}
		}
		if got.End != want.End || got.Rounds != want.Rounds || got.JobRounds != want.JobRounds || math.Abs(got.Utilization-want.Utilization) > 1e-12 {
			t.Errorf("seed %d: got %+v, want %+v", seed, got, want)
		}
	}
	if givenUp == 0 {
		t.Error("no job was given up")
	}
}

// Two jobs of 720 steps on one GPU, at 1 step/s alone; side by side the first
// does 1 and the second half a step/s, until the first is done.
func TestPairsRunSideBySide(t *testing.T) {
	halves := func(a, b, _ int) (first, second float64) { return 1, 0.5 }
	together := packingFunc(func(v *PackingView, x []float64) error {
		x[len(v.Units)-1] = 1 // the pair, or the job that is left
		return nil
	})
	cfg := PackingConfig{
		Types: oneType(1), Pair: halves, Policy: together,
		Jobs: []Job{{GPUs: 1, Steps: 720, Rates: rates(1)}, {GPUs: 1, Steps: 720, Rates: rates(1)}},
	}
	r := runPacking(t, cfg)
	// After 720 s the second has 360 steps left and the GPU to itself.
	if diff := cmp.Diff([]float64{720, 1080}, r.JCT); diff != "" || r.Utilization != 1 {
		t.Errorf("times (-want +got):\n%s utilization %v", diff, r.Utilization)
	}
	// A job of a pair that ends within the round counts as ending with its partner.
	cfg.Jobs[0].Steps = 100
	if got := runPacking(t, cfg).JCT[0]; got != 360 {
		t.Errorf("the first takes %v s, want the 360 of its partner's round", got)
	}
}

// A policy sees jobs by ID, then pairs of as many GPUs, and what each does.
func TestPackingViewHasJobsThenPairs(t *testing.T) {
	var seen []Unit
	var last [2]float64
	look := packingFunc(func(v *PackingView, x []float64) error {
		if seen == nil {
			seen, last = append(seen, v.Units...), v.Rates[len(v.Rates)-1]
		}
		for i := range x {
			x[i] = 1
		}
		return nil
	})
	job := func(gpus int) Job { return Job{GPUs: gpus, Steps: 10, Rates: rates(1)} }
	runPacking(t, PackingConfig{
		Types: oneType(4), Jobs: []Job{job(1), job(2), job(1), job(1)}, Policy: look,
		Pair: func(a, b, _ int) (first, second float64) { return float64(a), float64(b) },
	})
	want := []Unit{{0, Alone}, {1, Alone}, {2, Alone}, {3, Alone}, {0, 2}, {0, 3}, {2, 3}}
	if diff := cmp.Diff(want, seen); diff != "" || last != [2]float64{2, 3} {
		t.Errorf("units (-want +got):\n%s rates of the last %v", diff, last)
	}
}

func TestPackingReportsWhatIsWrong(t *testing.T) {
	_, err := NewPacking(PackingConfig{Types: []GPUType{{"V100", 1}, {"K80", 0}}, Jobs: []Job{{GPUs: 0, Steps: 1, Rates: rates(1, 1)}}})
	for _, want := range []string{"Policy or Pair is nil", "K80", "GPUs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want one with %q", err, want)
		}
	}
	failed := errors.New("no shares")
	for name, test := range map[string]struct {
		policy packingFunc
		want   string
	}{
		"policy": {func(*PackingView, []float64) error { return failed }, "no shares"},
		"share":  {func(_ *PackingView, x []float64) error { x[0] = 2; return nil }, "want 0 to 1"},
		"NaN":    {func(_ *PackingView, x []float64) error { x[0] = math.NaN(); return nil }, "want 0 to 1"},
	} {
		p, err := NewPacking(PackingConfig{Types: oneType(1), Jobs: []Job{{GPUs: 1, Steps: 1, Rates: rates(1)}}, Pair: neverPair, Policy: test.policy})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Step(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want one with %q", name, err, test.want)
		}
	}
}

// Python 3.11: r = random.Random(0), then r.sample(range(n), 2).
func TestTwoIsPythonsSample(t *testing.T) {
	for n, want := range map[int][][2]int{
		2:  {{1, 0}, {0, 1}, {1, 0}, {1, 0}, {1, 0}, {0, 1}, {0, 1}, {1, 0}},
		3:  {{1, 2}, {0, 1}, {2, 1}, {1, 2}, {1, 2}, {2, 0}, {2, 0}, {1, 0}},
		5:  {{3, 4}, {0, 2}, {4, 3}, {3, 2}, {3, 2}, {4, 1}, {4, 1}, {2, 1}},
		21: {{12, 13}, {1, 8}, {16, 15}, {12, 9}, {15, 11}, {18, 6}, {16, 4}, {9, 4}},
		22: {{12, 13}, {1, 8}, {16, 15}, {12, 9}, {15, 11}, {18, 6}, {16, 4}, {9, 4}},
		40: {{24, 26}, {2, 16}, {32, 31}, {25, 19}, {30, 22}, {37, 13}, {32, 8}, {18, 8}},
	} {
		r := NewRandom(0)
		for i, w := range want {
			if first, second := r.Two(n); first != w[0] || second != w[1] {
				t.Errorf("%d of %d: got %d, %d, want %v", i, n, first, second, w)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two of one: want a panic")
		}
	}()
	NewRandom(0).Two(1)
}

// From 22 numbers on, a second that is the first is drawn again.
func TestTwoAreDifferent(t *testing.T) {
	r := NewRandom(1)
	for n := 2; n < 60; n++ {
		for range 200 {
			if a, b := r.Two(n); a == b || min(a, b) < 0 || max(a, b) >= n {
				t.Fatalf("of %d: got %d and %d", n, a, b)
			}
		}
	}
}
