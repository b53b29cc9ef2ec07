// Package optim updates parameters from gradients: Adam with a state that can be
// saved exactly, and clipping by the global norm.
package optim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// Adam is the optimizer of Kingma & Ba (ICLR 2015, algorithm 1), with ε = 1e-5
// as in the reference PPO (Huang et al., ICLR blog 2022, detail 3). The arithmetic is
// that of package kernel, in float32: gradients are no more exact than that.
type Adam struct {
	steps int64
	m, v  []float32 // first and second moments
}

// Constants of Adam.
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-5
)

// NewAdam returns an optimizer for n parameters.
func NewAdam(n int) *Adam {
	return &Adam{m: make([]float32, n), v: make([]float32, n)}
}

// Step moves params against grad with this learning rate. Both have the shape
// of the optimizer.
func (a *Adam) Step(params, grad []float32, rate float64) {
	if len(params) != len(a.m) || len(grad) != len(a.m) {
		panic("optim: step with another number of parameters")
	}
	a.steps++
	t := float64(a.steps)
	kernel.AdamStep{
		Beta1: beta1, Beta2: beta2, Epsilon: epsilon,
		Rate: rate / (1 - math.Pow(beta1, t)), Unbias: 1 / (1 - math.Pow(beta2, t)),
	}.Apply(params, a.m, a.v, grad)
}

// adamMagic begins the saved state of an Adam: name and version.
const adamMagic = "adam/1\n"

// MarshalBinary returns the whole state: steps, then first, then second
// moments, little-endian. An Adam restored from it takes the same steps bit for
// bit.
func (a *Adam) MarshalBinary() ([]byte, error) {
	b := bytes.NewBufferString(adamMagic)
	for _, x := range []any{a.steps, int64(len(a.m)), a.m, a.v} {
		if err := binary.Write(b, binary.LittleEndian, x); err != nil {
			return nil, fmt.Errorf("optim: save adam: %w", err)
		}
	}
	return b.Bytes(), nil
}

// UnmarshalBinary restores a state of an optimizer with as many parameters.
func (a *Adam) UnmarshalBinary(raw []byte) error {
	rest, ok := bytes.CutPrefix(raw, []byte(adamMagic))
	if !ok {
		return errors.New("optim: restore adam: the state does not begin with " + adamMagic[:len(adamMagic)-1])
	}
	if want := 16 + 8*len(a.m); len(rest) != want {
		return fmt.Errorf("optim: restore adam: state of %d bytes, want %d for %d parameters", len(rest), want, len(a.m))
	}
	if n := binary.LittleEndian.Uint64(rest[8:]); n != uint64(len(a.m)) {
		return fmt.Errorf("optim: restore adam: state of %d parameters, want %d", n, len(a.m))
	}
	a.steps = int64(binary.LittleEndian.Uint64(rest))
	for _, x := range []struct {
		dst  []float32
		from []byte
	}{{a.m, rest[16:]}, {a.v, rest[16+4*len(a.m):]}} {
		for i := range x.dst {
			x.dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(x.from[4*i:]))
		}
	}
	return nil
}

// ClipNorm scales grad down so that its Euclidean norm is at most limit and
// returns the norm it had. A limit of 0 only measures.
func ClipNorm(grad []float32, limit float64) (norm float64) {
	norm = math.Sqrt(kernel.SumSquares(grad))
	if limit > 0 && norm > limit {
		kernel.Scale(grad, grad, float32(limit/norm))
	}
	return norm
}
