package exporttest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Kind is the type of an array's elements, as TensorProto.DataType numbers it.
type Kind int

// The types that exported models use.
const (
	Float Kind = 1
	Int64 Kind = 7
	Bool  Kind = 9
)

// Array is a tensor. Whatever its kind, its elements are float64; bits are 0 and 1.
type Array struct {
	Kind  Kind
	Shape []int
	Data  []float64 // row-major
}

// Floats returns an array of these values.
func Floats(shape []int, data []float32) Array {
	a := Array{Kind: Float, Shape: shape}
	for _, x := range data {
		a.Data = append(a.Data, float64(x))
	}
	return a
}

// Bools returns an array of these bits.
func Bools(shape []int, data []bool) Array {
	a := Array{Kind: Bool, Shape: shape}
	for _, x := range data {
		a.Data = append(a.Data, bit(x))
	}
	return a
}

func bit(x bool) float64 {
	if x {
		return 1
	}
	return 0
}

// size returns the number of elements of a shape.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// Array returns the values of an initializer.
func (t *Initializer) Array() (Array, error) {
	a := Array{Kind: Kind(t.DataType)}
	for _, d := range t.Dims {
		n, err := d.Int64()
		if err != nil {
			return a, fmt.Errorf("exporttest: %s: dims: %w", t.Name, err)
		}
		a.Shape = append(a.Shape, int(n))
	}
	for raw := t.RawData; len(raw) > 0; {
		switch {
		case a.Kind == Float && len(raw) >= 4:
			a.Data = append(a.Data, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			raw = raw[4:]
		case a.Kind == Int64 && len(raw) >= 8:
			a.Data = append(a.Data, float64(int64(binary.LittleEndian.Uint64(raw))))
			raw = raw[8:]
		default:
			return a, fmt.Errorf("exporttest: %s: %d bytes are left of type %d", t.Name, len(raw), a.Kind)
		}
	}
	if len(a.Data) != size(a.Shape) {
		return a, fmt.Errorf("exporttest: %s: %d values for shape %v", t.Name, len(a.Data), a.Shape)
	}
	return a, nil
}

// broadcast calls f for each element of the arrays' common shape, with the
// elements that stand there, by the rules of NumPy and ONNX.
func broadcast(f func(x []float64) float64, arrays ...Array) (shape []int, data []float64, err error) {
	for _, a := range arrays {
		for len(shape) < len(a.Shape) {
			shape = slices.Insert(shape, 0, 1)
		}
	}
	for _, a := range arrays {
		skip := len(shape) - len(a.Shape)
		for i, d := range a.Shape {
			switch have := shape[skip+i]; {
			case have == 1:
				shape[skip+i] = d
			case d != 1 && d != have:
				return nil, nil, fmt.Errorf("shapes %v and %v do not go together", shape, a.Shape)
			}
		}
	}
	data = make([]float64, size(shape))
	at := make([]int, len(shape)) // index into each dimension
	x := make([]float64, len(arrays))
	for i := range data {
		rest := i
		for k := len(shape) - 1; k >= 0; k-- {
			at[k] = rest % shape[k]
			rest /= shape[k]
		}
		for k, a := range arrays {
			x[k] = a.Data[a.offset(at)]
		}
		data[i] = f(x)
	}
	return shape, data, nil
}

// offset returns where the element at this index of a larger shape stands.
func (a *Array) offset(at []int) int {
	offset := 0
	for i, d := range a.Shape {
		offset *= d
		if d != 1 {
			offset += at[len(at)-len(a.Shape)+i]
		}
	}
	return offset
}
