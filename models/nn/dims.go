package nn

import (
	"errors"
	"fmt"
)

// MaxDim bounds every size of a network, so that a damaged or hostile file
// cannot ask for unbounded memory.
const MaxDim = 1024

// Dims are the sizes of a network.
type Dims struct {
	Candidate int `json:"candidate"` // F, features of a candidate
	Global    int `json:"global"`    // G, features of the decision point
	Hidden    int `json:"hidden"`    // H, width of the scorer's two layers
	Value     int `json:"value"`     // U, width of the critic's hidden layer
}

// Validate reports everything that is wrong with d at once.
func (d Dims) Validate() error {
	var errs []error
	for _, size := range []struct {
		name string
		n    int
	}{{"candidate", d.Candidate}, {"global", d.Global}, {"hidden", d.Hidden}, {"value", d.Value}} {
		if size.n < 1 || size.n > MaxDim {
			errs = append(errs, fmt.Errorf("nn: dims: %s is %d, want 1 to %d", size.name, size.n, MaxDim))
		}
	}
	return errors.Join(errs...)
}

// Indices of the tensors of [Params], in the order of the file and of Flat.
const (
	ScoreCandidateWeight = iota // W_x [H, F]
	ScoreGlobalWeight           // W_g [H, G]
	ScoreGlobalBias             // b_1 [H]
	ScoreHiddenWeight           // W_2 [H, H]
	ScoreContextWeight          // W_c [H, H]
	ScoreContextBias            // b_2 [H]
	ScoreOutputWeight           // w_3 [1, H]
	ScoreLinearWeight           // w_lin [1, F]
	ValueCandidateWeight        // U_x [U, F]
	ValueGlobalWeight           // U_g [U, G]
	ValueGlobalBias             // a_1 [U]
	ValueOutputWeight           // u_2 [1, U]
	ValueOutputBias             // a_2 [1]
	tensors
)

var names = [tensors]string{
	"score.candidate.weight", "score.global.weight", "score.global.bias", "score.hidden.weight", "score.context.weight",
	"score.context.bias", "score.output.weight", "score.linear.weight",
	"value.candidate.weight", "value.global.weight", "value.global.bias", "value.output.weight", "value.output.bias",
}

// shapes returns the shape of every tensor, in order.
func (d Dims) shapes() [tensors][]int {
	f, g, h, u := d.Candidate, d.Global, d.Hidden, d.Value
	return [tensors][]int{
		{h, f},
		{h, g},
		{h},
		{h, h},
		{h, h},
		{h},
		{1, h},
		{1, f},
		{u, f},
		{u, g},
		{u},
		{1, u},
		{1},
	}
}

// Size returns the number of parameters.
func (d Dims) Size() int {
	total := 0
	for _, shape := range d.shapes() {
		total += elements(shape)
	}
	return total
}

// ScorerSize returns the number of parameters that scores depend on: the first
// ones of Params.Flat. The rest are the critic's.
func (d Dims) ScorerSize() int {
	shapes, total := d.shapes(), 0
	for _, shape := range shapes[:ValueCandidateWeight] {
		total += elements(shape)
	}
	return total
}

func elements(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
