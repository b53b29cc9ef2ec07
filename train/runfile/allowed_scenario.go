package runfile

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/env/encode"
	"github.com/yardmaster/yardmaster/env/perf"
)

// own says that a name may also be one of the user's: whether it is known shows when
// all that says so was read (File.CheckNames).
const own = " and those of `catalogue`"

// gpus are clusters of GPU types that a catalogue has.
func gpus() Allowed {
	parse := func(v reflect.Value) error {
		_, err := perf.Default().ParseCluster(v.String(), 1)
		if errors.Is(err, perf.ErrUnknownGPU) {
			return nil
		}
		return err
	}
	return Allowed{
		text: "as in V100=16,P100=16, of " + strings.Join(perf.Default().GPUNames(), ", ") + own, why: parse,
		has: func(v reflect.Value) bool { return parse(v) == nil },
	}
}

// modelNames are lists of models that a catalogue has.
func modelNames() Allowed {
	return Allowed{text: "of " + strings.Join(perf.Default().ModelNames(), ", ") + own, has: named}
}

// paths are lists of files.
func paths() Allowed { return Allowed{text: "a list of paths", has: named} }

// named reports whether a list has no empty text.
func named(list reflect.Value) bool {
	return all(list, func(x reflect.Value) bool { return x.String() != "" })
}

// split are shares of a whole.
func split() Allowed {
	return Allowed{text: "three shares above 0 that sum to 1", has: func(v reflect.Value) bool {
		sum := 0.0
		positive := all(v, func(x reflect.Value) bool { sum += x.Float(); return x.Float() > 0 })
		return positive && math.Abs(sum-1) <= 1e-9
	}}
}

// parts are lists of what a GPU may be cut into.
func parts() Allowed {
	return Allowed{text: "of 2, 4 and 8", has: func(v reflect.Value) bool {
		return all(v, func(x reflect.Value) bool { return slices.Contains([]int64{2, 4, 8}, x.Int()) })
	}}
}

// between are two numbers within a range, or two zeros.
func between(text string, low, high float64) Allowed {
	return Allowed{text: text, has: func(v reflect.Value) bool {
		return v.IsZero() || all(v, func(x reflect.Value) bool { return x.Float() >= low && x.Float() <= high })
	}}
}

// all reports whether every item of a list is good.
func all(list reflect.Value, good func(x reflect.Value) bool) bool {
	for i := range list.Len() {
		if !good(list.Index(i)) {
			return false
		}
	}
	return true
}

var anyNumber = interval("a finite number", func(float64) bool { return true })

// weights are maps from columns of the candidates to finite numbers.
func weights() Allowed {
	columns := columns()
	return Allowed{text: "finite numbers by column, of " + strings.Join(columns, ", "), has: func(v reflect.Value) bool {
		for _, k := range v.MapKeys() {
			if !slices.Contains(columns, k.String()) || !anyNumber.has(v.MapIndex(k)) {
				return false
			}
		}
		return true
	}}
}

// columns returns the names of the candidates' columns.
func columns() []string {
	var names []string
	for _, f := range encode.JobStrategySpace().Candidate {
		names = append(names, f.Name)
	}
	return names
}
