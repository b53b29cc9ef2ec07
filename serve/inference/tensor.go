package inference

import (
	"fmt"
	"strconv"
)

// data reads the elements of a tensor from JSON that is known to be well formed:
// one array of all in row-major order, or arrays in arrays as its shape says.
type data struct {
	raw []byte
	at  int
}

// next skips white space and returns the byte after it, 0 at the end.
func (d *data) next() byte {
	for d.at < len(d.raw) {
		switch c := d.raw[d.at]; c {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return c
		}
	}
	return 0
}

// elements calls each for the text of every element. want is their number, by
// the shape.
func elements(raw []byte, shape []int, want int, each func(text []byte) error) error {
	d := &data{raw: raw}
	if d.next() != '[' {
		return fmt.Errorf("has the data %.20q, want an array", raw)
	}
	inner := data{raw, d.at + 1}
	if inner.next() != '[' {
		shape = []int{want} // flat, whatever the shape
	}
	return d.array(shape, each)
}

// array reads an array of this shape.
func (d *data) array(shape []int, each func([]byte) error) error {
	if d.next() != '[' {
		return fmt.Errorf("has %.20s where an array of %d is due", d.raw[d.at:], shape[0])
	}
	d.at++
	for i := 0; ; i++ {
		if d.next() == ',' { // never before the first: it is well formed
			d.at++
		}
		if d.next() == ']' {
			d.at++
			if i != shape[0] {
				return fmt.Errorf("has an array of %d, want %d", i, shape[0])
			}
			return nil
		}
		if i == shape[0] {
			return fmt.Errorf("has an array of more than %d", shape[0])
		}
		if len(shape) > 1 {
			if err := d.array(shape[1:], each); err != nil {
				return err
			}
		} else if err := each(d.element()); err != nil {
			return err
		}
	}
}

// element returns the text of a scalar. Of anything else it returns the rest:
// no scalar is that.
func (d *data) element() []byte {
	d.next()
	start := d.at
	for d.at < len(d.raw) {
		switch d.raw[d.at] {
		case ',', ']', ' ', '\t', '\r', '\n':
			return d.raw[start:d.at]
		case '[', '{', '"':
			d.at = len(d.raw)
			return d.raw[start:]
		}
		d.at++
	}
	return d.raw[start:]
}

// atMost bounds the number of elements by what raw has room for: a shape is
// quickly written.
func atMost(raw []byte, want int) int { return min(want, len(raw)/2+1) }

func floats(raw []byte, shape []int, want int) ([]float32, error) {
	list := make([]float32, 0, atMost(raw, want))
	err := elements(raw, shape, want, func(text []byte) error {
		x, err := strconv.ParseFloat(string(text), 32)
		if err != nil { // JSON has no word for infinity that ParseFloat would know
			return fmt.Errorf("has the element %.20s, want a finite number of 32 bits", text)
		}
		list = append(list, float32(x))
		return nil
	})
	return list, err
}

func bools(raw []byte, shape []int, want int) ([]bool, error) {
	list := make([]bool, 0, atMost(raw, want))
	err := elements(raw, shape, want, func(text []byte) error {
		if s := string(text); s != "true" && s != "false" {
			return fmt.Errorf("has the element %.20s, want true or false", text)
		}
		list = append(list, text[0] == 't')
		return nil
	})
	return list, err
}
