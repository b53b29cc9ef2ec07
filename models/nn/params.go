package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Tensor is a named array of parameters.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32 // row-major, a view of Params.Flat
}

// Params are the parameters of a network.
type Params struct {
	Dims    Dims
	Flat    []float32 // all of them, shape [Dims.Size()]
	Tensors []Tensor  // views of Flat by index: ScoreCandidateWeight and so on
}

// NewParams returns parameters that are all zero. It panics if d is not valid.
func NewParams(d Dims) *Params {
	if err := d.Validate(); err != nil {
		panic(err)
	}
	p := &Params{Dims: d, Flat: make([]float32, d.Size())}
	p.Tensors = p.View(p.Flat)
	return p
}

// View returns flat, shape [Dims.Size()], cut into the tensors of p: a gradient
// or an optimizer's moments by name.
func (p *Params) View(flat []float32) []Tensor {
	if len(flat) != p.Dims.Size() {
		panic(fmt.Sprintf("nn: view of %d values, want %d", len(flat), p.Dims.Size()))
	}
	views := make([]Tensor, 0, tensors)
	for i, shape := range p.Dims.shapes() {
		n := elements(shape)
		views = append(views, Tensor{Name: names[i], Shape: shape, Data: flat[:n:n]})
		flat = flat[n:]
	}
	return views
}

// Clone returns a copy that shares no memory with p.
func (p *Params) Clone() *Params {
	c := NewParams(p.Dims)
	copy(c.Flat, p.Flat)
	return c
}

// Initialize draws hidden layers from He's distribution (He et al., ICCV 2015:
// normal with variance 2 / inputs, an input being everything a unit adds up)
// and sets all else to zero: output layers, so that an untrained network scores
// and values everything 0, and biases.
func (p *Params) Initialize(r *rand.Rand) {
	clear(p.Flat)
	d := p.Dims
	for _, layer := range []struct{ inputs, index int }{
		{d.Candidate + d.Global, ScoreCandidateWeight},
		{d.Candidate + d.Global, ScoreGlobalWeight},
		{2 * d.Hidden, ScoreHiddenWeight},
		{2 * d.Hidden, ScoreContextWeight},
		{d.Candidate + d.Global, ValueCandidateWeight},
		{d.Candidate + d.Global, ValueGlobalWeight},
	} {
		scale := math.Sqrt(2 / float64(layer.inputs))
		for i := range p.Tensors[layer.index].Data {
			p.Tensors[layer.index].Data[i] = float32(scale * r.NormFloat64())
		}
	}
}

// CheckFinite returns an error that names the first tensor with a value that is
// NaN or infinite.
func (p *Params) CheckFinite() error {
	for _, t := range p.Tensors {
		if i := slices.IndexFunc(t.Data, notFinite); i >= 0 {
			return fmt.Errorf("nn: %s[%d] is %v, want a finite value", t.Name, i, t.Data[i])
		}
	}
	return nil
}

func notFinite(x float32) bool { return x-x != 0 }
