package models

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/models/nn"
)

// FormatVersion is the version of the folder's layout that this package reads
// and writes.
const FormatVersion = 1

// ErrIncompatible is wrapped by every error about a model that is whole but
// does not fit: the error names what the model has and what is wanted.
var ErrIncompatible = errors.New("models: incompatible model")

// Kind says what a model decides.
type Kind string

const (
	JobStrategy   Kind = "job-strategy"  // which strategy each job runs: agent.Policy
	Configuration Kind = "configuration" // how the scheduler is configured: agent.Configurer
)

// Feature is one column that a model reads. Its bounds are its fixed scale:
// the encoder clips to them.
type Feature struct {
	Name string  `json:"name"`
	Low  float32 `json:"low"`
	High float32 `json:"high"`
}

// Encoder identifies the features a model reads.
type Encoder struct {
	Version   string    `json:"version"`
	Global    []Feature `json:"global"`    // [G]
	Candidate []Feature `json:"candidate"` // [F]
}

// Manifest says what a model is and where it comes from.
type Manifest struct {
	Format       int     `json:"format"`       // FormatVersion
	Kind         Kind    `json:"kind"`         //
	Encoder      Encoder `json:"encoder"`      //
	Architecture string  `json:"architecture"` // Architecture
	Dims         nn.Dims `json:"dims"`
	// Provenance holds, by name, what made the model: seed, configuration,
	// hash of the data, source revision.
	Provenance map[string]string `json:"provenance"`
	// Metrics holds, by name, how good it was; train/README.md defines them.
	Metrics map[string]float64 `json:"metrics"`
	// SHA256 is the hash of weights.safetensors in hex; Save fills it in.
	SHA256 string `json:"weights_sha256"`
	// GoldenSHA256 is that of golden.safetensors, "" where the model has none;
	// Save fills it in.
	GoldenSHA256 string `json:"golden_sha256,omitempty"`
	// Novelty says what the model met in training; nil in models that were not
	// measured.
	Novelty *Novelty `json:"novelty,omitempty"`
}

// Architecture names the network of package nn. A network that computes
// something else has another name.
const Architecture = "mean-pool-scorer/1"

// Model is a policy as it is stored.
type Model struct {
	Manifest Manifest
	Params   *nn.Params
	Golden   *Golden // nil where there is none; of other parameters it is no longer true
}

// New returns a model of this kind with these parameters, shared with the
// caller, and empty provenance and metrics.
func New(kind Kind, encoder Encoder, p *nn.Params) *Model {
	return &Model{
		Manifest: Manifest{
			Format: FormatVersion, Kind: kind, Encoder: encoder, Architecture: Architecture, Dims: p.Dims,
			Provenance: map[string]string{}, Metrics: map[string]float64{},
		},
		Params: p,
	}
}

// Clone returns a copy that shares no memory with m but its Golden, which is
// immutable.
func (m *Model) Clone() *Model {
	c := *m
	c.Params = m.Params.Clone()
	c.Manifest.Encoder.Global = slices.Clone(m.Manifest.Encoder.Global)
	c.Manifest.Encoder.Candidate = slices.Clone(m.Manifest.Encoder.Candidate)
	c.Manifest.Provenance = maps.Clone(m.Manifest.Provenance)
	c.Manifest.Metrics = maps.Clone(m.Manifest.Metrics)
	c.Manifest.Novelty = m.Manifest.Novelty.Clone()
	return &c
}

// CheckEncoder returns an error that wraps ErrIncompatible unless the model is
// of this kind and reads exactly the features of this encoder.
func (m *Manifest) CheckEncoder(kind Kind, e Encoder) error {
	if m.Kind != kind {
		return fmt.Errorf("%w: kind is %q, want %q", ErrIncompatible, m.Kind, kind)
	}
	if m.Encoder.Version != e.Version {
		return fmt.Errorf("%w: encoder version is %q, want %q", ErrIncompatible, m.Encoder.Version, e.Version)
	}
	if err := checkFeatures("global", m.Encoder.Global, e.Global); err != nil {
		return err
	}
	return checkFeatures("candidate", m.Encoder.Candidate, e.Candidate)
}

func checkFeatures(which string, got, want []Feature) error {
	if len(got) != len(want) {
		return fmt.Errorf("%w: %d %s features, want %d", ErrIncompatible, len(got), which, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("%w: %s feature %d is %s [%v, %v], want %s [%v, %v]", ErrIncompatible,
				which, i, got[i].Name, got[i].Low, got[i].High, want[i].Name, want[i].Low, want[i].High)
		}
	}
	return nil
}

// validate reports everything in m that Load and Save refuse.
func (m *Manifest) validate() error {
	if m.Format != FormatVersion {
		return fmt.Errorf("%w: format version is %d, want %d", ErrIncompatible, m.Format, FormatVersion)
	}
	var errs []error
	if m.Kind != JobStrategy && m.Kind != Configuration {
		errs = append(errs, fmt.Errorf("%w: kind is %q, want %q or %q", ErrIncompatible, m.Kind, JobStrategy, Configuration))
	}
	if m.Architecture != Architecture {
		errs = append(errs, fmt.Errorf("%w: architecture is %q, want %q", ErrIncompatible, m.Architecture, Architecture))
	}
	if err := m.Dims.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrIncompatible, err))
	}
	errs = append(errs, countFeatures("global", m.Encoder.Global, m.Dims.Global), countFeatures("candidate", m.Encoder.Candidate, m.Dims.Candidate))
	if m.Novelty != nil {
		errs = append(errs, m.Novelty.validate(m.Dims.Global, m.Dims.Candidate))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Metrics)) {
		if v := m.Metrics[name]; math.IsNaN(v) || math.IsInf(v, 0) {
			errs = append(errs, fmt.Errorf("models: metric %s is %v, want a finite value", name, v))
		}
	}
	return errors.Join(errs...)
}

func countFeatures(which string, features []Feature, n int) error {
	if len(features) != n {
		return fmt.Errorf("%w: %d %s features are named, but the network reads %d", ErrIncompatible, len(features), which, n)
	}
	return nil
}
