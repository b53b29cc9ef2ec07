package checkpoint

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// Sections are the named parts of a file.
type Sections map[string][]byte

// get returns a section that has to be there.
func (s Sections) get(name string) ([]byte, error) {
	data, ok := s[name]
	if !ok {
		return nil, fmt.Errorf("%w: no section %q", ErrDamaged, name)
	}
	return data, nil
}

// PutJSON sets a section to v. Floating-point numbers survive exactly, if finite.
func (s Sections) PutJSON(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("checkpoint: section %q: %w", name, err)
	}
	s[name] = raw
	return nil
}

// JSON reads a section that PutJSON wrote from a value of the same type.
func (s Sections) JSON(name string, v any) error {
	data, err := s.get(name)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%w: section %q: %w", ErrDamaged, name, err)
	}
	return nil
}

// Put sets a section to the state of v.
func (s Sections) Put(name string, v encoding.BinaryMarshaler) error {
	raw, err := v.MarshalBinary()
	if err != nil {
		return fmt.Errorf("checkpoint: section %q: %w", name, err)
	}
	s[name] = raw
	return nil
}

// Restore sets v to the state in a section.
func (s Sections) Restore(name string, v encoding.BinaryUnmarshaler) error {
	data, err := s.get(name)
	if err != nil {
		return err
	}
	if err := v.UnmarshalBinary(data); err != nil {
		return fmt.Errorf("%w: section %q: %w", ErrDamaged, name, err)
	}
	return nil
}

// PutFloat32 sets a section to numbers.
func (s Sections) PutFloat32(name string, xs []float32) {
	data := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	s[name] = data
}

// Float32 reads as many numbers as dst has from a section of so many.
func (s Sections) Float32(name string, dst []float32) error {
	data, err := s.get(name)
	if err != nil {
		return err
	}
	if len(data) != 4*len(dst) {
		return fmt.Errorf("%w: section %q has %d bytes, want those of %d numbers", ErrDamaged, name, len(data), len(dst))
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return nil
}
