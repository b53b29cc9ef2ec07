package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Registry holds policies by name. The zero value is empty and ready to use.
// There is no global one: a program fills its own.
type Registry struct {
	entries map[string]Entry
}

// Entry is a registered policy.
type Entry struct {
	Name  string
	About string // one line
	New   func() (Policy, error)
}

// Register adds e. It panics if the name is taken, which is a fault of the
// program.
func (r *Registry) Register(e Entry) {
	if _, taken := r.entries[e.Name]; taken {
		panic("agent: policy " + e.Name + " is registered twice")
	}
	if r.entries == nil {
		r.entries = make(map[string]Entry)
	}
	r.entries[e.Name] = e
}

// Entries returns all entries in ascending order of their names.
func (r *Registry) Entries() []Entry {
	entries := make([]Entry, 0, len(r.entries))
	for _, name := range slices.Sorted(maps.Keys(r.entries)) {
		entries = append(entries, r.entries[name])
	}
	return entries
}

// New constructs the policy with this name.
func (r *Registry) New(name string) (Policy, error) {
	e, ok := r.entries[name]
	if !ok {
		return nil, fmt.Errorf("agent: no policy %q, have %s", name, strings.Join(slices.Sorted(maps.Keys(r.entries)), ", "))
	}
	p, err := e.New()
	if err != nil {
		return nil, fmt.Errorf("agent: new %s: %w", name, err)
	}
	return p, nil
}
