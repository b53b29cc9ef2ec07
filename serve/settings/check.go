package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// check reports a value outside of the setting's bounds. p points to its field.
func (s *Setting) check(p any) error {
	text := show(p)
	if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, text) {
		if near := nearest(text, s.OneOf); near != "" {
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

// nearest returns the name that takes the fewest edits to become text, the
// first among equals; "" if none is near.
func nearest(text string, names []string) string {
	best, at := "", max(2, len(text)/3)+1
	for _, name := range names {
		if d := distance(text, name); d < at {
			best, at = name, d
		}
	}
	return best
}

// distance is the edit distance of Levenshtein, which counts insertions,
// deletions and replacements.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // of the first i bytes of a, to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
