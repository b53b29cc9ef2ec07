package neural

import (
	"math"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
)

// actorOf returns an actor that has begun with these scores and a value of -3:
// a network of one feature that scores a row by it.
func actorOf(t *testing.T, scores []float32) *Actor {
	t.Helper()
	p := nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1})
	p.Tensors[nn.ScoreLinearWeight].Data[0] = 1
	p.Tensors[nn.ValueOutputBias].Data[0] = -3
	a := NewActor(p)
	mask := make([]bool, len(scores))
	mask[0] = true
	value, err := a.Begin(&env.Observation{Global: []float32{1}, Candidates: scores, Mask: mask})
	if err != nil {
		t.Fatal(err)
	}
	if value != -3 || !slices.Equal(a.Scores(), scores) {
		t.Fatalf("begin: got value %v and scores %v", value, a.Scores())
	}
	return a
}

// slowSoftmax returns the probabilities of the legal rows by the definition.
func slowSoftmax(scores []float32, mask []bool) []float64 {
	p, sum := make([]float64, len(scores)), 0.0
	for i, legal := range mask {
		if legal {
			p[i] = math.Exp(float64(scores[i]))
			sum += p[i]
		}
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func TestSampleFollowsTheMaskedSoftmax(t *testing.T) {
	scores := []float32{0.5, -1, 2, 1.5, -0.25, 3, 0}
	a := actorOf(t, scores)
	r := stream(1)
	for _, mask := range [][]bool{
		{true, true, true, true, true, true, true},
		{true, true, false, true, true, false, true}, // the mask of a later pick in the same round
		{false, true, false, false, false, false, false},
		{false, false, false, false, true, false, true},
	} {
		want := slowSoftmax(scores, mask)
		const draws = 20_000
		counts := make([]int, len(scores))
		for range draws {
			action, logProb, err := a.Sample(mask, r)
			if err != nil {
				t.Fatal(err)
			}
			if !mask[action] {
				t.Fatalf("mask %v: drew row %d", mask, action)
			}
			if math.Abs(logProb-math.Log(want[action])) > 1e-9 {
				t.Fatalf("mask %v, row %d: log probability %v, want %v", mask, action, logProb, math.Log(want[action]))
			}
			counts[action]++
		}
		for i, p := range want {
			// Five standard deviations of a binomial.
			if math.Abs(float64(counts[i])-draws*p) > 5*math.Sqrt(draws*p*(1-p)) {
				t.Errorf("mask %v, row %d: drawn %d times, want about %v", mask, i, counts[i], draws*p)
			}
		}
	}
}

// Rows far below a masked one stay drawable: nothing underflows to 0.
func TestSampleFarBelowTheTop(t *testing.T) {
	a := actorOf(t, []float32{1e30, -5000, -1e30, 0})
	mask := []bool{false, true, true, true}
	r := stream(2)
	counts := make([]int, 4)
	for range 3000 {
		action, logProb, err := a.Sample(mask, r)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(logProb-math.Log(1.0/3)) > 1e-9 {
			t.Fatalf("log probability: got %v, want log(1/3)", logProb)
		}
		counts[action]++
	}
	for i, legal := range mask {
		if got := counts[i] > 850; got != legal {
			t.Errorf("row %d drawn %d times", i, counts[i])
		}
	}
}

func TestSampleIsAPureFunctionOfTheStream(t *testing.T) {
	a := actorOf(t, []float32{1, 2, 3, 0, 1})
	mask := []bool{true, true, false, true, true}
	r, q := stream(3), stream(3)
	for range 50 {
		x, _, err := a.Sample(mask, r)
		if err != nil {
			t.Fatal(err)
		}
		if y, _, err := a.Sample(mask, q); err != nil || x != y {
			t.Fatalf("equal streams drew %d and %d, %v", x, y, err)
		}
	}
}

func TestActorWithNothingLegal(t *testing.T) {
	a := actorOf(t, []float32{1, 2})
	none := make([]bool, 2)
	if _, _, err := a.Sample(none, stream(4)); err == nil {
		t.Error("Sample: got no error")
	}
	if _, err := a.Best(none); err == nil {
		t.Error("Best: got no error")
	}
}

func TestBestTakesTheFirstAmongEquals(t *testing.T) {
	a := actorOf(t, []float32{1, 5, 2, 5, 2})
	for _, tt := range []struct {
		mask []bool
		want env.Action
	}{
		{[]bool{true, true, true, true, true}, 1},
		{[]bool{true, false, true, true, true}, 3},
		{[]bool{true, false, true, false, true}, 2},
		{[]bool{true, false, false, false, false}, 0},
	} {
		if got, err := a.Best(tt.mask); err != nil || got != tt.want {
			t.Errorf("mask %v: got %d, %v, want %d", tt.mask, got, err, tt.want)
		}
	}
}

func TestBeginReportsAValueThatIsNotFinite(t *testing.T) {
	p := nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1})
	p.Tensors[nn.ValueOutputBias].Data[0] = float32(math.NaN())
	o := &env.Observation{Global: []float32{1}, Candidates: []float32{1}, Mask: []bool{true}}
	if _, err := NewActor(p).Begin(o); err == nil {
		t.Error("got no error")
	}
}

// Value leaves the scores of the round alone.
func TestValueKeepsTheScores(t *testing.T) {
	a := actorOf(t, []float32{1, 2, 3})
	o := &env.Observation{Global: []float32{1}, Candidates: []float32{9, 9, 9, 9, 9}, Mask: make([]bool, 5)}
	if got := a.Value(o); got != -3 {
		t.Errorf("value: got %v, want -3", got)
	}
	if got := a.Scores(); !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("scores: got %v", got)
	}
}

func TestActorDoesNotAllocate(t *testing.T) {
	p := nn.NewParams(nn.Dims{Candidate: 4, Global: 2, Hidden: 8, Value: 4})
	randomize(stream(5), p)
	o := &env.Observation{Global: make([]float32, 2), Candidates: make([]float32, 400), Mask: make([]bool, 100)}
	for i := range o.Mask {
		o.Mask[i] = i%2 == 0
	}
	a, r := NewActor(p), stream(6)
	got := testing.AllocsPerRun(20, func() {
		if _, err := a.Begin(o); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Sample(o.Mask, r); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}
