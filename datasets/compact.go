package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The Parquet library decodes the headers of a file with a Thrift reader that
// allocates what a length field asks for before it looks for the bytes. So
// lengths are walked through first: a structure passes only if every string
// and list fits what is left of its bytes, and holds few enough elements.
// Format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

// Type codes of the compact protocol.
const (
	compactStop   = 0
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactI16    = 4
	compactI32    = 5
	compactI64    = 6
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10
	compactMap    = 11
	compactStruct = 12
)

// maxCompactDepth bounds nesting; Parquet's own structures nest five deep.
const maxCompactDepth = 16

var errCompact = errors.New("malformed header")

// compactWalker walks over one structure.
type compactWalker struct {
	data     []byte
	at       int
	elements int // left to spend on elements of lists, sets and maps
}

// compactLen returns the length of the structure at the start of data, or an
// error if it does not fit data or holds more than elements elements.
func compactLen(data []byte, elements int) (int, error) {
	w := compactWalker{data: data, elements: elements}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return w.at, nil
}

func (w *compactWalker) structure(depth int) error {
	if depth > maxCompactDepth {
		return fmt.Errorf("%w: nested too deeply", errCompact)
	}
	for {
		b, err := w.byte()
		if err != nil {
			return err
		}
		if b == compactStop {
			return nil
		}
		if b>>4 == 0 { // field id in full
			if _, err := w.uvarint(); err != nil {
				return err
			}
		}
		if kind := b & 0xf; kind != compactTrue && kind != compactFalse { // their value is in the type
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value walks over a value of the given type, as in a field or a list.
func (w *compactWalker) value(kind byte, depth int) error {
	switch kind {
	case compactTrue, compactFalse, compactByte:
		return w.skip(1)
	case compactI16, compactI32, compactI64:
		_, err := w.uvarint()
		return err
	case compactDouble:
		return w.skip(8)
	case compactBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case compactList, compactSet:
		return w.list(depth + 1)
	case compactMap:
		// No structure of Parquet has one.
		return fmt.Errorf("%w: holds a map", errCompact)
	case compactStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("%w: type %d", errCompact, kind)
}

func (w *compactWalker) list(depth int) error {
	if depth > maxCompactDepth {
		return fmt.Errorf("%w: nested too deeply", errCompact)
	}
	b, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(b >> 4)
	if n == 0xf {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.data)-w.at) || n > uint64(w.elements) { // an element takes a byte or more
		return fmt.Errorf("%w: a list of %d elements", errCompact, n)
	}
	w.elements -= int(n)
	for range n {
		if err := w.value(b&0xf, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *compactWalker) byte() (byte, error) {
	if w.at >= len(w.data) {
		return 0, fmt.Errorf("%w: ends early", errCompact)
	}
	w.at++
	return w.data[w.at-1], nil
}

func (w *compactWalker) uvarint() (uint64, error) {
	x, n := binary.Uvarint(w.data[w.at:])
	if n <= 0 {
		return 0, fmt.Errorf("%w: bad number", errCompact)
	}
	w.at += n
	return x, nil
}

func (w *compactWalker) skip(n uint64) error {
	if n > uint64(len(w.data)-w.at) {
		return fmt.Errorf("%w: ends early", errCompact)
	}
	w.at += int(n)
	return nil
}
