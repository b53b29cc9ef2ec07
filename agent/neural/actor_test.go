package neural

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
)

// scored returns an actor that has scored a random state, and its observation.
func scored(t *testing.T, seed uint64) (*Actor, *env.Observation) {
	t.Helper()
	var encoder encode.JobStrategy
	o := &env.Observation{}
	encoder.Encode(o, agenttest.RandomState(rng.New(seed, "state"), agenttest.Options{}))
	a := NewActor(randomModel(seed, models.JobStrategy).Params)
	if _, err := a.Begin(o); err != nil {
		t.Fatal(err)
	}
	return a, o
}

// Sample draws from the masked softmax and returns its log-probability; masked
// rows are never drawn.
func TestSampleFollowsTheMaskedSoftmax(t *testing.T) {
	a, o := scored(t, 1)
	r := rng.New(1, "sample")
	mask := randomMask(r, o.N())
	want, total := make([]float64, o.N()), 0.0
	for i, legal := range mask {
		if legal {
			want[i] = math.Exp(float64(a.Scores()[i]))
			total += want[i]
		}
	}
	const draws = 40_000
	got := make([]float64, o.N())
	for range draws {
		action, logProb, err := a.Sample(mask, r)
		if err != nil {
			t.Fatal(err)
		}
		if !mask[action] {
			t.Fatalf("row %d is masked, but was drawn", action)
		}
		if p := want[action] / total; math.Abs(logProb-math.Log(p)) > 1e-6 {
			t.Fatalf("row %d: log-probability %v, want %v", action, logProb, math.Log(p))
		}
		got[action]++
	}
	for i := range want {
		p := want[i] / total
		if d := math.Abs(got[i]/draws - p); d > 5*math.Sqrt(p*(1-p)/draws)+1e-9 {
			t.Errorf("row %d was drawn with frequency %v, want %v", i, got[i]/draws, p)
		}
	}
}

// A mask under which only hopeless rows are legal still has a softmax.
func TestSampleAmongHopelessRows(t *testing.T) {
	p := nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1})
	p.Tensors[nn.ScoreLinearWeight].Data[0] = 1
	a := NewActor(p)
	o := &env.Observation{Global: []float32{0}, Candidates: []float32{5000, -5000, -5000}, Mask: []bool{true, true, true}}
	if _, err := a.Begin(o); err != nil {
		t.Fatal(err)
	}
	r := rng.New(1, "sample")
	_, logProb, err := a.Sample([]bool{false, true, true}, r)
	if err != nil || math.Abs(logProb+math.Ln2) > 1e-9 {
		t.Errorf("got log-probability %v, error %v, want -log 2", logProb, err)
	}
	if _, _, err := a.Sample(make([]bool, 3), r); err == nil {
		t.Error("drew from an empty mask without an error")
	}
	if _, err := a.Best(make([]bool, 3)); err == nil {
		t.Error("found the best row of an empty mask without an error")
	}
}

// Sampled and best rows do not depend on the order of the candidates
// (learning.md, known-answer test 8).
func TestOrderOfCandidatesMeansNothing(t *testing.T) {
	a, o := scored(t, 2)
	want := slices.Clone(a.Scores())
	value := a.Value(o)
	r := rng.New(2, "order")
	order := r.Perm(o.N())
	f := len(o.Candidates) / o.N()
	shuffled := &env.Observation{Global: o.Global, Epoch: o.Epoch + 1}
	for _, i := range order {
		shuffled.Candidates = append(shuffled.Candidates, o.Candidates[i*f:][:f]...)
		shuffled.Mask = append(shuffled.Mask, o.Mask[i])
	}
	if _, err := a.Begin(shuffled); err != nil {
		t.Fatal(err)
	}
	for k, i := range order {
		if math.Abs(float64(a.Scores()[k]-want[i])) > 1e-5 {
			t.Fatalf("row %d scores %v at place %d, want %v", i, a.Scores()[k], k, want[i])
		}
	}
	if got := a.Value(shuffled); math.Abs(got-value) > 1e-5 {
		t.Errorf("value %v after shuffling, want %v", got, value)
	}
}

// Rows that are not legal, padding among them, change no other row's score.
func TestPaddingMeansNothing(t *testing.T) {
	a, o := scored(t, 3)
	want, value, n := slices.Clone(a.Scores()), a.Value(o), o.N()
	padded := &env.Observation{}
	o.CopyTo(padded)
	padded.Candidates = append(padded.Candidates, make([]float32, 5*len(o.Candidates)/n)...)
	padded.Mask = append(padded.Mask, make([]bool, 5)...)
	if _, err := a.Begin(padded); err != nil {
		t.Fatal(err)
	}
	if got := a.Scores()[:n]; !slices.Equal(got, want) {
		t.Errorf("scores with padding %v, want %v", got, want)
	}
	if got := a.Value(padded); got != value {
		t.Errorf("value with padding %v, want %v", got, value)
	}
}

func TestBestTakesTheLowestAmongEquals(t *testing.T) {
	a := NewActor(nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1})) // every score is 0
	o := &env.Observation{Global: []float32{1}, Candidates: []float32{1, 2, 3}, Mask: []bool{true, true, true}}
	if _, err := a.Begin(o); err != nil {
		t.Fatal(err)
	}
	if got, err := a.Best([]bool{false, true, true}); err != nil || got != 1 {
		t.Errorf("got row %d, error %v, want row 1", got, err)
	}
}

func TestConfigurerTakesTheBestConfiguration(t *testing.T) {
	m := randomModel(4, models.Configuration)
	configs := []env.Configuration{
		{Scheduler: "tiresias"},
		{Scheduler: "tiresias", Knobs: []env.Knob{{Name: encode.KnobThresholds, Values: []float64{3600}}}},
		{Scheduler: "tiresias", Knobs: []env.Knob{{Name: encode.KnobThresholds, Values: []float64{3600, 86400}}}},
	}
	c, err := NewConfigurer(m, configs)
	if err != nil {
		t.Fatal(err)
	}
	actor, r := NewActor(m.Params), rng.New(4, "states")
	var encoder encode.Configuration
	var o env.Observation
	seen := map[env.Action]int{}
	for range 40 {
		s := agenttest.RandomState(r, agenttest.Options{})
		got, err := c.Configure(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		encoder.Encode(&o, s, configs)
		if _, err := actor.Begin(&o); err != nil {
			t.Fatal(err)
		}
		best, err := actor.Best(o.Mask)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equal(configs[best]) {
			t.Fatalf("got %v, want %v", got, configs[best])
		}
		seen[best]++
	}
	if _, err := NewConfigurer(m, nil); err == nil {
		t.Error("made a configurer without configurations")
	}
	m.Params.Tensors[nn.ScoreLinearWeight].Data[0] = float32(math.Inf(1))
	if c, err = NewConfigurer(m, configs); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Configure(context.Background(), agenttest.RandomState(r, agenttest.Options{})); !errors.Is(err, ErrNonFinite) {
		t.Errorf("infinite weight: got %v, want ErrNonFinite", err)
	}
}
