package train

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/tiny"
)

func priorModel(t *testing.T) *models.Model {
	t.Helper()
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 8, Value: 8})
	p.Initialize(rng.New(1, "test"))
	var prior Prior
	prior.fillDefaults()
	if err := prior.apply(p, space); err != nil {
		t.Fatal(err)
	}
	return models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p)
}

// What a model met is kept with it, the same each time, and is what a policy made
// of the model tells states by.
func TestCharacterise(t *testing.T) {
	newEnv := func() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(40)) }
	characterised := func() *models.Model {
		m := priorModel(t)
		if err := Characterise(t.Context(), m, newEnv, []uint64{1, 2, 3, 4, 5, 6, 7, 8}, 1); err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, again := characterised(), characterised()
	if diff := cmp.Diff(m.Manifest.Novelty, again.Manifest.Novelty); diff != "" || m.Manifest.Novelty == nil {
		t.Fatalf("characterised twice: %s", diff)
	}
	if m.Golden == nil || m.Golden.Check(m.Params) != nil {
		t.Error("got no golden cases, or others than the model's")
	}
	dir := filepath.Join(t.TempDir(), "model")
	if err := models.Save(dir, m); err != nil {
		t.Fatal(err)
	}
	loaded, err := models.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := neural.NewPolicy(loaded)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(tiny.Cluster(40))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset(99); err != nil {
		t.Fatal(err)
	}
	decisions, unlike := 0, 0
	for !s.Done() {
		a, score, err := policy.DecideScored(t.Context(), s.State())
		if err != nil || score < 0 {
			t.Fatalf("got score %v, %v", score, err)
		}
		decisions++
		if score > 1 {
			unlike++
		}
		if _, err := s.Advance(a); err != nil {
			t.Fatal(err)
		}
	}
	if unlike*20 > decisions {
		t.Errorf("%d of %d states of an episode like those of training are unlike them", unlike, decisions)
	}
}

func TestCharacteriseOnTooLittle(t *testing.T) {
	m := priorModel(t)
	newEnv := func() (env.Env, error) { return sim.NewJobStrategy(tiny.Cluster(1)) }
	if err := Characterise(t.Context(), m, newEnv, []uint64{1}, 1); err != nil {
		t.Fatal(err)
	}
	if m.Manifest.Novelty != nil {
		t.Errorf("got statistics of %d states, want none", m.Manifest.Novelty.States)
	}
	if err := Characterise(t.Context(), m, newEnv, nil, 1); err == nil {
		t.Error("without seeds: got no error")
	}
}
