package runfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/yardmaster/yardmaster/env/strictyaml"
	"github.com/yardmaster/yardmaster/train/scenario"
)

// maxSize bounds a file: the longest that says something is a hundredth of it.
const maxSize = 1 << 20

// Read sets f to what the file says, beginning with the defaults. Paths in it
// become relative to where the program runs.
func Read(path string) (*File, error) {
	f := Defaults()
	return f, f.Merge(path)
}

// Merge changes the settings of f that the file at path has.
func (f *File) Merge(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return err
	}
	if len(data) > maxSize {
		return fmt.Errorf("%s: more than %d bytes: this is no run file", path, maxSize)
	}
	given := f.Clone()
	keys, err := given.decode(data, path)
	if err != nil {
		return err
	}
	s := &given.Scenario
	for key, file := range map[string]*string{
		"scenario.trace": &s.Trace, "scenario.switches.colocation": &s.Switches.Colocation, "scenario.switches.quotas": &s.Switches.Quotas,
	} {
		if slices.Contains(keys, key) {
			*file = seenFrom(filepath.Dir(path), *file)
		}
	}
	if slices.Contains(keys, "scenario.catalogue") {
		for i := range s.Catalogue {
			s.Catalogue[i] = seenFrom(filepath.Dir(path), s.Catalogue[i])
		}
	}
	*f = *given
	return nil
}

// NameError is a setting that names GPU types or models in a way that the catalogue does
// not allow: most often one which nothing describes, perf.ErrUnknownGPU or
// perf.ErrUnknownModel.
type NameError struct {
	Key string
	Err error
}

func (e *NameError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns what package perf says.
func (e *NameError) Unwrap() error { return e.Err }

// CheckNames returns an error if the settings name GPU types or models that neither the
// program nor the files of scenario.catalogue describe, or a cluster that cannot be of
// those they describe: a *NameError. It reads these files.
func (f *File) CheckNames() error {
	s := &f.Scenario
	catalogue, err := scenario.ReadCatalogue(s.Catalogue)
	if err != nil {
		return fmt.Errorf("scenario.catalogue: %w", err)
	}
	if _, err := catalogue.ParseCluster(s.Cluster, s.GPUsPerNode); err != nil {
		return &NameError{"scenario.cluster", err}
	}
	if _, err := scenario.Choices(catalogue.Catalogue, s.Models); err != nil {
		return &NameError{"scenario.models", err}
	}
	return nil
}

// Place returns where the file at path has a setting, as in run.yaml:7; "" where it has
// none of this name.
func Place(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	node, err := strictyaml.Parse(data)
	if err != nil {
		return ""
	}
	place := ""
	for part := range strings.SplitSeq(key, ".") {
		m, ok := node.(*ast.MappingNode)
		if !ok {
			return ""
		}
		i := slices.IndexFunc(m.Values, func(pair *ast.MappingValueNode) bool { return pair.Key.GetToken().Value == part })
		if i < 0 {
			return ""
		}
		place, node = line(path, m.Values[i].Key), m.Values[i].Value
	}
	return place
}

// line returns the line of a file that n is on, as in run.yaml:7.
func line(name string, n ast.Node) string {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Sprintf("%s:%d", name, t.Position.Line)
	}
	return name
}

// decode changes the settings that data has, returns their keys, and reports all
// mistakes.
func (f *File) decode(data []byte, name string) (keys []string, err error) {
	body, err := strictyaml.Parse(data)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return nil, nil // all defaults
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	root, ok := body.(*ast.MappingNode)
	if !ok {
		return nil, fmt.Errorf("%s: no settings, want lines as in \"seed: 1\"", name)
	}
	r := reader{name: name, fields: f.fields()}
	r.section("", root)
	return r.keys, errors.Join(r.errs...)
}

// reader collects what is wrong with a file.
type reader struct {
	name   string
	fields []field
	keys   []string // that the file has
	errs   []error
}

func (r *reader) bad(n ast.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: "+format, append([]any{line(r.name, n)}, args...)...))
}

// section reads the settings of a section, whose keys begin with prefix.
func (r *reader) section(prefix string, m *ast.MappingNode) {
	for _, pair := range m.Values {
		key := prefix + pair.Key.GetToken().Value
		isSection := slices.ContainsFunc(sections, func(s Section) bool { return s.Name == key })
		inner, isMapping := pair.Value.(*ast.MappingNode)
		i := slices.IndexFunc(r.fields, func(x field) bool { return x.key == key })
		switch {
		case isSection && isMapping:
			r.section(key+".", inner)
		case isSection && isNull(pair.Value): // all of it is commented out
		case isSection:
			r.bad(pair.Key, "%s is %s, want a section: settings in the lines below, indented", key, one(pair.Value))
		case i < 0:
			r.bad(pair.Key, "%s", unknown(key, r.fields))
		default:
			r.keys = append(r.keys, key)
			if err := assign(r.fields[i], pair.Value); err != nil {
				r.bad(pair.Key, "%w", err)
			}
		}
	}
}

// assign sets x to what n says, or says what is wrong with that.
func assign(x field, n ast.Node) error {
	v := reflect.New(x.value.Type()).Elem()
	err := scan(v, n)
	if err != nil && !errors.Is(err, errKind) {
		return fmt.Errorf("%s: %w, want %s", x.key, err, wanted(x))
	}
	if err != nil {
		return fmt.Errorf("%s is %s, want %s", x.key, one(n), wanted(x))
	}
	return x.take(v)
}

// take sets x to v if it is allowed.
func (x field) take(v reflect.Value) error {
	k, ok := find(x.key)
	switch {
	case ok && !k.Allow.has(v) && k.Allow.why != nil:
		return fmt.Errorf("%s: %w", x.key, k.Allow.why(v))
	case ok && !k.Allow.has(v):
		return fmt.Errorf("%s is %s, want %s", x.key, show(v), wanted(x))
	}
	x.value.Set(v)
	return nil
}

// wanted says which values x may have.
func wanted(x field) string {
	text := kind(x.value)
	if k, ok := find(x.key); ok {
		text += ": " + k.Allow.text
	}
	return text
}

// one writes a node on one line, shortened if it is long.
func one(n ast.Node) string {
	text := strings.Join(strings.Fields(n.String()), " ")
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// seenFrom returns path as seen from where the program runs, if dir is the folder that
// it is relative to.
func seenFrom(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
