package runfile

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// errKind says that a value is of another kind than its setting.
var errKind = errors.New("another kind of value is wanted")

// scan sets v to what a node of a file says. Errors wrap errKind, or say what else
// is wrong.
func scan(v reflect.Value, n ast.Node) error {
	switch n := n.(type) {
	case *ast.SequenceNode:
		return scanList(v, n)
	case *ast.MappingNode:
		return scanMap(v, n)
	case ast.ScalarNode:
		if isNull(n) {
			return errors.New("nothing stands after the key")
		}
		return parse(v, n.GetToken())
	default:
		return errKind
	}
}

func isNull(n ast.Node) bool { return n == nil || n.Type() == ast.NullType }

// parse sets v to a scalar.
func parse(v reflect.Value, t *token.Token) error {
	quoted := t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	switch {
	case v.Kind() == reflect.String, isDuration(v), isText(v):
		return parseText(v, t.Value)
	case quoted:
		return errKind // "3" is text
	default:
		return parseText(v, t.Value)
	}
}

// parseText sets v, which is no list or map, to what text says.
func parseText(v reflect.Value, text string) error {
	var err error
	switch {
	case isText(v):
		err = v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	case isDuration(v):
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return errKind
		}
		v.SetBool(text == "true")
	case v.CanInt():
		var i int64
		i, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(i)
	case v.CanUint():
		var u uint64
		u, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(u)
	case v.CanFloat():
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		v.SetFloat(x)
	default:
		return errKind
	}
	if err != nil {
		return errKind
	}
	return nil
}

// scanList sets v, a slice or an array, to a list.
func scanList(v reflect.Value, n *ast.SequenceNode) error {
	list := v
	switch {
	case v.Kind() == reflect.Slice:
		list = reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values))
	case v.Kind() != reflect.Array || v.Len() != len(n.Values):
		return errKind
	}
	for i, x := range n.Values {
		if err := scan(list.Index(i), x); err != nil {
			return err
		}
	}
	if v.Kind() == reflect.Slice && len(n.Values) == 0 {
		list = reflect.Zero(v.Type()) // a list of nothing is the one that was not given
	}
	v.Set(list)
	return nil
}

// scanMap sets v, a map, to a mapping.
func scanMap(v reflect.Value, n *ast.MappingNode) error {
	if v.Kind() != reflect.Map {
		return errKind
	}
	m := reflect.MakeMap(v.Type())
	for _, pair := range n.Values {
		x := reflect.New(v.Type().Elem()).Elem()
		if err := scan(x, pair.Value); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(pair.Key.GetToken().Value), x)
	}
	v.Set(m)
	return nil
}

// kind names what v holds, for people.
func kind(v reflect.Value) string {
	switch {
	case isDuration(v):
		return "a time"
	case v.Kind() == reflect.String, isText(v):
		return "text"
	case v.Kind() == reflect.Bool:
		return "a switch"
	case v.CanInt(), v.CanUint():
		return "a whole number"
	case v.CanFloat():
		return "a number"
	case v.Kind() == reflect.Map:
		return "a mapping"
	default:
		return "a list"
	}
}

// show writes v as a value of a file, on one line.
func show(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Map:
		m := v.Interface().(map[string]float64)
		pairs := make([]string, 0, len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			pairs = append(pairs, quote(name)+": "+showFloat(m[name]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = show(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case v.Kind() == reflect.String:
		return quote(v.String())
	default:
		return plain(v)
	}
}

// plain writes v, which is no list or map, without quotes.
func plain(v reflect.Value) string {
	switch {
	case isDuration(v):
		return short(time.Duration(v.Int()))
	case v.CanFloat():
		return showFloat(v.Float())
	default:
		return fmt.Sprint(v.Interface())
	}
}

func showFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// short writes a time without units that are 0: 6h, not 6h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// simple is text that means itself in YAML and does not look like another kind of
// value.
var simple = regexp.MustCompile(`^[A-Za-z_/.][A-Za-z0-9_/.=+-]*(:[A-Za-z0-9_/.-]+)*$`)

// words are what simple text must not be: YAML reads them as other values.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan", ".", "..."}

// quote writes text as a value of a file: in double quotes, as JSON does, unless it
// is simple. Brackets are escaped, since package strictyaml counts them.
func quote(text string) string {
	if simple.MatchString(text) && !slices.Contains(words, strings.ToLower(text)) {
		return text
	}
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // text always can be written
	}
	return strings.NewReplacer("[", `\u005b`, "]", `\u005d`, "{", `\u007b`, "}", `\u007d`).Replace(string(raw))
}
