package perf

import (
	"bytes"
	_ "embed" // the two files below
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/yardmaster/yardmaster/env/strictyaml"
)

//go:embed gpus.yaml
var gpusYAML []byte

//go:embed models.yaml
var modelsYAML []byte

// Catalogue holds GPU types and models by name. It is safe for concurrent
// reading, not for reading while Extend runs.
type Catalogue struct {
	gpus   map[string]GPU
	models map[string]Model
}

// file is the form of a catalogue's YAML.
type file struct {
	GPUs   []GPU   `yaml:"gpus"`
	Models []Model `yaml:"models"`
}

// MaxFileSize bounds the size of a file that Extend reads, bytes: a few
// hundred entries.
const MaxFileSize = 128 << 10

// builtin reads the embedded files once. They are part of the program, so a
// fault in them is a fault of the program; a test reads them too.
var builtin = sync.OnceValue(func() *Catalogue {
	c := &Catalogue{}
	err := errors.Join(
		c.Extend(bytes.NewReader(gpusYAML), "gpus.yaml"),
		c.Extend(bytes.NewReader(modelsYAML), "models.yaml"),
	)
	if err != nil {
		panic(err)
	}
	return c
})

// Default returns a new copy of the catalogue that comes with the program.
func Default() *Catalogue { return builtin().clone() }

func (c *Catalogue) clone() *Catalogue {
	return &Catalogue{gpus: maps.Clone(c.gpus), models: maps.Clone(c.models)}
}

// Unfitted returns a copy of c in which the figures that were fitted to
// measurements are as they were before: what a fit to other measurements starts
// from, so that it remembers nothing of those.
func (c *Catalogue) Unfitted() *Catalogue {
	u := c.clone()
	for name, g := range u.gpus {
		u.gpus[name] = g.unfitted()
	}
	for name, m := range u.models {
		u.models[name] = m.unfitted()
	}
	return u
}

// DataParallel returns a copy of c in which no model is divided: neither tensor nor
// pipeline parallelism.
func (c *Catalogue) DataParallel() *Catalogue {
	u := c.clone()
	for name, m := range u.models {
		m.MaxTensor, m.MaxPipeline = 1, 1
		u.models[name] = m
	}
	return u
}

// GPUNames returns the names of the GPU types in ascending order.
func (c *Catalogue) GPUNames() []string { return slices.Sorted(maps.Keys(c.gpus)) }

// ModelNames returns the names of the models in ascending order.
func (c *Catalogue) ModelNames() []string { return slices.Sorted(maps.Keys(c.models)) }

// GPU returns a copy of the GPU type with this name.
func (c *Catalogue) GPU(name string) (*GPU, bool) {
	g, ok := c.gpus[name]
	return &g, ok
}

// Model returns a copy of the model with this name; its Batches are shared.
func (c *Catalogue) Model(name string) (*Model, bool) {
	m, ok := c.models[name]
	return &m, ok
}

// Extend reads GPU types and models in the YAML form of the embedded files and
// adds them; an entry whose name is known replaces the old one. Unknown keys
// are errors. name is that of the file, for messages. On an error the
// catalogue is as it was.
func (c *Catalogue) Extend(r io.Reader, name string) error {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileSize+1))
	if err != nil {
		return fmt.Errorf("perf: read %s: %w", name, err)
	}
	if len(data) > MaxFileSize {
		return fmt.Errorf("perf: %s: more than %d bytes, want a catalogue of GPU types and models", name, MaxFileSize)
	}
	f, err := parse(data)
	if err != nil {
		return fmt.Errorf("perf: %s: %w", name, err)
	}
	next := c.clone()
	if err := next.add(f); err != nil {
		return fmt.Errorf("perf: %s: %w", name, err)
	}
	*c = *next
	return nil
}

// parse reads one YAML document.
func parse(data []byte) (*file, error) {
	f := new(file)
	if err := strictyaml.Decode(data, f); errors.Is(err, strictyaml.ErrEmpty) {
		return nil, errors.New("empty, want gpus or models")
	} else if err != nil {
		return nil, err
	}
	if len(f.GPUs)+len(f.Models) == 0 {
		return nil, errors.New("no gpus and no models, want some")
	}
	return f, nil
}

// add validates all entries of f and puts them into c.
func (c *Catalogue) add(f *file) error {
	if c.gpus == nil {
		c.gpus, c.models = make(map[string]GPU), make(map[string]Model)
	}
	var errs []error
	seen := make(map[string]bool)
	once := func(kind, name string) {
		if seen[kind+name] {
			errs = append(errs, fmt.Errorf("%s %q occurs twice", kind, name))
		}
		seen[kind+name] = true
	}
	for _, g := range f.GPUs {
		g.fillDefaults()
		errs = append(errs, g.validate())
		once("gpu", g.Name)
		c.gpus[g.Name] = g
	}
	for _, m := range f.Models {
		m.fillDefaults()
		errs = append(errs, m.validate())
		once("model", m.Name)
		c.models[m.Name] = m
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	return errors.Join(errs[:min(len(errs), maxReported)]...)
}
