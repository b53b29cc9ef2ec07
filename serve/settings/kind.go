package settings

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is what values of a type are called, and how they are read and written.
type kind struct {
	name string
	want string // what a mistake should have been
	// parse sets what a pointer points to.
	parse func(v reflect.Value, text string) error
	// format is the inverse of parse.
	format func(v reflect.Value) string
}

var kinds = map[string]*kind{
	"string": {
		"string", "text",
		func(v reflect.Value, text string) error { v.SetString(text); return nil },
		func(v reflect.Value) string { return v.String() },
	},
	"bool": {
		"bool", "true or false",
		func(v reflect.Value, text string) error {
			if text != "true" && text != "false" { // strconv also takes t, T, 1
				return strconv.ErrSyntax
			}
			v.SetBool(text == "true")
			return nil
		},
		func(v reflect.Value) string { return strconv.FormatBool(v.Bool()) },
	},
	"int": {
		"int", "a whole number",
		func(v reflect.Value, text string) error {
			n, err := strconv.ParseInt(text, 10, v.Type().Bits())
			v.SetInt(n)
			return err
		},
		func(v reflect.Value) string { return strconv.FormatInt(v.Int(), 10) },
	},
	"float": {
		"float", "a number",
		func(v reflect.Value, text string) error {
			x, err := strconv.ParseFloat(text, 64)
			if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
				return strconv.ErrRange
			}
			v.SetFloat(x)
			return err
		},
		func(v reflect.Value) string { return strconv.FormatFloat(v.Float(), 'g', -1, 64) },
	},
	"duration": {
		"duration", "a number with its unit, such as 500ms or 1h30m",
		func(v reflect.Value, text string) error {
			d, err := time.ParseDuration(text)
			v.SetInt(int64(d))
			return err
		},
		func(v reflect.Value) string { return shortDuration(time.Duration(v.Int())) },
	},
	"list": {
		"list", "names with commas between",
		func(v reflect.Value, text string) error {
			v.SetZero()
			for _, item := range split(text) {
				v.Set(reflect.Append(v, reflect.ValueOf(item).Convert(v.Type().Elem())))
			}
			return nil
		},
		func(v reflect.Value) string {
			var items []string
			for i := range v.Len() {
				items = append(items, v.Index(i).String())
			}
			return strings.Join(items, ",")
		},
	},
	"map": {"map", "name=value pairs with commas between", parseMap, formatMap},
}

// kindOf returns the kind of what p points to.
func kindOf(p any) *kind {
	t := reflect.TypeOf(p).Elem()
	if t == reflect.TypeFor[time.Duration]() {
		return kinds["duration"]
	}
	switch t.Kind() {
	case reflect.String:
		return kinds["string"]
	case reflect.Bool:
		return kinds["bool"]
	case reflect.Int, reflect.Int64:
		return kinds["int"]
	case reflect.Float64:
		return kinds["float"]
	case reflect.Slice:
		return kinds["list"]
	case reflect.Map:
		return kinds["map"]
	}
	panic(fmt.Sprintf("settings: no kind for %v: a line of the table is wrong", t)) // the tests walk the table
}

// set parses text into what p points to.
func set(p any, text string) error {
	k := kindOf(p)
	v := reflect.New(reflect.TypeOf(p).Elem()).Elem() // untouched on errors
	if err := k.parse(v, text); err != nil {
		return fmt.Errorf("%q, want %s", text, k.want)
	}
	reflect.ValueOf(p).Elem().Set(v)
	return nil
}

// show returns what p points to as set would read it.
func show(p any) string { return kindOf(p).format(reflect.ValueOf(p).Elem()) }

func split(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func parseMap(v reflect.Value, text string) error {
	m := reflect.MakeMap(v.Type())
	for _, item := range split(text) {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" || value == "" {
			return strconv.ErrSyntax
		}
		m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), reflect.ValueOf(value).Convert(v.Type().Elem()))
	}
	v.Set(m)
	return nil
}

func formatMap(v reflect.Value) string {
	items := make(map[string]string)
	for _, key := range v.MapKeys() {
		items[key.String()] = v.MapIndex(key).String()
	}
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(items)) {
		pairs = append(pairs, key+"="+items[key])
	}
	return strings.Join(pairs, ",")
}

// shortDuration leaves out the zeros that time.Duration writes: 1h, not 1h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
