package models

import (
	"errors"
	"fmt"
	"math"

	"github.com/nlpodyssey/safetensors"

	"github.com/yardmaster/yardmaster/models/nn"
)

// Bounds of a Golden.
const (
	MaxGoldenCases      = 16
	MaxGoldenCandidates = 256 // of one case
	MaxGoldenBytes      = 20 << 20
)

// GoldenTolerance is how far a score may be from its golden one, relative to
// the larger of 1 and the golden one: processors round sums differently.
const GoldenTolerance = 1e-5

// ErrGolden is wrapped by the error of a model that does not score its golden
// cases as it did where it was trained.
var ErrGolden = errors.New("models: model does not reproduce its golden scores")

// Golden is decision points and the scores that the model gave them where it
// was trained: what a reader of the model has to come to as well. It is
// immutable once it belongs to a model.
type Golden struct{ Cases []GoldenCase }

// GoldenCase is one decision point with N candidates, of a network of these
// dimensions.
type GoldenCase struct {
	Global     []float32 // [G]
	Candidates []float32 // [N, F], row-major
	Mask       []bool    // [N], true where legal
	Scores     []float32 // [N]
}

// NewGolden returns the cases with the scores that p gives them; it keeps the
// slices of cases and sets their Scores.
func NewGolden(p *nn.Params, cases []GoldenCase) (*Golden, error) {
	g := &Golden{Cases: cases}
	for i := range cases {
		cases[i].Scores = make([]float32, len(cases[i].Mask))
	}
	if err := g.validate(p.Dims); err != nil {
		return nil, err
	}
	scorer, scratch := nn.NewScorer(p), nn.Scratch{}
	for i := range cases {
		c := &cases[i]
		scorer.Score(c.Scores, c.Global, c.Candidates, c.Mask, &scratch)
	}
	return g, g.validate(p.Dims)
}

// Check compares the scores that p gives the cases with those they had. Its
// error wraps ErrGolden and names the first that differs, also where it is not
// finite.
func (g *Golden) Check(p *nn.Params) error {
	if err := g.validate(p.Dims); err != nil {
		return err
	}
	scorer, scratch := nn.NewScorer(p), nn.Scratch{}
	var scores []float32
	for i := range g.Cases {
		c := &g.Cases[i]
		scores = append(scores[:0], c.Scores...)
		scorer.Score(scores, c.Global, c.Candidates, c.Mask, &scratch)
		for row, want := range c.Scores {
			got, want := float64(scores[row]), float64(want)
			if !(math.Abs(got-want) <= GoldenTolerance*max(1, math.Abs(want))) { // NaN fails
				return fmt.Errorf("%w: case %d: row %d has score %v, want %v", ErrGolden, i, row, got, want)
			}
		}
	}
	return nil
}

// validate reports what does not fit a network of dimensions d.
func (g *Golden) validate(d nn.Dims) error {
	if n := len(g.Cases); n < 1 || n > MaxGoldenCases {
		return fmt.Errorf("models: golden: %d cases, want 1 to %d", n, MaxGoldenCases)
	}
	for i := range g.Cases {
		if err := g.Cases[i].validate(d); err != nil {
			return fmt.Errorf("models: golden: case %d: %w", i, err)
		}
	}
	return nil
}

func (c *GoldenCase) validate(d nn.Dims) error {
	n := len(c.Mask)
	if n < 1 || n > MaxGoldenCandidates {
		return fmt.Errorf("%d candidates, want 1 to %d", n, MaxGoldenCandidates)
	}
	if len(c.Global) != d.Global || len(c.Candidates) != n*d.Candidate || len(c.Scores) != n {
		return fmt.Errorf("%w: %d global features, %d values of candidates and %d scores, want %d, %d and %d",
			ErrIncompatible, len(c.Global), len(c.Candidates), len(c.Scores), d.Global, n*d.Candidate, n)
	}
	for _, xs := range [][]float32{c.Global, c.Candidates, c.Scores} {
		for _, x := range xs {
			if x-x != 0 {
				return fmt.Errorf("holds %v, want finite values", x)
			}
		}
	}
	return nil
}

// Names of the tensors of a case.
const (
	goldenGlobal     = "global"
	goldenCandidates = "candidates"
	goldenMask       = "mask"
	goldenScores     = "scores"
)

func goldenName(i int, what string) string { return fmt.Sprintf("case.%02d.%s", i, what) }

// encodeGolden returns g in the safetensors format, all tensors float32: a mask
// is zeros and ones. Equal cases give equal bytes.
func encodeGolden(g *Golden, d nn.Dims) ([]byte, error) {
	if err := g.validate(d); err != nil {
		return nil, err
	}
	views := make(map[string]safetensors.TensorView, 4*len(g.Cases))
	for i := range g.Cases {
		c := &g.Cases[i]
		n := len(c.Mask)
		mask := make([]float32, n)
		for row, legal := range c.Mask {
			if legal {
				mask[row] = 1
			}
		}
		for _, t := range []nn.Tensor{
			{Name: goldenGlobal, Shape: []int{d.Global}, Data: c.Global},
			{Name: goldenCandidates, Shape: []int{n, d.Candidate}, Data: c.Candidates},
			{Name: goldenMask, Shape: []int{n}, Data: mask},
			{Name: goldenScores, Shape: []int{n}, Data: c.Scores},
		} {
			view, err := encodeTensor(t)
			if err != nil {
				return nil, err
			}
			views[goldenName(i, t.Name)] = view
		}
	}
	return safetensors.Serialize(views, map[string]string{"format": "pt"})
}

// decodeGolden reads the cases of a network of dimensions d.
func decodeGolden(raw []byte, d nn.Dims) (*Golden, error) {
	if err := boundHeader(goldenFile, raw); err != nil {
		return nil, err
	}
	file, err := safetensors.Deserialize(raw)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", goldenFile, err)
	}
	n := file.Len() / 4
	if n < 1 || n > MaxGoldenCases || file.Len()%4 != 0 {
		return nil, fmt.Errorf("models: %s: %d tensors, want four for each of 1 to %d cases", goldenFile, file.Len(), MaxGoldenCases)
	}
	g := &Golden{Cases: make([]GoldenCase, n)}
	for i := range g.Cases {
		if err := decodeCase(&g.Cases[i], i, file, d); err != nil {
			return nil, fmt.Errorf("models: %s: %w", goldenFile, err)
		}
	}
	return g, g.validate(d)
}

func decodeCase(c *GoldenCase, i int, file safetensors.SafeTensors, d nn.Dims) error {
	mask, ok := file.Tensor(goldenName(i, goldenMask))
	if !ok || len(mask.Shape()) != 1 || mask.Shape()[0] < 1 || mask.Shape()[0] > MaxGoldenCandidates {
		return fmt.Errorf("tensor %s is missing or not of shape [1 to %d]", goldenName(i, goldenMask), MaxGoldenCandidates)
	}
	n := int(mask.Shape()[0])
	bits := make([]float32, n)
	c.Global, c.Candidates, c.Scores = make([]float32, d.Global), make([]float32, n*d.Candidate), make([]float32, n)
	for _, t := range []nn.Tensor{
		{Name: goldenGlobal, Shape: []int{d.Global}, Data: c.Global},
		{Name: goldenCandidates, Shape: []int{n, d.Candidate}, Data: c.Candidates},
		{Name: goldenMask, Shape: []int{n}, Data: bits},
		{Name: goldenScores, Shape: []int{n}, Data: c.Scores},
	} {
		t.Name = goldenName(i, t.Name)
		if err := decodeTensor(t, file); err != nil {
			return err
		}
	}
	c.Mask = make([]bool, n)
	for row, x := range bits {
		if x != 0 && x != 1 {
			return fmt.Errorf("case %d: mask holds %v, want 0 or 1", i, x)
		}
		c.Mask[row] = x == 1
	}
	return nil
}
