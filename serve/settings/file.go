package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/yardmaster/yardmaster/env/spelling"
	"github.com/yardmaster/yardmaster/env/strictyaml"
)

// entry is the value of one key in a file.
type entry struct {
	line int
	text string // as set reads it
	is   string // what it is in YAML, in words
}

// Words for what a value is in YAML.
const (
	yamlText  = "text"
	yamlBool  = "true or false"
	yamlInt   = "a whole number"
	yamlFloat = "a number"
	yamlList  = "a list"
	yamlMap   = "a mapping"
	yamlNull  = "nothing"
)

// fits reports a value that is of another kind in YAML: quotes or their absence
// are no matter of taste there.
func (e *entry) fits(k *kind) error {
	want := map[string][]string{
		"string": {yamlText}, "duration": {yamlText}, "bool": {yamlBool}, "int": {yamlInt}, "float": {yamlInt, yamlFloat},
		"list": {yamlList}, "map": {yamlMap},
	}[k.name]
	if slices.Contains(want, e.is) {
		return nil
	}
	switch {
	case e.is == yamlNull:
		return fmt.Errorf("nothing, want %s (leave the line out for the default)", want[0])
	case k.name == "string":
		return fmt.Errorf("%s, want text: write \"%s\"", e.is, e.text)
	case k.name == "duration":
		return fmt.Errorf("%s, want %s", e.text, k.want)
	}
	return fmt.Errorf("%s, want %s", e.is, want[0])
}

// reader collects the entries and the mistakes of one file.
type reader struct {
	path    string
	entries map[string]entry
	errs    []error
}

// parseFile returns the entries of a file, by key, and all mistakes.
func parseFile(path string, data []byte) (map[string]entry, error) {
	body, err := strictyaml.Parse(data)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return nil, nil // all defaults
	}
	if err != nil {
		return nil, mistake(path, "", "%v", err)
	}
	r := reader{path: path, entries: make(map[string]entry)}
	r.mapping(body, "")
	return r.entries, errors.Join(r.errs...)
}

func (r *reader) fail(n ast.Node, key, format string, args ...any) {
	line := 0
	if t := n.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	text := fmt.Sprintf(format, args...)
	if key != "" {
		text = key + ": " + text
	}
	r.errs = append(r.errs, mistake(fmt.Sprintf("%s:%d", r.path, line), key, "%s", text))
}

// pairs returns the entries of a mapping.
func pairs(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode: // a mapping of one
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// mapping reads the keys below section, which is "" at the top.
func (r *reader) mapping(n ast.Node, section string) {
	list, ok := pairs(n)
	if !ok {
		r.fail(n, section, "%s, want keys and values", describe(n))
		return
	}
	for _, pair := range list {
		key := pair.Key.GetToken().Value
		if section != "" {
			key = section + "." + key
		}
		switch {
		case known(key):
			r.value(pair, key)
		case section == "" && slices.Contains(sections(), key):
			if _, empty := pair.Value.(*ast.NullNode); !empty {
				r.mapping(pair.Value, key)
			}
		default:
			r.unknown(pair.Key, key)
		}
	}
}

func (r *reader) value(pair *ast.MappingValueNode, key string) {
	line := pair.Key.GetToken().Position.Line
	if first, twice := r.entries[key]; twice {
		r.fail(pair.Key, key, "given twice, first in line %d", first.line)
		return
	}
	text, is, err := scalar(pair.Value)
	if err != nil {
		r.fail(pair.Value, key, "%v", err)
		return
	}
	r.entries[key] = entry{line, text, is}
}

// unknown reports a key that is no setting, and the nearest that is one. A key
// may also be right but in another section.
func (r *reader) unknown(n ast.Node, key string) {
	var keys []string
	_, name, _ := cutLast(key)
	elsewhere := ""
	for i := range table {
		keys = append(keys, table[i].Key)
		if _, last, _ := cutLast(table[i].Key); last == name {
			elsewhere = table[i].Key
		}
	}
	near := spelling.Nearest(key, append(keys, sections()...))
	if elsewhere != "" {
		near = elsewhere
	}
	if near == "" {
		r.fail(n, key, "unknown key (yardmaster config print lists all)")
		return
	}
	r.fail(n, key, "unknown key, the nearest known one is %s", near)
}

// cutLast cuts a key at its last dot.
func cutLast(key string) (section, name string, nested bool) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:], i >= 0
}

func known(key string) bool {
	return slices.ContainsFunc(table, func(s Setting) bool { return s.Key == key })
}

// sections returns the names of the sections, in order.
func sections() []string {
	var names []string
	for i := range table {
		if s := table[i].Section(); s != "" && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}

// scalar returns a value as set reads it, and what it is.
func scalar(n ast.Node) (text, is string, err error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, yamlText, nil
	case *ast.LiteralNode:
		return n.Value.Value, yamlText, nil
	case *ast.BoolNode:
		return fmt.Sprint(n.Value), yamlBool, nil
	case *ast.IntegerNode:
		return fmt.Sprint(n.Value), yamlInt, nil
	case *ast.FloatNode:
		return n.GetToken().Value, yamlFloat, nil
	case *ast.NullNode:
		return "", yamlNull, nil
	case *ast.SequenceNode:
		return sequence(n)
	}
	if list, ok := pairs(n); ok {
		return keyed(list)
	}
	return "", "", fmt.Errorf("%s, want a value", describe(n))
}

func sequence(n *ast.SequenceNode) (text, is string, err error) {
	var items []string
	for _, item := range n.Values {
		t, is, err := scalar(item)
		if err != nil || is != yamlText || strings.ContainsRune(t, ',') {
			return "", "", errors.New("want a list of names, none with a comma")
		}
		items = append(items, t)
	}
	return strings.Join(items, ","), yamlList, nil
}

func keyed(list []*ast.MappingValueNode) (text, is string, err error) {
	var items []string
	for _, pair := range list {
		key := pair.Key.GetToken().Value
		t, is, err := scalar(pair.Value)
		if err != nil || is == yamlList || is == yamlMap || is == yamlNull || strings.ContainsAny(key+t, ",=") {
			return "", "", errors.New("want names with one value each, none with a comma or an equals sign")
		}
		items = append(items, key+"="+t)
	}
	return strings.Join(items, ","), yamlMap, nil
}

// describe says what a node is, for messages.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return yamlText
	case *ast.SequenceNode:
		return yamlList
	}
	return strings.ToLower(n.Type().String())
}
