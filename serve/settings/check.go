package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env/spelling"
)

// check reports a value outside of the setting's bounds. p points to its field.
func (s *Setting) check(p any) error {
	text := show(p)
	if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, text) {
		if near := spelling.Nearest(text, s.OneOf); near != "" {
			return fmt.Errorf("%q, want %s: perhaps %s", text, alternatives(s.OneOf), near)
		}
		return fmt.Errorf("%q, want %s", text, alternatives(s.OneOf))
	}
	if s.Min != "" && less(p, s.Min) {
		return fmt.Errorf("%s, want at least %s", text, s.Min)
	}
	if s.Max != "" && !less(p, s.Max) && text != s.Max {
		return fmt.Errorf("%s, want at most %s", text, s.Max)
	}
	return nil
}

// less reports whether what p points to is less than bound.
func less(p any, bound string) bool {
	b := reflect.New(reflect.TypeOf(p).Elem())
	if err := set(b.Interface(), bound); err != nil {
		panic(fmt.Sprintf("settings: bound %s: %v", bound, err)) // the tests walk the table
	}
	x, y := reflect.ValueOf(p).Elem(), b.Elem()
	if x.CanFloat() {
		return x.Float() < y.Float()
	}
	return x.Int() < y.Int()
}

func alternatives(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}
