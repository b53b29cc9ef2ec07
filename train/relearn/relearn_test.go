package relearn_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/yardmaster/yardmaster/agent/agenttest"
	"github.com/yardmaster/yardmaster/agent/heuristic"
	"github.com/yardmaster/yardmaster/agent/neural"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/train/bc"
	"github.com/yardmaster/yardmaster/train/relearn"
)

func untrained() *models.Model {
	space := encode.JobStrategySpace()
	p := nn.NewParams(nn.Dims{Candidate: len(space.Candidate), Global: len(space.Global), Hidden: 8, Value: 4})
	p.Initialize(rand.New(rand.NewPCG(1, 2)))
	return models.New(models.JobStrategy, neural.Encoder(encode.JobStrategyVersion, space), p)
}

// recorded returns states and what SRTF decides on them.
func recorded(t *testing.T, n int) ([]*env.State, []env.Allocation) {
	t.Helper()
	r := rng.New(3, "relearn")
	var states []*env.State
	var allocations []env.Allocation
	for range n {
		s := agenttest.RandomState(r, agenttest.Options{})
		a, err := heuristic.SRTF{}.Decide(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		states, allocations = append(states, s), append(allocations, a)
	}
	return states, allocations
}

// A model comes to decide like who decided, on states it did not learn from, is fit
// to be served, and leaves the model it started from alone.
func TestRun(t *testing.T) {
	states, allocations := recorded(t, 150)
	start := untrained()
	before := slices.Clone(start.Params.Flat)
	allocations[5] = nil
	m, result, err := relearn.Run(t.Context(), relearn.Config{Model: start, States: states, Allocations: allocations, BC: bc.Config{Epochs: 6, Minibatch: 16}})
	if err != nil {
		t.Fatal(err)
	}
	if result.Skipped < 1 || result.Demonstrations+result.Skipped != len(states) || result.Epoch < 1 {
		t.Errorf("got %+v", result)
	}
	// The accuracy before says nothing: an untrained network scores all rows alike.
	if !(result.After.Loss < 0.8*result.Before.Loss) || !(result.After.Accuracy > 0.3) {
		t.Errorf("got held-out loss %v after %v and accuracy %v, want a model that learned", result.After.Loss, result.Before.Loss, result.After.Accuracy)
	}
	if !slices.Equal(before, start.Params.Flat) || slices.Equal(before, m.Params.Flat) {
		t.Error("the model to start from was modified, or the result is the same")
	}
	dir := t.TempDir()
	if err := models.Save(dir, m); err != nil { // its golden scores are its own
		t.Error(err)
	}
	again, _, err := relearn.Run(t.Context(), relearn.Config{Model: start, States: states, Allocations: allocations, BC: bc.Config{Epochs: 6, Minibatch: 16}})
	if err != nil || !slices.Equal(m.Params.Flat, again.Params.Flat) {
		t.Errorf("another run gave another model, %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	states, allocations := recorded(t, 12)
	good := relearn.Config{Model: untrained(), States: states, Allocations: allocations}
	for name, edit := range map[string]func(*relearn.Config){
		"no model":     func(c *relearn.Config) { c.Model = nil },
		"kind":         func(c *relearn.Config) { c.Model = c.Model.Clone(); c.Model.Manifest.Kind = models.Configuration },
		"too few":      func(c *relearn.Config) { c.States, c.Allocations = c.States[:5], c.Allocations[:5] },
		"holdout":      func(c *relearn.Config) { c.Holdout = 1 },
		"not together": func(c *relearn.Config) { c.States = c.States[1:] },
	} {
		cfg := good
		edit(&cfg)
		if _, _, err := relearn.Run(t.Context(), cfg); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// However small the share that is held out, something is: an epoch that is judged by
// nothing is never kept.
func TestHoldsOutSomething(t *testing.T) {
	states, allocations := recorded(t, 120)
	for _, holdout := range []float64{0.001, 0.02, 0.5} {
		_, result, err := relearn.Run(t.Context(), relearn.Config{
			Model: untrained(), States: states, Allocations: allocations, Holdout: holdout, BC: bc.Config{Epochs: 2, Minibatch: 16},
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Epoch < 1 || result.Before.Loss == 0 {
			t.Errorf("holdout %v: epoch %d kept, loss before %v, want a loss and an epoch that learned", holdout, result.Epoch, result.Before.Loss)
		}
	}
}
