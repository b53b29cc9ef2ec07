package importers

import (
	"strconv"
	"strings"
)

// Models gives the models of a source the names of the performance catalogue.
// A name is mapped only where the catalogue has the same network with inputs of
// about that size: a sample must be the same work. Others keep the source's
// name and are warned about; a catalogue with entries of these names can be
// used with them. It is not safe for concurrent use.
type Models struct {
	known   map[string]string // name in the source to name in the catalogue
	unknown map[string]string // name in the source to its warning
}

// NewModels returns the names of a source; known maps some of them.
func NewModels(known map[string]string) *Models {
	return &Models{known: known, unknown: make(map[string]string)}
}

// WarnModels is what the warning about the models without one of their own says.
const WarnModels = "more models that are not in the performance catalogue: kept by the source's names"

// maxWarned bounds the models that have a warning of their own.
const maxWarned = 32

// Name returns the name that s goes by and, where that is not in the
// catalogue, a warning.
func (m *Models) Name(s string) (name, warning string) {
	if known, ok := m.known[s]; ok {
		return known, ""
	}
	if _, ok := catalogue().Model(s); ok {
		return s, ""
	}
	if warning, ok := m.unknown[s]; ok {
		return s, warning
	}
	if len(m.unknown) >= maxWarned {
		return s, WarnModels
	}
	warning = "model " + strconv.Quote(s) + " is not in the performance catalogue: kept by the source's name"
	m.unknown[strings.Clone(s)] = warning
	return s, warning
}
