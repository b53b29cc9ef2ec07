package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env/spelling"
)

// Source says who gave a value, in rising order of precedence.
type Source string

const (
	FromDefault Source = "default"
	FromFile    Source = "file"
	FromEnv     Source = "env"
	FromFlag    Source = "flag"
)

// MaxFileBytes is the size of the largest file that is read.
const MaxFileBytes = 1 << 20

// Input is where values come from.
type Input struct {
	File  string            // path of the YAML file; "" is none, or that of YM_CONFIG in Env
	Env   []string          // as os.Environ returns it
	Flags map[string]string // by FlagName, those that were given
}

// Value is one setting with its value and where that was given.
type Value struct {
	Setting *Setting
	Text    string
	Source  Source
	Where   string // file:line, name of the variable or flag; "" for defaults
}

// Resolved is what all sources come to.
type Resolved struct {
	Config Config
	Values []Value  // of all settings, in the order of All
	File   string   // that was read, "" for none
	Notes  []string // what is odd but no mistake, such as unknown variables
}

// given is a value before it is parsed.
type given struct {
	text   string
	source Source
	where  string
	file   *entry // of the file
}

// Load resolves all settings. Its error joins every mistake.
func Load(in Input) (*Resolved, error) {
	r := &Resolved{File: in.File}
	env := environment(in.Env)
	if r.File == "" {
		r.File = env[EnvFile]
	}
	values := make(map[string][]given) // by key, in rising precedence
	var errs []error
	if r.File != "" {
		entries, err := readFile(r.File)
		errs = append(errs, err)
		for key, e := range entries {
			values[key] = append(values[key], given{e.text, FromFile, fmt.Sprintf("%s:%d", r.File, e.line), &e})
		}
	}
	r.Notes = fromEnv(values, env)
	errs = append(errs, fromFlags(values, in.Flags)...)
	for i := range table {
		errs = append(errs, r.resolve(&table[i], values[table[i].Key])...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := errors.Join(r.whole()...); err != nil {
		return nil, err
	}
	r.Config.zeros()
	return r, nil
}

// zeros writes zeros as the service does, for which zero is the default.
func (c *Config) zeros() {
	if c.Serve.Guard.Hedge == 0 {
		c.Serve.Guard.Hedge = -1
	}
	if c.Serve.Models.RollbackAfter == 0 {
		c.Serve.Models.RollbackAfter = -1
	}
}

// resolve sets the field of s. A value that another one overrides is checked
// all the same: it would be wrong tomorrow.
func (r *Resolved) resolve(s *Setting, values []given) []error {
	p := s.at(&r.Config)
	v := Value{Setting: s, Source: FromDefault}
	if s.Default != "" {
		if err := set(p, s.Default); err != nil {
			panic(fmt.Sprintf("settings: default of %s: %v", s.Key, err)) // the tests walk the table
		}
	}
	var errs []error
	for _, g := range values {
		if err := assign(s, p, g); err != nil {
			errs = append(errs, mistake(g.where, s.Key, "%s is %v", s.Key, err))
			continue
		}
		v.Source, v.Where = g.source, g.where
	}
	v.Text = show(p)
	r.Values = append(r.Values, v)
	return errs
}

func assign(s *Setting, p any, g given) error {
	if g.file != nil {
		if err := g.file.fits(kindOf(p)); err != nil {
			return err
		}
	}
	if err := set(p, g.text); err != nil {
		return err
	}
	return s.check(p)
}

// Value returns the value of a key.
func (r *Resolved) Value(key string) Value {
	i := slices.IndexFunc(r.Values, func(v Value) bool { return v.Setting.Key == key })
	if i < 0 {
		return Value{}
	}
	return r.Values[i]
}

// Changes returns the keys whose values differ, in the order of All.
func (r *Resolved) Changes(to *Resolved) []*Setting {
	var keys []*Setting
	for i, v := range r.Values {
		if to.Values[i].Text != v.Text {
			keys = append(keys, v.Setting)
		}
	}
	return keys
}

// environment returns the variables that begin with EnvPrefix.
func environment(list []string) map[string]string {
	env := make(map[string]string)
	for _, pair := range list {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, EnvPrefix) {
			env[name] = value
		}
	}
	return env
}

// fromEnv adds the variables of the environment to values. An unknown one may
// be meant for another program, so it is only noted.
func fromEnv(values map[string][]given, env map[string]string) (notes []string) {
	known := map[string]string{EnvFile: ""}
	for i := range table {
		known[table[i].Env()] = table[i].Key
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch key, ok := known[name]; {
		case key != "":
			values[key] = append(values[key], given{env[name], FromEnv, name, nil})
		case !ok:
			note := name + " is no setting of yardmaster serve"
			if near := spelling.Nearest(name, slices.Sorted(maps.Keys(known))); near != "" {
				note += ", perhaps " + near + " is meant"
			}
			notes = append(notes, note)
		}
	}
	return notes
}

func fromFlags(values map[string][]given, flags map[string]string) (errs []error) {
	known := make(map[string]string)
	for i := range table {
		known[table[i].FlagName()] = table[i].Key
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if key, ok := known[name]; ok {
			values[key] = append(values[key], given{flags[name], FromFlag, "--" + name, nil})
		} else {
			errs = append(errs, mistake("--"+name, "", "unknown flag"))
		}
	}
	return errs
}

// readFile returns the entries of a file, by key. Its error joins every
// mistake; what is right is returned all the same.
func readFile(path string) (map[string]entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(data) > MaxFileBytes {
		return nil, mistake(path, "", "larger than %d bytes", MaxFileBytes)
	}
	return parseFile(path, data)
}

// With returns r with the values of next that take effect while the service
// runs.
func (r *Resolved) With(next *Resolved) *Resolved {
	merged := &Resolved{Config: r.Config, File: next.File, Notes: next.Notes}
	for i, v := range r.Values {
		if v.Setting.Reload {
			v = next.Values[i]
			if err := set(v.Setting.at(&merged.Config), v.Text); err != nil {
				panic(fmt.Sprintf("settings: %s: %v", v.Setting.Key, err)) // it was read before
			}
		}
		merged.Values = append(merged.Values, v)
	}
	return merged
}
