package neural

import (
	"testing"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/models"
)

// Golden inputs are what the policy meets, and their scores are its own.
func TestNewGolden(t *testing.T) {
	m := randomModel(stream(1), 16)
	states := randomStates(1, 40)
	observations := make([]*env.Observation, len(states)-1)
	var e encode.JobStrategy
	for i := range observations {
		observations[i] = new(env.Observation)
		e.Encode(observations[i], states[i])
	}
	g, err := NewGolden(m, observations)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(g.Cases); got != models.MaxGoldenCases {
		t.Errorf("got %d cases of %d observations, want %d", got, len(observations), models.MaxGoldenCases)
	}
	a := NewActor(m.Params)
	for i, c := range g.Cases {
		o := observations[i*len(observations)/len(g.Cases)]
		if o.N() > models.MaxGoldenCandidates {
			continue // scored without the rest, it has another context
		}
		if _, err := a.Begin(o); err != nil {
			t.Fatal(err)
		}
		for row, got := range c.Scores {
			if want := a.Scores()[row]; got != want {
				t.Fatalf("case %d: row %d has score %v, the policy gives %v", i, row, got, want)
			}
		}
	}
	m.Golden = &g
	if err := models.Save(t.TempDir(), m); err != nil {
		t.Error(err)
	}
	observations[0].Global[0]++
	if err := g.Check(m.Params); err != nil {
		t.Errorf("golden inputs share memory with the observations: %v", err)
	}
	if _, err := NewGolden(m, nil); err == nil {
		t.Error("no observations: got no error")
	}
}
