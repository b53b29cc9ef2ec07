package export

import (
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/models"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/repository"
)

// Options say what a model is called elsewhere and how it is asked.
type Options struct {
	Name    string // as package repository allows
	Version string // such as 1.2.0; "" where the model has none
	// Batch puts a dimension of any size before those of every tensor: several
	// decision points at once, the shorter ones filled up with rows that the mask
	// does not allow.
	Batch bool
}

// Names of the tensors, those of package serve/inference.
const (
	inputGlobal     = "global"
	inputCandidates = "candidates"
	inputMask       = "mask"
	outputScores    = "scores"
	outputValue     = "value"
)

// tensor is an input or an output of the network.
type tensor struct {
	name  string
	bool  bool // of bits, else float32
	shape []dimension
	doc   string
}

// dimension is a size, or a symbol where the size varies.
type dimension struct {
	size   int
	symbol string
}

// tensors returns what a network of these dimensions reads and what it tells.
func (o Options) tensors(d nn.Dims) (inputs, outputs []tensor) {
	n := dimension{symbol: "N"}
	inputs = []tensor{
		{inputGlobal, false, []dimension{{size: d.Global}}, "Features of the whole decision point, scaled: " + metaGlobal + " names them."},
		{inputCandidates, false, []dimension{n, {size: d.Candidate}}, "Features of each of N candidates, scaled: " + metaCandidate + " names them."},
		{inputMask, true, []dimension{n}, "True where the candidate is legal; where none is, all count."},
	}
	outputs = []tensor{
		{outputScores, false, []dimension{n}, "Score of each candidate, before the softmax; of those that are not legal too."},
		{outputValue, false, []dimension{{size: 1}}, "Estimate of the return from the decision point on."},
	}
	if o.Batch {
		for _, list := range [][]tensor{inputs, outputs} {
			for i := range list {
				list[i].shape = append([]dimension{{symbol: "B"}}, list[i].shape...)
			}
		}
	}
	return inputs, outputs
}

// architecture is that of the network that is written.
const architecture = "mean-pool-scorer/1"

// check returns a copy of m with its hashes set, or what keeps it from being
// exported.
func (o Options) check(m *models.Model) (*models.Model, error) {
	if err := repository.CheckName(o.Name); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if o.Version != "" {
		if _, err := repository.ParseVersion(o.Version); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
	}
	if m.Params == nil {
		return nil, errors.New("export: model has no parameters")
	}
	if m.Manifest.Architecture != architecture {
		return nil, fmt.Errorf("export: architecture is %q, only %q can be written", m.Manifest.Architecture, architecture)
	}
	c := m.Clone()
	if _, err := models.Encode(c); err != nil { // shapes, values, golden scores
		return nil, fmt.Errorf("export: %w", err)
	}
	return c, nil
}
