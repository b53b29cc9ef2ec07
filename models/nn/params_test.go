package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names and shapes are what is written to files: FORMAT.md lists them.
func TestTensorsOfAFile(t *testing.T) {
	p := NewParams(Dims{Candidate: 2, Global: 3, Hidden: 5, Value: 7})
	var got []string
	n := 0
	for _, tensor := range p.Tensors {
		got = append(got, fmt.Sprint(tensor.Name, tensor.Shape))
		if len(tensor.Data) != elements(tensor.Shape) || &tensor.Data[0] != &p.Flat[n] {
			t.Errorf("%s is not the view of Flat from %d on", tensor.Name, n)
		}
		n += len(tensor.Data)
	}
	want := []string{
		"score.candidate.weight[5 2]", "score.global.weight[5 3]", "score.global.bias[5]", "score.hidden.weight[5 5]",
		"score.context.weight[5 5]", "score.context.bias[5]", "score.output.weight[1 5]", "score.linear.weight[1 2]",
		"value.candidate.weight[7 2]", "value.global.weight[7 3]", "value.global.bias[7]", "value.output.weight[1 7]", "value.output.bias[1]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tensors (-want +got):\n%s", diff)
	}
	if n != len(p.Flat) || n != p.Dims.Size() {
		t.Errorf("tensors hold %d values, Flat %d, Size %d", n, len(p.Flat), p.Dims.Size())
	}
	if got, want := p.Dims.ScorerSize(), 10+15+5+25+25+5+5+2; got != want {
		t.Errorf("scorer size: got %d, want %d", got, want)
	}
}

func TestAppendingToAViewDoesNotReachTheNext(t *testing.T) {
	p := NewParams(Dims{1, 1, 1, 1})
	_ = append(p.Tensors[0].Data, 9)
	if p.Tensors[1].Data[0] != 0 {
		t.Error("appending to one tensor wrote to the next")
	}
}

func TestViewOfAnotherSizePanics(t *testing.T) {
	p := NewParams(Dims{1, 1, 1, 1})
	if !panics(func() { p.View(make([]float32, p.Dims.Size()+1)) }) {
		t.Error("View did not panic")
	}
}

func TestCloneSharesNoMemory(t *testing.T) {
	p := randomParams(stream(1), Dims{2, 2, 2, 2})
	c := p.Clone()
	if !slices.Equal(c.Flat, p.Flat) || c.Dims != p.Dims {
		t.Fatal("a clone differs from the original")
	}
	p.Flat[0]++
	c.Tensors[1].Data[0]++
	if c.Flat[0] == p.Flat[0] || c.Flat[len(c.Tensors[0].Data)] == p.Flat[len(c.Tensors[0].Data)] {
		t.Error("clone and original share memory")
	}
}

// Initialize draws hidden weights with He's variance and leaves everything else
// zero, so that an untrained network scores and values everything 0.
func TestInitialize(t *testing.T) {
	d := Dims{Candidate: 60, Global: 40, Hidden: 80, Value: 70}
	p := randomParams(stream(2), d) // what was there before must not stay
	p.Initialize(stream(3))
	inputs := map[int]int{
		ScoreCandidateWeight: 100, ScoreGlobalWeight: 100, ScoreHiddenWeight: 160, ScoreContextWeight: 160,
		ValueCandidateWeight: 100, ValueGlobalWeight: 100,
	}
	for i, tensor := range p.Tensors {
		if inputs[i] == 0 {
			if slices.ContainsFunc(tensor.Data, func(x float32) bool { return x != 0 }) {
				t.Errorf("%s is not zero", tensor.Name)
			}
			continue
		}
		mean, square := 0.0, 0.0
		n := float64(len(tensor.Data))
		for _, x := range tensor.Data {
			mean += float64(x) / n
			square += float64(x) * float64(x) / n
		}
		variance := 2 / float64(inputs[i])
		// Five standard deviations of the sample mean and variance of a normal.
		if math.Abs(mean) > 5*math.Sqrt(variance/n) || math.Abs(square-variance) > 5*variance*math.Sqrt(2/n) {
			t.Errorf("%s: mean %v and variance %v, want 0 and %v", tensor.Name, mean, square, variance)
		}
	}
	o := randomDecision(stream(4), d, 9, 0.5)
	var m Scratch
	if got := score(NewScorer(p), o, &m); slices.ContainsFunc(got, func(x float32) bool { return x != 0 }) {
		t.Errorf("scores of an untrained network: got %v, want 0", got)
	}
	if got := NewCritic(p).Value(o.global, o.candidates, o.mask, &m); got != 0 {
		t.Errorf("value of an untrained network: got %v, want 0", got)
	}
}

func TestInitializeIsAPureFunctionOfTheStream(t *testing.T) {
	p, q := NewParams(Dims{4, 4, 4, 4}), randomParams(stream(5), Dims{4, 4, 4, 4})
	p.Initialize(stream(6))
	q.Initialize(stream(6))
	if !slices.Equal(p.Flat, q.Flat) {
		t.Error("equal streams gave other parameters")
	}
}

func TestCheckFiniteNamesTheTensor(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		p := randomParams(stream(7), Dims{2, 2, 3, 2})
		if err := p.CheckFinite(); err != nil {
			t.Fatal(err)
		}
		p.Tensors[ScoreHiddenWeight].Data[4] = float32(bad)
		err := p.CheckFinite()
		if err == nil || !strings.Contains(err.Error(), "score.hidden.weight[4]") || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("got error %v, want one that names score.hidden.weight[4] and %v", err, bad)
		}
	}
}

func TestDimsValidateReportsEverything(t *testing.T) {
	if err := (Dims{1, MaxDim, 1, MaxDim}).Validate(); err != nil {
		t.Error(err)
	}
	err := Dims{0, -1, MaxDim + 1, 0}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	for _, want := range []string{"candidate is 0", "global is -1", "hidden is 1025", "value is 0"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
	if !panics(func() { NewParams(Dims{}) }) {
		t.Error("NewParams of no dimensions did not panic")
	}
}
