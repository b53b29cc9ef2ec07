package runfile

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// field is a setting: a leaf of a File.
type field struct {
	key   string // as in ppo.rate
	value reflect.Value
}

// fields returns the settings of f in the order of the struct; setting one changes
// f.
func (f *File) fields() []field {
	return leaves(nil, "", reflect.ValueOf(f).Elem())
}

// leaves appends the settings in v, whose keys begin with prefix.
func leaves(all []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		about := v.Type().Field(i)
		name, _, _ := strings.Cut(about.Tag.Get("json"), ",")
		key := prefix + strings.TrimSuffix(name, "_ns")
		switch {
		case !about.IsExported() || name == "-":
		case about.Anonymous && name == "":
			all = leaves(all, prefix, v.Field(i))
		case name == "":
			panic(fmt.Sprintf("runfile: field %s of %v has no JSON tag", about.Name, v.Type())) // found by any test
		case v.Field(i).Kind() == reflect.Struct && !isText(v.Field(i)):
			all = leaves(all, key+".", v.Field(i))
		default:
			all = append(all, field{key, v.Field(i)})
		}
	}
	return all
}

// isText reports whether v, which can be set, reads itself from text.
func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// isDuration reports whether v is a time.Duration.
func isDuration(v reflect.Value) bool { return v.Type() == reflect.TypeFor[time.Duration]() }

// at returns the setting of f with this key.
func (f *File) at(key string) (field, bool) {
	for _, x := range f.fields() {
		if x.key == key {
			return x, true
		}
	}
	return field{}, false
}

// setNumber sets a number to x.
func (x field) setNumber(n int) {
	if x.value.CanFloat() {
		x.value.SetFloat(float64(n))
		return
	}
	x.value.SetInt(int64(n))
}

// Clone returns a copy of f that shares nothing with it.
func (f *File) Clone() *File {
	c := *f
	for _, x := range c.fields() {
		x.value.Set(copied(x.value))
	}
	return &c
}

// copied returns v, or a copy of it if it is a slice or a map.
func copied(v reflect.Value) reflect.Value {
	switch {
	case v.Kind() == reflect.Slice && !v.IsNil():
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(out, v)
		return out
	case v.Kind() == reflect.Map && !v.IsNil():
		out := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() { // into another map: their order does not matter
			out.SetMapIndex(k, v.MapIndex(k))
		}
		return out
	}
	return v
}
