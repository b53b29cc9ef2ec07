package wire

import "strconv"

// PeekState reads only a state's identity, so that the intake can drop what is
// old without decoding it. It stops as soon as it has all three fields; the
// rest of the message may be anything.
func PeekState(data []byte) (Key, error) {
	if len(data) > MaxBytes {
		return Key{}, Errorf(CodeTooLarge, "", "a message of %d bytes, want at most %d", len(data), MaxBytes)
	}
	s := scanner{data: data}
	if err := s.expect('{', "an object"); err != nil {
		return Key{}, err
	}
	s.path[0], s.deep = step{stateNode, -1}, 1
	var k Key
	for more := true; more && (k.Cluster == "" || k.Epoch == 0 || k.Seq == 0); {
		name, err := s.str()
		if err != nil {
			return k, err
		}
		if err := s.expect(':', "':'"); err != nil {
			return k, err
		}
		if err := s.peekField(string(name), &k); err != nil {
			return k, err
		}
		if more, err = s.more('}'); err != nil {
			return k, err
		}
	}
	s.deep = 0
	return k, CheckKey(k)
}

func (s *scanner) peekField(name string, k *Key) (err error) {
	s.at(-1)
	if i, known := stateNode.byName[name]; known {
		s.at(i)
	}
	switch name {
	case "cluster":
		var text []byte
		if text, err = s.str(); err == nil {
			k.Cluster = string(text)
		}
	case "epoch":
		k.Epoch, err = s.uint()
	case "seq":
		k.Seq, err = s.uint()
	default:
		err = s.ignore()
	}
	return err
}

func (s *scanner) uint() (uint64, error) {
	text, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, s.fail(CodeInvalid, "%.32s, want an integer in range", text)
	}
	return n, nil
}

// ignore skips one value, whatever it is, by counting brackets outside of
// strings.
func (s *scanner) ignore() error {
	s.peek()
	for nested := 0; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '"':
			if !s.ignoreString() {
				return s.syntax("the end of a string")
			}
		case '{', '[':
			nested++
		case '}', ']':
			if nested--; nested < 0 {
				return nil
			}
		case ',':
			if nested == 0 {
				return nil
			}
		}
	}
	return s.syntax("the end of a value")
}

// ignoreString moves to the closing quote of a string.
func (s *scanner) ignoreString() bool {
	for s.pos++; s.pos < len(s.data); s.pos++ {
		switch s.data[s.pos] {
		case '\\':
			s.pos++
		case '"':
			return true
		}
	}
	return false
}
