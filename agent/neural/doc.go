// Package neural holds the learned policies. [Policy] chooses which strategy
// each job runs, [Configurer] how the scheduler is configured; both read a
// models.Model and encode states with env/encode, the encoder it was trained
// with. [Actor] is the same network as a sampler of actions, for training.
//
// A decision costs one encoding and one forward pass, whatever the cluster's
// size: candidates are scored once per round and picked by those scores until
// stop. A policy plays JobStrategy-v0 exactly as if it picked the legal row
// with the highest score, the lowest row among equals, step by step.
package neural

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models"
)

// ErrNonFinite is wrapped by the error of a decision whose scores are not all
// finite: the network overflowed.
var ErrNonFinite = errors.New("neural: score is not finite")

// Encoder returns the identity of an encoder with this version and space, as a
// model's manifest holds it.
func Encoder(version string, space env.Space) models.Encoder {
	return models.Encoder{Version: version, Global: features(space.Global), Candidate: features(space.Candidate)}
}

func features(fs []env.Feature) []models.Feature {
	out := make([]models.Feature, len(fs))
	for i, f := range fs {
		out[i] = models.Feature(f)
	}
	return out
}

// checkFinite returns an error that names the first row whose score is not
// finite.
func checkFinite(scores []float32) error {
	for i, s := range scores {
		if s-s != 0 {
			return fmt.Errorf("%w: row %d has score %v", ErrNonFinite, i, s)
		}
	}
	return nil
}
