package runfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env/spelling"
	"github.com/yardmaster/yardmaster/env/strictyaml"
)

// Set changes one setting: key=value, the value as in a file. One weight of the
// prior is prior.weights.COLUMN.
func (f *File) Set(setting string) error {
	key, value, ok := strings.Cut(setting, "=")
	if !ok {
		return fmt.Errorf("%q is no setting, want KEY=VALUE, as in ppo.rate=1e-4", setting)
	}
	if column, ok := strings.CutPrefix(key, "prior.weights."); ok {
		return f.setWeight(column, value)
	}
	x, ok := f.at(key)
	if !ok {
		return fmt.Errorf("%s", unknown(key, f.fields()))
	}
	v := reflect.New(x.value.Type()).Elem()
	if k := v.Kind(); k != reflect.Slice && k != reflect.Array && k != reflect.Map {
		if err := parseText(v, value); err != nil {
			return fmt.Errorf("%s is %s, want %s", key, cmp.Or(value, "empty"), wanted(x))
		}
		return x.take(v)
	}
	n, err := strictyaml.Parse([]byte(value))
	if err != nil {
		return fmt.Errorf("%s is %s: %w, want %s", key, cmp.Or(value, "empty"), err, wanted(x))
	}
	return assign(x, n)
}

// setWeight changes the weight of one column of the prior.
func (f *File) setWeight(column, value string) error {
	var w float64
	v := reflect.ValueOf(&w).Elem()
	if err := parseText(v, value); err != nil || !anyNumber.has(v) {
		return fmt.Errorf("prior.weights.%s is %s, want %s", column, cmp.Or(value, "empty"), anyNumber)
	}
	x, _ := f.at("prior.weights")
	m := copied(x.value)
	m.SetMapIndex(reflect.ValueOf(column), v)
	return x.take(m)
}

// Take sets a setting to what it is in from, which package cmd fills from flags.
func (f *File) Take(key string, from *File) error {
	x, ok := f.at(key)
	y, found := from.at(key)
	if !ok || !found {
		return fmt.Errorf("%s", unknown(key, f.fields()))
	}
	return x.take(copied(y.value))
}

// Setting is a setting and its value as a file has it.
type Setting struct{ Key, Value string }

// Settings returns all settings in the order of the file.
func (f *File) Settings() []Setting {
	var all []Setting
	for _, x := range f.fields() {
		all = append(all, Setting{x.key, show(x.value)})
	}
	return all
}

// Whole reports whether a setting is a whole number.
func (f *File) Whole(key string) bool {
	x, ok := f.at(key)
	return ok && (x.value.CanInt() || x.value.CanUint()) && !isDuration(x.value) && !isText(x.value)
}

// JSON returns a setting as JSON, a time as text; nil if there is none of this name.
func (f *File) JSON(key string) json.RawMessage {
	x, ok := f.at(key)
	if !ok {
		return nil
	}
	value := x.value.Interface()
	if isDuration(x.value) {
		value = plain(x.value)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // a setting that is allowed is finite
	}
	return raw
}

// Difference is a setting that two runs do not share.
type Difference struct{ Key, A, B string }

// Compare returns the settings in which a and b differ, in the order of the file.
func Compare(a, b *File) []Difference {
	var all []Difference
	theirs := b.fields()
	for i, x := range a.fields() {
		if p, q := show(x.value), show(theirs[i].value); p != q {
			all = append(all, Difference{x.key, p, q})
		}
	}
	return all
}

// unknown says that there is no setting of this name, and which come near.
func unknown(key string, fields []field) string {
	var names []string
	for _, x := range fields {
		names = append(names, x.key)
	}
	if near := nearest(key, names); near != "" {
		return fmt.Sprintf("%s is no setting: perhaps %s", key, near)
	}
	section, _, found := cutLast(key)
	inside := slices.DeleteFunc(names, func(n string) bool {
		s, _, _ := cutLast(n)
		return s != section
	})
	if found && len(inside) > 0 {
		return fmt.Sprintf("%s is no setting, %s has %s", key, section, strings.Join(inside, ", "))
	}
	return fmt.Sprintf("%s is no setting (yardmaster train config prints all)", key)
}

// cutLast splits a key into its section and its name.
func cutLast(key string) (section, name string, found bool) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return "", key, false
	}
	return key[:i], key[i+1:], true
}

// nearest returns the name that is most like text, "" if none is: one with the same
// last part in another section, or one that a slip of the hand makes of it.
func nearest(text string, names []string) string {
	_, last, _ := cutLast(text)
	best, least := "", 3
	for _, name := range names {
		_, end, _ := cutLast(name)
		d := spelling.Distance(text, name)
		if end == last {
			d = min(d, 2)
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}
