package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// scanner reads JSON tokens and knows where in the message it is.
type scanner struct {
	data []byte
	pos  int
	path [MaxDepth]step // steps from the root; path[:depth] are entered
	deep int
}

// step is one part of a path: the field of an object, or the element of an
// array. Setting an index is all that the way through a message costs.
type step struct {
	in    *node
	index int // field or element; -1 for none yet
}

// enter goes one level deeper, into an object or array.
func (s *scanner) enter(in *node) error {
	if s.deep == MaxDepth {
		return s.fail(CodeTooLarge, "nested deeper than %d", MaxDepth)
	}
	s.path[s.deep] = step{in, -1}
	s.deep++
	return nil
}

func (s *scanner) leave() { s.deep-- }

// at sets the field or element of the innermost level.
func (s *scanner) at(index int) { s.path[s.deep-1].index = index }

// where formats the current path, such as state.jobs[3].gpus.
func (s *scanner) where() string {
	var b []byte
	for _, p := range s.path[:s.deep] {
		switch {
		case p.index < 0:
		case p.in.kind == reflect.Slice:
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(p.index), 10)
			b = append(b, ']')
		default:
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, p.in.fields[p.index].name...)
		}
	}
	return string(b)
}

func (s *scanner) fail(code Code, format string, args ...any) error {
	return Errorf(code, s.where(), format, args...)
}

func (s *scanner) syntax(want string) error {
	if s.pos >= len(s.data) {
		return s.fail(CodeMalformed, "message ends at byte %d, want %s", s.pos, want)
	}
	return s.fail(CodeMalformed, "byte %d is %q, want %s", s.pos, s.data[s.pos], want)
}

// peek skips blanks and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// expect skips blanks and consumes c.
func (s *scanner) expect(c byte, want string) error {
	if s.peek() != c {
		return s.syntax(want)
	}
	s.pos++
	return nil
}

// literal consumes word if it comes next.
func (s *scanner) literal(word string) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return false
	}
	s.pos += len(word)
	return true
}

// more consumes what follows an element: a comma, true, or the end, false.
func (s *scanner) more(end byte) (bool, error) {
	switch c := s.peek(); c {
	case ',':
		s.pos++
		return true, nil
	case end:
		s.pos++
		return false, nil
	}
	return false, s.syntax("',' or '" + string(end) + "'")
}

// str reads a string. The result is part of the message unless it held an
// escape.
func (s *scanner) str() ([]byte, error) {
	if err := s.expect('"', "a string"); err != nil {
		return nil, err
	}
	start, escaped := s.pos, false
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw := s.data[start:s.pos]
			s.pos++
			return s.text(raw, escaped)
		case c == '\\':
			escaped = true
			s.pos++
		case c < ' ':
			return nil, s.syntax("no control character in a string")
		}
	}
	s.pos = len(s.data)
	return nil, s.syntax("the end of a string")
}

func (s *scanner) text(raw []byte, escaped bool) ([]byte, error) {
	if len(raw) > MaxStringBytes {
		return nil, s.fail(CodeTooLarge, "a string of %d bytes, want at most %d", len(raw), MaxStringBytes)
	}
	if !utf8.Valid(raw) {
		return nil, s.fail(CodeMalformed, "a string that is not UTF-8")
	}
	if !escaped {
		return raw, nil
	}
	var text string
	quoted := append(append([]byte{'"'}, raw...), '"')
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, s.fail(CodeMalformed, "a string with a broken escape")
	}
	return []byte(text), nil
}

// number reads a number as JSON writes it: no leading zero or plus, a digit on
// both sides of a point.
func (s *scanner) number() ([]byte, error) {
	s.peek()
	start := s.pos
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return nil, s.syntax("a number")
	}
	if s.skip('.') && !s.digits() {
		return nil, s.syntax("a digit")
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		if !s.digits() {
			return nil, s.syntax("a digit")
		}
	}
	return s.data[start:s.pos], nil
}

// skipValue passes over one value of any type, in linear time and without a copy of it.
func (s *scanner) skipValue() error {
	s.peek()
	value := s.data[s.pos:]
	value = value[:extent(value)]
	if !json.Valid(value) {
		return s.fail(CodeMalformed, "no value of JSON")
	}
	s.pos += len(value)
	return nil
}

// extent returns how many bytes the value at the start of data has, if it is one.
func extent(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(data))
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
	}
	return len(data)
}

func (s *scanner) skip(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
	}
	return s.pos > start
}
