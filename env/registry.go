package env

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Registry holds constructors of environments by id. The zero value is empty
// and ready to use. There is no global one: a program fills its own.
type Registry[C any] struct {
	constructors map[string]func(C) (Env, error)
}

// Register adds a constructor; an id is Name-vN. It panics if the id is taken,
// which is a fault of the program.
func (r *Registry[C]) Register(id string, construct func(C) (Env, error)) {
	if _, taken := r.constructors[id]; taken {
		panic("env: id " + id + " is registered twice")
	}
	if r.constructors == nil {
		r.constructors = make(map[string]func(C) (Env, error))
	}
	r.constructors[id] = construct
}

// IDs returns the registered ids in ascending order.
func (r *Registry[C]) IDs() []string {
	return slices.Sorted(maps.Keys(r.constructors))
}

// Make constructs the environment with this id.
func (r *Registry[C]) Make(id string, config C) (Env, error) {
	construct, ok := r.constructors[id]
	if !ok {
		return nil, fmt.Errorf("env: no environment %q, have %s", id, strings.Join(r.IDs(), ", "))
	}
	e, err := construct(config)
	if err != nil {
		return nil, fmt.Errorf("env: make %s: %w", id, err)
	}
	return e, nil
}
