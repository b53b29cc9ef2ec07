package models

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/nlpodyssey/safetensors"

	"github.com/yardmaster/yardmaster/models/nn"
)

// encodeWeights returns p in the safetensors format: tensors in ascending order
// of their names, float32, little-endian. Equal parameters give equal bytes.
func encodeWeights(p *nn.Params) ([]byte, error) {
	views := make(map[string]safetensors.TensorView, len(p.Tensors))
	for _, t := range p.Tensors {
		view, err := encodeTensor(t)
		if err != nil {
			return nil, err
		}
		views[t.Name] = view
	}
	return safetensors.Serialize(views, map[string]string{"format": "pt"})
}

func encodeTensor(t nn.Tensor) (safetensors.TensorView, error) {
	shape := make([]uint64, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = uint64(n)
	}
	raw := make([]byte, 0, 4*len(t.Data))
	for _, x := range t.Data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	view, err := safetensors.NewTensorView(safetensors.F32, shape, raw)
	if err != nil {
		return view, fmt.Errorf("models: tensor %s: %w", t.Name, err)
	}
	return view, nil
}

// decodeWeights reads the parameters of a network of dimensions d. It refuses
// missing and additional tensors, other types and shapes, and values that are
// not finite.
func decodeWeights(raw []byte, d nn.Dims) (*nn.Params, error) {
	if err := boundHeader(weightsFile, raw); err != nil {
		return nil, err
	}
	// Without this a file of a few bytes could ask for a network of 24 MB.
	if want := 8 + 4*d.Size(); len(raw) < want {
		return nil, fmt.Errorf("%w: %s has %d bytes, want at least %d for dimensions %+v", ErrIncompatible, weightsFile, len(raw), want, d)
	}
	file, err := safetensors.Deserialize(raw)
	if err != nil {
		return nil, fmt.Errorf("models: %s: %w", weightsFile, err)
	}
	p := nn.NewParams(d)
	if file.Len() != len(p.Tensors) {
		return nil, fmt.Errorf("%w: %d tensors, want %d", ErrIncompatible, file.Len(), len(p.Tensors))
	}
	for _, t := range p.Tensors {
		if err := decodeTensor(t, file); err != nil {
			return nil, err
		}
	}
	return p, p.CheckFinite()
}

func decodeTensor(t nn.Tensor, file safetensors.SafeTensors) error {
	view, ok := file.Tensor(t.Name)
	if !ok {
		return fmt.Errorf("%w: tensor %s is missing", ErrIncompatible, t.Name)
	}
	if view.DType() != safetensors.F32 {
		return fmt.Errorf("%w: tensor %s has type %v, want F32", ErrIncompatible, t.Name, view.DType())
	}
	if !slices.EqualFunc(view.Shape(), t.Shape, func(a uint64, b int) bool { return a == uint64(b) }) {
		return fmt.Errorf("%w: tensor %s has shape %v, want %v", ErrIncompatible, t.Name, view.Shape(), t.Shape)
	}
	raw := view.Data()
	for i := range t.Data {
		t.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}

// maxHeader bounds the JSON header of a safetensors file, far above the 1.2 KB
// that a network of this package needs and the 6 KB of a Golden.
const maxHeader = 64 << 10

// boundHeader refuses a file whose header is cut off or larger than maxHeader
// before anything is allocated for it.
func boundHeader(name string, raw []byte) error {
	if len(raw) < 8 {
		return fmt.Errorf("models: %s: %d bytes, want at least 8: the file is cut off", name, len(raw))
	}
	n := binary.LittleEndian.Uint64(raw)
	if n > maxHeader || n > uint64(len(raw)-8) {
		return fmt.Errorf("models: %s: header of %d bytes in a file of %d, want at most %d", name, n, len(raw), maxHeader)
	}
	return nil
}
