package es

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env/rng"
)

func search(t *testing.T, start []float64, fixed []bool, seed uint64) *Search {
	t.Helper()
	var cfg Config
	cfg.FillDefaults()
	s, err := New(cfg, start, fixed, rng.New(seed, "test"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bowl is the cost exp(|x − (1, −2, 0.5)|²) in episodes of very different scale.
func bowl(x []float64, noise float64) []float64 {
	d := 0.0
	for i, c := range []float64{1, -2, 0.5} {
		d += (x[i] - c) * (x[i] - c)
	}
	return []float64{math.Exp(d + noise), 1e6 * math.Exp(d-noise)}
}

func TestSearchFindsTheBottomOfABowl(t *testing.T) {
	s := search(t, []float64{0, 0, 0}, []bool{false, false, false}, 1)
	r := rng.New(2, "noise")
	for range 150 {
		var costs [][]float64
		common := r.NormFloat64() // the same luck for all candidates
		for _, x := range s.Ask() {
			costs = append(costs, bowl(x, common))
		}
		if _, err := s.Tell(costs); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []float64{1, -2, 0.5} {
		if got := s.Point()[i]; math.Abs(got-want) > 0.15 {
			t.Errorf("coordinate %d is %v, want about %v", i, got, want)
		}
	}
}

func TestFixedCoordinatesStay(t *testing.T) {
	s := search(t, []float64{0, 7, 0}, []bool{false, true, false}, 1)
	for range 10 {
		var costs [][]float64
		for _, x := range s.Ask() {
			if x[1] != 7 {
				t.Fatalf("a candidate has %v in a fixed coordinate", x[1])
			}
			costs = append(costs, bowl(x, 0))
		}
		if _, err := s.Tell(costs); err != nil {
			t.Fatal(err)
		}
	}
	if p := s.Point(); p[1] != 7 || p[0] == 0 {
		t.Errorf("the point is %v, want coordinate 1 at 7 and the others moved", p)
	}
}

func TestCandidatesComeInOppositePairs(t *testing.T) {
	s := search(t, []float64{1, 2, 3}, []bool{false, false, false}, 4)
	c := s.Ask()
	for p := 0; p < len(c); p += 2 {
		for i, x := range s.Point() {
			if d := c[p][i] + c[p+1][i] - 2*x; math.Abs(d) > 1e-12 {
				t.Errorf("pair %d is not centred in coordinate %d: off by %v", p/2, i, d)
			}
		}
	}
}

func TestTheSameSeedGivesTheSameSearch(t *testing.T) {
	run := func() []float64 {
		s := search(t, []float64{0, 0, 0}, []bool{false, false, false}, 5)
		for range 5 {
			var costs [][]float64
			for _, x := range s.Ask() {
				costs = append(costs, bowl(x, 0))
			}
			if _, err := s.Tell(costs); err != nil {
				t.Fatal(err)
			}
		}
		return s.Point()
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("got %v, then %v", a, b)
	}
}

func TestEqualCostsGoNowhere(t *testing.T) {
	s := search(t, []float64{1, 2, 3}, []bool{false, false, false}, 1)
	s.Ask()
	spread, err := s.Tell(slices.Repeat([][]float64{{2, 3}}, 16))
	if err != nil || spread != 0 || !slices.Equal(s.Point(), []float64{1, 2, 3}) {
		t.Errorf("got spread %v, %v and point %v, want 0 and no move", spread, err, s.Point())
	}
}

func TestTellRefusesBadCosts(t *testing.T) {
	good := func() [][]float64 {
		costs := make([][]float64, 16)
		for i := range costs {
			costs[i] = []float64{1, 2}
		}
		return costs
	}
	for name, spoil := range map[string]func([][]float64) [][]float64{
		"too few candidates":    func(c [][]float64) [][]float64 { return c[:15] },
		"no episodes":           func(c [][]float64) [][]float64 { return make([][]float64, 16) },
		"uneven episodes":       func(c [][]float64) [][]float64 { c[3] = c[3][:1]; return c },
		"not a number":          func(c [][]float64) [][]float64 { c[3][0] = math.NaN(); return c },
		"a cost of zero":        func(c [][]float64) [][]float64 { c[2][1] = 0; return c },
		"an infinite cost":      func(c [][]float64) [][]float64 { c[5][1] = math.Inf(1); return c },
		"a cost less than zero": func(c [][]float64) [][]float64 { c[5][1] = -1; return c },
	} {
		s := search(t, []float64{1, 2, 3}, []bool{false, false, false}, 1)
		s.Ask()
		if _, err := s.Tell(spoil(good())); err == nil {
			t.Errorf("%s: got no error", name)
		}
		if !slices.Equal(s.Point(), []float64{1, 2, 3}) {
			t.Errorf("%s: the point moved", name)
		}
	}
	if _, err := New(Config{Pairs: -1, Sigma: -1}, nil, nil, rng.New(1, "")); err == nil {
		t.Error("bad config: got no error")
	}
	if _, err := New(Config{Pairs: 1, Sigma: 1, Rate: 1}, []float64{1}, nil, rng.New(1, "")); err == nil {
		t.Error("unmarked coordinates: got no error")
	}
}

// A search restored between two generations goes on as the one that was saved.
func TestRestoredSearchContinues(t *testing.T) {
	fixed := []bool{false, true, false}
	source := rng.Source(3, "search")
	generation := func(s *Search) {
		t.Helper()
		var costs [][]float64
		for _, x := range s.Ask() {
			costs = append(costs, bowl(x, 0))
		}
		if _, err := s.Tell(costs); err != nil {
			t.Fatal(err)
		}
	}
	var cfg Config
	cfg.FillDefaults()
	a, err := New(cfg, []float64{1, 2, 3}, fixed, rand.New(source))
	if err != nil {
		t.Fatal(err)
	}
	generation(a)
	generation(a)
	state := a.State()
	chance, err := source.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	generation(a)

	other := rng.Source(0, "")
	if err := other.UnmarshalBinary(chance); err != nil {
		t.Fatal(err)
	}
	b, err := New(cfg, []float64{0, 2, 0}, fixed, rand.New(other))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Restore(state); err != nil {
		t.Fatal(err)
	}
	generation(b)
	if !slices.Equal(a.Point(), b.Point()) {
		t.Errorf("restored, the search went to %v, the other one to %v", b.Point(), a.Point())
	}
	for name, spoil := range map[string]func(*State){
		"coordinates": func(s *State) { s.Point = s.Point[1:] },
		"moments":     func(s *State) { s.Second = nil },
		"steps":       func(s *State) { s.Steps = -1 },
	} {
		bad := a.State()
		spoil(&bad)
		if err := b.Restore(bad); err == nil {
			t.Errorf("restored a state with other %s", name)
		}
	}
}
