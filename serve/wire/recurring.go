package wire

import (
	"bytes"
	"reflect"
	"sync"

	"github.com/yardmaster/yardmaster/env"
)

// recurringTypes are the elements of arrays that come again in every state: a
// job keeps its strategies as long as it lives, a cluster its nodes. They make up
// most of a message.
var recurringTypes = map[reflect.Type]bool{
	reflect.TypeFor[env.Strategy](): true,
	reflect.TypeFor[env.Node]():     true,
}

// Bounds of the texts that are remembered: of one, and of all together.
const (
	maxRecurring     = 64 << 10
	maxRecurringText = 16 << 20
)

// recurring remembers arrays by their text, so that what was read once is only
// compared. What it returns is shared between states, as strategies and nodes are
// anyway, and must not be modified. It is safe for concurrent use.
type recurring struct {
	mu    sync.RWMutex
	array map[string]reflect.Value
	bytes int
}

// find returns the array whose text data begins with, if it is known, and the
// length of that text. No array's text is the beginning of another's, so it is
// enough to know where this one would end: strategies and nodes hold no arrays.
func (r *recurring) find(data []byte) (v reflect.Value, n int, ok bool) {
	end := bytes.IndexByte(data[:min(len(data), maxRecurring)], ']')
	if end < 0 {
		return v, 0, false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	v, ok = r.array[string(data[:end+1])]
	return v, end + 1, ok
}

// keep remembers the array v that was read from text.
func (r *recurring) keep(text []byte, v reflect.Value) {
	if len(text) > maxRecurring {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes+len(text) > maxRecurringText {
		r.array, r.bytes = nil, 0 // what still recurs is soon back
	}
	if r.array == nil {
		r.array = make(map[string]reflect.Value)
	}
	if _, again := r.array[string(text)]; again {
		return
	}
	// A copy of the header, with no room to append to what is shared.
	kept := reflect.New(v.Type()).Elem()
	kept.Set(v.Slice3(0, v.Len(), v.Len()))
	r.array[string(text)] = kept
	r.bytes += len(text)
}
