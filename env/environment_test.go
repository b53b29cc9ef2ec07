package env

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func observation() *Observation {
	return &Observation{Global: []float32{1}, Candidates: []float32{0, 1, 2, 3}, Mask: []bool{false, true}, Epoch: 3}
}

func space() *Space {
	return &Space{Global: []Feature{{"load", 0, 2}}, Candidate: []Feature{{"a", 0, 2}, {"b", 0, 3}}, MaxCandidates: 2}
}

func TestSpaceContains(t *testing.T) {
	if err := space().Contains(observation()); err != nil {
		t.Fatalf("good observation: %v", err)
	}
	tests := map[string]struct {
		spoil func(*Observation)
		want  string
	}{
		"global of wrong shape": {func(o *Observation) { o.Global = nil }, "shapes"},
		"row too short":         {func(o *Observation) { o.Candidates = o.Candidates[:3] }, "shapes"},
		"not a number":          {func(o *Observation) { o.Candidates[2] = float32(math.NaN()) }, "candidate 1: feature a is NaN"},
		"out of bounds":         {func(o *Observation) { o.Global[0] = 3 }, "feature load is 3"},
		"nothing legal":         {func(o *Observation) { o.Mask[1] = false }, "no action"},
		"too many candidates": {func(o *Observation) {
			o.Candidates, o.Mask = append(o.Candidates, 0, 0), append(o.Mask, true)
		}, "3 candidates"},
	}
	for name, tt := range tests {
		o := observation()
		tt.spoil(o)
		if err := space().Contains(o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tt.want)
		}
	}
}

func TestSampleIsUniformOverLegalActions(t *testing.T) {
	o := &Observation{Mask: []bool{true, false, true, false, true}}
	r := rand.New(rand.NewPCG(1, 2))
	counts := make([]int, 5)
	const draws = 30_000
	for range draws {
		counts[space().Sample(o, r)]++
	}
	for a, n := range counts {
		want := 0.0
		if o.Mask[a] {
			want = draws / 3
		}
		// Five standard deviations of a binomial with p = 1/3.
		if math.Abs(float64(n)-want) > 5*math.Sqrt(draws*2.0/9) {
			t.Errorf("action %d drawn %d times, want about %v", a, n, want)
		}
	}
}

func TestCopyToSharesNoMemory(t *testing.T) {
	o, dst := observation(), &Observation{}
	o.CopyTo(dst)
	o.Global[0], o.Candidates[0], o.Mask[0] = 9, 9, true
	if dst.Global[0] != 1 || dst.Candidates[0] != 0 || dst.Mask[0] || dst.Epoch != 3 {
		t.Errorf("copy changed with the original: %+v", dst)
	}
}

type never struct{ Env }

func TestRegistry(t *testing.T) {
	var r Registry[int]
	r.Register("Nothing-v0", func(int) (Env, error) { return never{}, nil })
	if _, err := r.Make("Nothing-v0", 1); err != nil {
		t.Error(err)
	}
	if _, err := r.Make("Nothing-v1", 1); err == nil || !strings.Contains(err.Error(), "Nothing-v0") {
		t.Errorf("unknown id: got %v, want an error that lists Nothing-v0", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("registering an id twice did not panic")
		}
	}()
	r.Register("Nothing-v0", nil)
}
