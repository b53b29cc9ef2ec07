package bc

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/train/checkpoint"
)

// The error of a loss that is not finite holds the minibatch and the parameters that
// it was computed with.
func TestNonFiniteLossHandsOverItsBatch(t *testing.T) {
	r := rng.New(7, "demos")
	for name, spoil := range map[string]func(*Demonstration){
		"observation": func(d *Demonstration) { d.Observation.Candidates[columns] = float32(math.NaN()) },
		"target":      func(d *Demonstration) { d.Target[1] = math.Inf(1) },
	} {
		demos := []Demonstration{softly(t, randomObservation(r, 5), r)}
		spoil(&demos[0])
		p := toyParams(1)
		before := slices.Clone(p.Flat)
		_, err := fitter(t, Config{Minibatch: 1}, p).Epoch(context.Background(), demos, r)
		bad, ok := errors.AsType[*checkpoint.BatchError](err)
		if !ok {
			t.Fatalf("%s: got %v, want an error with the batch", name, err)
		}
		got := []Demonstration{{Observation: bad.Batch.Observations[0], Picks: bad.Batch.Picks[0], Set: bad.Batch.Sets[0], Target: bad.Batch.Shares[0]}}
		if diff := cmp.Diff(demos, got, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s: (-spoilt +in the batch):\n%s", name, diff)
		}
		if !slices.Equal(bad.Batch.Parameters, before) {
			t.Errorf("%s: the batch has other parameters", name)
		}
	}
}
