package runfile

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Allowed is the set of values that a setting may have.
type Allowed struct {
	text string // completes "want …"
	has  func(v reflect.Value) bool
	why  func(v reflect.Value) error // says more of a value that is not in it; may be nil
}

func (a Allowed) String() string { return a.text }

// anything is whatever the type of the setting can hold.
func anything(text string) Allowed {
	return Allowed{text: text, has: func(reflect.Value) bool { return true }}
}

// interval is a set of finite numbers.
func interval(text string, in func(x float64) bool) Allowed {
	return Allowed{text: text, has: func(v reflect.Value) bool {
		x := number(v)
		return !math.IsNaN(x) && !math.IsInf(x, 0) && in(x)
	}}
}

// number returns a setting that is a number.
func number(v reflect.Value) float64 {
	switch {
	case v.CanFloat():
		return v.Float()
	case v.CanUint():
		return float64(v.Uint())
	default:
		return float64(v.Int())
	}
}

// Sets of numbers. positive and open intervals leave out their ends.
var (
	count    = interval("1 or more", func(x float64) bool { return x >= 1 })
	orNone   = interval("0 or more", func(x float64) bool { return x >= 0 })
	positive = interval("more than 0", func(x float64) bool { return x > 0 })
	share    = interval("more than 0, at most 1", func(x float64) bool { return x > 0 && x <= 1 })
	fraction = interval("more than 0, less than 1", func(x float64) bool { return x > 0 && x < 1 })
	width    = interval("1 to 1024", func(x float64) bool { return x >= 1 && x <= 1024 }) // nn.MaxDim
	onOff    = anything("true or false")
)

// atLeast and from are intervals with their ends.
func atLeast(text string, low float64) Allowed {
	return interval(text, func(x float64) bool { return x >= low })
}

func from(text string, low, high float64) Allowed {
	return interval(text, func(x float64) bool { return x >= low && x <= high })
}

// lasting is a time of at least this.
func lasting(least time.Duration) Allowed {
	text := "a time of " + short(least) + " or more, as in 90s or 1h30m"
	if least == 0 {
		text = "0s or a time, as in 90s or 1h30m"
	}
	return atLeast(text, float64(least))
}

// lastingFrom is a time between these, ends included.
func lastingFrom(least, most time.Duration) Allowed {
	return from("a time of "+short(least)+" to "+short(most)+", as in 90s or 1h30m", float64(least), float64(most))
}

// oneOf is a set of names. The empty one stands for the first that is listed.
func oneOf(names ...string) Allowed {
	quoted := slices.Clone(names)
	for i := range quoted {
		if quoted[i] == "" {
			quoted[i] = `""`
		}
	}
	return Allowed{text: listed(quoted), has: func(v reflect.Value) bool { return slices.Contains(names, plain(v)) }}
}

// listed writes names as in "a, b or c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
