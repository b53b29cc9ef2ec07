package tune

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models/nn"
)

func testTeacher(t *testing.T) *teacher {
	t.Helper()
	s := testSetting()
	s.fillDefaults()
	before, err := s.past()
	if err != nil {
		t.Fatal(err)
	}
	return &teacher{setting: &s, past: before, stride: 2, most: 8, explore: 0.3}
}

func testSetting() Setting {
	return Setting{
		Train: busySim(env.Estimate), Test: busySim(env.Estimate), Seed: 1,
		Engine: EngineConfig{Configurations: tiresias(3600, 600, 9000, 36_000, 1e6)},
	}
}

func TestRecord(t *testing.T) {
	teacher := testTeacher(t)
	lessons, err := teacher.record(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(lessons) != 8 {
		t.Fatalf("got %d lessons, want 8", len(lessons))
	}
	space := encode.ConfigurationSpace()
	for i := range lessons {
		l := &lessons[i]
		if err := space.Contains(&l.Observation); err != nil {
			t.Errorf("lesson %d: %v", i, err)
		}
		if l.Observation.N() != 5 || len(l.Relative) != 5 || minimum(l.Relative) < 0 {
			t.Errorf("lesson %d: %d rows, costs %v, want 5 and nothing below 0", i, l.Observation.N(), l.Relative)
		}
		if i > 0 && l.Observation.Epoch < lessons[i-1].Observation.Epoch+20 {
			t.Errorf("lessons of rounds %d and %d, want 2 windows of 10 rounds between them", lessons[i-1].Observation.Epoch, l.Observation.Epoch)
		}
	}
	again, err := teacher.record(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lessons, again); diff != "" {
		t.Errorf("the same episode was recorded differently:\n%s", diff)
	}
	other, err := teacher.record(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(lessons, other) {
		t.Error("two episodes gave the same lessons")
	}
}

func TestTarget(t *testing.T) {
	l := Lesson{Relative: []float64{1, 1 + math.Log(2), 1 + math.Log(4)}}
	for c, want := range []float64{4.0 / 7, 2.0 / 7, 1.0 / 7} {
		if got := l.target(1)[c]; math.Abs(got-want) > 1e-12 {
			t.Errorf("target of %d is %v, want %v", c, got, want)
		}
	}
	// Costs far above the temperature get nothing, not NaN.
	far := Lesson{Relative: []float64{1e9, 2e9}}
	if diff := cmp.Diff([]float64{1, 0}, far.target(1e-3)); diff != "" {
		t.Error(diff)
	}
}

// TestRegret on lessons whose costs are known; the network scores the first
// column of the candidates.
func TestRegret(t *testing.T) {
	lesson := func(choice int, relative ...float64) Lesson {
		l := Lesson{Relative: relative, Choice: choice}
		l.Observation = env.Observation{Global: []float32{0}, Candidates: []float32{0, 2, 1}, Mask: []bool{true, true, true}}
		return l
	}
	train := []Lesson{lesson(0, 3, 5, 0), lesson(0, 3, 0, 4)} // means 3, 2½, 2
	held := []Lesson{lesson(1, 6, 0, 1), lesson(2, 6, 4, 0)}
	p := nn.NewParams(nn.Dims{Candidate: 1, Global: 1, Hidden: 1, Value: 1})
	p.Tensors[nn.ScoreLinearWeight].Data[0] = 1
	want := Regret{Default: 6, Constant: 0.5, Searched: 0, Learned: 2}
	if diff := cmp.Diff(want, compareRegret(p, train, held)); diff != "" {
		t.Error(diff)
	}
	if got, want := meanRelative(train), 2.5; got != want {
		t.Errorf("mean relative cost is %v, want %v", got, want)
	}
}
