package wire

import (
	"encoding"
	"reflect"
	"strings"
)

// A node is the compiled form of a Go type: what the decoder expects to read.
// encoding/json is not strict enough for bytes from outside: it accepts missing
// and repeated fields, folds case, grows arrays without bound and reports no
// index in its paths. Compiling from the struct tags, rather than writing a
// reader per message, keeps one definition of each message.
type node struct {
	kind   reflect.Kind // Struct, Slice, Pointer, String, Bool, Int64, Uint64 or Float64
	text   bool         // read as a string by UnmarshalText
	elem   *node        // of a slice or pointer
	max    int          // longest slice
	recurs *recurring   // of slices that come again and again, else nil
	fields []field
	byName map[string]int
	needed uint64 // bit i is set where fields[i] must be present
}

type field struct {
	name  string
	token []byte // "name": as it stands in most messages
	index int    // in the struct
	node  *node
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// compile panics on a type that no message holds: a fault of this package.
func compile(t reflect.Type) *node {
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return &node{kind: reflect.String, text: true}
	}
	switch t.Kind() {
	case reflect.Struct:
		return compileStruct(t)
	case reflect.Slice:
		limit, ok := maxLen[t.Elem()]
		if !ok {
			panic("wire: no limit for arrays of " + t.Elem().String())
		}
		n := &node{kind: reflect.Slice, elem: compile(t.Elem()), max: limit}
		if recurringTypes[t.Elem()] {
			n.recurs = new(recurring)
		}
		return n
	case reflect.Pointer:
		return &node{kind: reflect.Pointer, elem: compile(t.Elem())}
	case reflect.Int, reflect.Int64:
		return &node{kind: reflect.Int64}
	case reflect.Uint64, reflect.Uint8:
		return &node{kind: reflect.Uint64}
	case reflect.String, reflect.Bool, reflect.Float64:
		return &node{kind: t.Kind()}
	}
	panic("wire: cannot decode " + t.String())
}

func compileStruct(t reflect.Type) *node {
	n := &node{kind: reflect.Struct, byName: make(map[string]int)}
	if t.NumField() > 64 {
		panic("wire: more than 64 fields in " + t.String())
	}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			panic("wire: no JSON name for field " + t.Field(i).Name + " of " + t.String())
		}
		if options != "omitempty" {
			n.needed |= 1 << len(n.fields)
		}
		n.byName[name] = len(n.fields)
		n.fields = append(n.fields, field{name: name, token: []byte(`"` + name + `":`), index: i, node: compile(t.Field(i).Type)})
	}
	return n
}
