package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/yardmaster/yardmaster/env/strictyaml"
)

// File is a sweep as a file says it: the run that trials are changes of, and how
// they differ.
type File struct {
	Run   string // path of a run file, "" for the defaults
	Set   []Setting
	Space Space
}

// Example is a file with everything in it.
const Example = `# yardmaster train sweep --config FILE --out DIR
run: run.yaml                     # what trials are changes of; relative to this file
set:                              # the same in all trials
  ppo.iterations: 20
grid:                             # every combination
  ppo.rate: [1e-4, 3e-4]
random:                           # drawn for every trial
  ppo.clip: 0.1..0.3
  es.rate: log:0.01..0.3          # the logarithm is uniform
  network.hidden: [16, 32, 64]    # one of them
trials: 12
seeds: 3                          # each trial is trained so often
seed: 1                           # of what is drawn
`

// Read reads a sweep file. Errors name the file, the line and the key.
func Read(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return nil, err
	}
	f, err := decode(data, path)
	if err != nil {
		return nil, err
	}
	if f.Run != "" && !filepath.IsAbs(f.Run) {
		f.Run = filepath.Join(filepath.Dir(path), f.Run)
	}
	return f, nil
}

func decode(data []byte, name string) (*File, error) {
	body, err := strictyaml.Parse(data)
	if errors.Is(err, strictyaml.ErrEmpty) {
		return new(File), nil // that there is nothing to search is said later
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	root, ok := body.(*ast.MappingNode)
	if !ok {
		return nil, fmt.Errorf("%s: no sweep, want run, set, grid, random, trials, seeds and seed", name)
	}
	f := new(File)
	var errs []error
	for _, pair := range root.Values {
		if err := f.take(pair); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, pair.Key.GetToken().Position.Line, err))
		}
	}
	return f, errors.Join(errs...)
}

// take reads one entry of the file.
func (f *File) take(pair *ast.MappingValueNode) (err error) {
	key := pair.Key.GetToken().Value
	switch key {
	case "run":
		f.Run, err = scalar(key, pair.Value)
	case "set":
		err = each(key, pair.Value, func(name string, n ast.Node) error {
			v, err := value(name, n)
			f.Set = append(f.Set, Setting{name, v})
			return err
		})
	case "grid":
		err = each(key, pair.Value, func(name string, n ast.Node) error {
			values, err := list(name, n)
			f.Space.Grid = append(f.Space.Grid, Axis{name, values})
			return err
		})
	case "random":
		err = each(key, pair.Value, f.draw)
	case "trials":
		f.Space.Trials, err = count(key, pair.Value)
	case "seeds":
		f.Space.Seeds, err = count(key, pair.Value)
	case "seed":
		var n int
		n, err = count(key, pair.Value)
		f.Space.Seed = uint64(n)
	default:
		err = fmt.Errorf("%s is no entry of a sweep, want run, set, grid, random, trials, seeds or seed", key)
	}
	return err
}

// draw reads what a setting is drawn from: a range, or a list.
func (f *File) draw(name string, n ast.Node) error {
	if _, ok := n.(*ast.SequenceNode); ok {
		values, err := list(name, n)
		f.Space.Random = append(f.Space.Random, Draw{Key: name, Values: values})
		return err
	}
	text, err := scalar(name, n)
	if err != nil {
		return err
	}
	d, err := parseRange(name, text)
	f.Space.Random = append(f.Space.Random, d)
	return err
}

// each reads a mapping from settings.
func each(key string, n ast.Node, read func(name string, n ast.Node) error) error {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return fmt.Errorf("%s is %s, want settings in the lines below, as in \"ppo.rate: …\"", key, n)
	}
	var errs []error
	for _, pair := range m.Values {
		if err := read(pair.Key.GetToken().Value, pair.Value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func scalar(key string, n ast.Node) (string, error) {
	if n.Type() == ast.NullType {
		return "", fmt.Errorf("%s: nothing stands after the key", key)
	}
	s, ok := n.(ast.ScalarNode)
	if !ok {
		return "", fmt.Errorf("%s is %s, want one value", key, n)
	}
	return s.GetToken().Value, nil
}

// value returns what stands for n on a command line: a list keeps its brackets.
func value(key string, n ast.Node) (string, error) {
	if _, ok := n.(*ast.SequenceNode); ok {
		return n.String(), nil
	}
	return scalar(key, n)
}

func list(key string, n ast.Node) ([]string, error) {
	s, ok := n.(*ast.SequenceNode)
	if !ok || len(s.Values) == 0 {
		return nil, fmt.Errorf("%s is %s, want a list of values", key, n)
	}
	var all []string
	for _, x := range s.Values {
		v, err := value(key, x)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func count(key string, n ast.Node) (int, error) {
	text, err := scalar(key, n)
	if err != nil {
		return 0, err
	}
	c, err := strconv.Atoi(text)
	if err != nil || c < 1 {
		return 0, fmt.Errorf("%s is %s, want a whole number of 1 or more", key, text)
	}
	return c, nil
}

// Encode writes f as Read reads it.
func (f *File) Encode() []byte {
	var b bytes.Buffer
	b.WriteString("# yardmaster train sweep --config FILE --out DIR\n")
	if f.Run != "" {
		fmt.Fprintf(&b, "run: %s\n", quote(f.Run))
	}
	section := func(name string, n int, line func(i int) (key, value string)) {
		if n > 0 {
			fmt.Fprintf(&b, "%s:\n", name)
		}
		for i := range n {
			key, value := line(i)
			fmt.Fprintf(&b, "  %s: %s\n", quote(key), value)
		}
	}
	section("set", len(f.Set), func(i int) (string, string) { return f.Set[i].Key, quote(f.Set[i].Value) })
	section("grid", len(f.Space.Grid), func(i int) (string, string) {
		return f.Space.Grid[i].Key, quoted(f.Space.Grid[i].Values)
	})
	section("random", len(f.Space.Random), func(i int) (string, string) {
		d := f.Space.Random[i]
		if d.Values != nil {
			return d.Key, quoted(d.Values)
		}
		return d.Key, quote(d.String())
	})
	for _, n := range []struct {
		name string
		n    int
	}{{"trials", f.Space.Trials}, {"seeds", f.Space.Seeds}, {"seed", int(f.Space.Seed)}} {
		if n.n > 0 {
			fmt.Fprintf(&b, "%s: %d\n", n.name, n.n)
		}
	}
	return b.Bytes()
}

func quoted(values []string) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = quote(v)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quote writes text in double quotes, with the brackets that package strictyaml
// counts escaped.
func quote(text string) string {
	return strings.NewReplacer("[", `\u005b`, "]", `\u005d`, "{", `\u007b`, "}", `\u007d`).Replace(strconv.Quote(text))
}
