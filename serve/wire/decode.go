package wire

import (
	"bytes"
	"encoding"
	"errors"
	"reflect"
	"strconv"
)

var (
	stateNode         = compile(reflect.TypeFor[State]())
	allocationNode    = compile(reflect.TypeFor[Allocation]())
	configurationNode = compile(reflect.TypeFor[Configuration]())
	ackNode           = compile(reflect.TypeFor[Ack]())
	errorNode         = compile(reflect.TypeFor[Error]())
	eventNode         = compile(reflect.TypeFor[Event]())
	validationNode    = compile(reflect.TypeFor[Validation]())
	explanationNode   = compile(reflect.TypeFor[Explanation]())
)

// decoder reads one message into a Go value.
type decoder struct {
	scanner
	elements int      // of all arrays so far
	collect  bool     // go on after a fault that leaves the message readable
	faults   []*Error // collected so far, at most MaxFaults
}

// decode reads data, one message and nothing after it, into v.
func decode(data []byte, n *node, v reflect.Value) error {
	d := decoder{scanner: scanner{data: data}}
	return d.message(n, v)
}

func (d *decoder) message(n *node, v reflect.Value) error {
	if len(d.data) > MaxBytes {
		return Errorf(CodeTooLarge, "", "a message of %d bytes, want at most %d", len(d.data), MaxBytes)
	}
	if err := d.value(n, v); err != nil {
		return err
	}
	if d.peek(); d.pos < len(d.data) {
		return d.syntax("the end of the message")
	}
	return nil
}

// value reads a value. A faulty one that is collected stays zero.
func (d *decoder) value(n *node, v reflect.Value) error {
	start, deep := d.pos, d.deep
	err := d.read(n, v)
	if err == nil {
		return nil
	}
	if err := d.pass(err); err != nil {
		return err
	}
	d.pos, d.deep = start, deep
	return d.skipValue()
}

// pass collects a fault that leaves the message readable. Any other it returns.
func (d *decoder) pass(err error) error {
	fault, ok := err.(*Error)
	if !d.collect || !ok || fault.Code != CodeInvalid || len(d.faults) == MaxFaults {
		return err
	}
	d.faults = append(d.faults, fault)
	return nil
}

func (d *decoder) read(n *node, v reflect.Value) error {
	switch n.kind {
	case reflect.Struct:
		return d.object(n, v)
	case reflect.Slice:
		return d.array(n, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n.elem, v.Elem())
	case reflect.String:
		return d.string(n, v)
	case reflect.Bool:
		return d.bool(v)
	}
	return d.number(n, v)
}

func (d *decoder) object(n *node, v reflect.Value) error {
	if d.peek() != '{' {
		return d.mismatch("an object")
	}
	d.pos++
	if err := d.enter(n); err != nil {
		return err
	}
	var seen uint64
	if d.peek() == '}' {
		d.pos++
	} else {
		for more, next := true, 0; more; next++ {
			i, err := d.name(n, next)
			if err != nil {
				return err
			}
			switch {
			case i < 0:
				next--
				err = d.skipValue()
			case seen&(1<<i) != 0:
				if err = d.pass(d.fail(CodeInvalid, "given twice")); err == nil {
					err = d.skipValue()
				}
			default:
				seen |= 1 << i
				next = i
				err = d.value(n.fields[i].node, v.Field(n.fields[i].index))
			}
			if err != nil {
				return err
			}
			if more, err = d.more('}'); err != nil {
				return err
			}
		}
	}
	return d.complete(n, seen)
}

// name reads the name of a field and the colon, and returns the field's index, -1
// for an unknown one that is collected. Most objects hold their fields in order and without blanks, so the text of
// field next is tried first.
func (d *decoder) name(n *node, next int) (int, error) {
	if d.peek(); next < len(n.fields) && bytes.HasPrefix(d.data[d.pos:], n.fields[next].token) {
		d.at(next)
		d.pos += len(n.fields[next].token)
		return next, nil
	}
	d.at(-1)
	key, err := d.str()
	if err != nil {
		return 0, err
	}
	i, known := n.byName[string(key)]
	if !known {
		i = -1
		if err := d.pass(d.fail(CodeInvalid, "unknown field %.64q", key)); err != nil {
			return 0, err
		}
	}
	d.at(i)
	return i, d.expect(':', "':'")
}

// complete leaves an object once all it needs was seen.
func (d *decoder) complete(n *node, seen uint64) error {
	if missing := n.needed &^ seen; missing != 0 {
		for i := range n.fields {
			if missing&(1<<i) != 0 {
				d.at(i)
				if err := d.pass(d.fail(CodeInvalid, "missing")); err != nil {
					return err
				}
			}
		}
	}
	d.leave()
	return nil
}

func (d *decoder) array(n *node, v reflect.Value) error {
	if d.peek() == 'n' && d.literal("null") { // how encoding/json writes a nil slice
		return nil
	}
	if d.peek() != '[' {
		return d.mismatch("an array")
	}
	if n.recurs == nil {
		return d.elementsOf(n, v)
	}
	start := d.pos
	if known, length, ok := n.recurs.find(d.data[start:]); ok && known.Len() <= MaxElements-d.elements {
		v.Set(known)
		d.elements += known.Len()
		d.pos += length
		return nil
	}
	err := d.elementsOf(n, v)
	if err == nil && !d.collect { // what was collected may have left zeros
		n.recurs.keep(d.data[start:d.pos], v)
	}
	return err
}

// elementsOf reads an array, whose bracket comes next.
func (d *decoder) elementsOf(n *node, v reflect.Value) error {
	d.pos++
	if err := d.enter(n); err != nil {
		return err
	}
	if d.peek() == ']' {
		d.pos++
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		d.leave()
		return nil
	}
	for i, more := 0, true; more; i++ {
		d.at(i)
		if err := d.grow(n, v, i); err != nil {
			return err
		}
		err := d.value(n.elem, v.Index(i))
		if err != nil {
			return err
		}
		if more, err = d.more(']'); err != nil {
			return err
		}
	}
	d.leave()
	return nil
}

// firstElements is how many elements an array has room for at first: most have
// about as many, and what a small message can make its reader allocate stays
// small.
const firstElements = 8

// grow makes room for element i within the limits.
func (d *decoder) grow(n *node, v reflect.Value, i int) error {
	d.elements++
	if i >= n.max {
		return d.fail(CodeTooLarge, "more than %d elements", n.max)
	}
	if d.elements > MaxElements {
		return d.fail(CodeTooLarge, "more than %d elements in one message", MaxElements)
	}
	if i == v.Cap() {
		v.Grow(max(firstElements, i))
	}
	v.SetLen(i + 1)
	v.Index(i).SetZero()
	return nil
}

func (d *decoder) string(n *node, v reflect.Value) error {
	if d.peek() != '"' {
		return d.mismatch("a string")
	}
	text, err := d.str()
	if err != nil {
		return err
	}
	if !n.text {
		v.SetString(string(text))
		return nil
	}
	if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText(text); err != nil {
		return d.fail(CodeInvalid, "%v", err)
	}
	return nil
}

func (d *decoder) bool(v reflect.Value) error {
	d.peek()
	switch {
	case d.literal("true"):
		v.SetBool(true)
	case d.literal("false"):
		v.SetBool(false)
	case bytes.HasPrefix([]byte("true"), d.data[d.pos:]), bytes.HasPrefix([]byte("false"), d.data[d.pos:]):
		d.pos = len(d.data)
		return d.syntax("true or false")
	default:
		return d.mismatch("true or false")
	}
	return nil
}

func (d *decoder) number(n *node, v reflect.Value) error {
	if c := d.peek(); c != '-' && c-'0' > 9 {
		return d.mismatch("a number")
	}
	text, err := d.scanner.number()
	if err != nil {
		return err
	}
	if n.kind != reflect.Float64 {
		return d.integer(n, v, text)
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return d.outOfRange(text, err)
	}
	v.SetFloat(x)
	return nil
}

// integer stores what a number says.
func (d *decoder) integer(n *node, v reflect.Value, text []byte) error {
	// Most are short.
	if x, ok := shortInteger(text); ok {
		switch {
		case n.kind == reflect.Int64:
			v.SetInt(x) // int and int64 have 64 bits
			return nil
		case x >= 0 && !v.OverflowUint(uint64(x)):
			v.SetUint(uint64(x))
			return nil
		}
	}
	switch n.kind {
	case reflect.Int64:
		x, err := strconv.ParseInt(string(text), 10, v.Type().Bits())
		if err != nil {
			return d.outOfRange(text, err)
		}
		v.SetInt(x)
	default:
		x, err := strconv.ParseUint(string(text), 10, v.Type().Bits())
		if err != nil {
			return d.outOfRange(text, err)
		}
		v.SetUint(x)
	}
	return nil
}

// shortInteger returns the value of at most 18 digits, behind a sign or not.
func shortInteger(text []byte) (x int64, ok bool) {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		x = 10*x + int64(c)
	}
	if text[0] == '-' {
		x = -x
	}
	return x, true
}

func (d *decoder) outOfRange(text []byte, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return d.fail(CodeInvalid, "%.32s is out of range", text)
	}
	return d.fail(CodeInvalid, "%.32s, want an integer in range", text)
}

// mismatch reports a value of another type, or no value at all.
func (d *decoder) mismatch(want string) error {
	switch c := d.peek(); {
	case c == '{', c == '[', c == '"', c == 't', c == 'f', c == 'n', c == '-', c-'0' <= 9:
		return d.fail(CodeInvalid, "want %s", want)
	}
	return d.syntax(want)
}
