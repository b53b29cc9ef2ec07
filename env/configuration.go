package env

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Configuration is a base scheduler and the values of its knobs.
type Configuration struct {
	Scheduler string `json:"scheduler"` // name in the registry of package agent
	Knobs     []Knob `json:"knobs"`     // ordered by Name, names unique
}

// Knob is one named setting. A scalar has one value; a vector, such as the
// queue thresholds of Tiresias, has any number.
type Knob struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`
}

// Limits of a Configuration; see [MaxNodes].
const (
	MaxKnobs      = 64
	MaxKnobValues = 64
)

// Knob returns the values of the knob with this name.
func (c *Configuration) Knob(name string) ([]float64, bool) {
	for i := range c.Knobs {
		if c.Knobs[i].Name == name {
			return c.Knobs[i].Values, true
		}
	}
	return nil, false
}

// Equal reports whether c and d are the same configuration.
func (c Configuration) Equal(d Configuration) bool {
	return c.Scheduler == d.Scheduler && slices.EqualFunc(c.Knobs, d.Knobs, func(a, b Knob) bool {
		return a.Name == b.Name && slices.Equal(a.Values, b.Values)
	})
}

// String returns a readable form such as "tiresias(thresholds=3600,7200)".
func (c Configuration) String() string {
	var b strings.Builder
	b.WriteString(c.Scheduler)
	b.WriteByte('(')
	for i, k := range c.Knobs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(k.Name)
		b.WriteByte('=')
		for n, v := range k.Values {
			if n > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%g", v)
		}
	}
	b.WriteByte(')')
	return b.String()
}

// Validate checks the form; the scheduler that takes c checks the meaning.
func (c *Configuration) Validate() error {
	var errs []error
	if c.Scheduler == "" {
		errs = append(errs, errors.New("env: configuration: scheduler is empty, want a name"))
	}
	if len(c.Knobs) > MaxKnobs {
		return fmt.Errorf("env: configuration: %d knobs, want at most %d", len(c.Knobs), MaxKnobs)
	}
	for i, k := range c.Knobs {
		if k.Name == "" || i > 0 && k.Name <= c.Knobs[i-1].Name {
			errs = append(errs, fmt.Errorf("env: configuration: knobs[%d].name is %q, want names in ascending order", i, k.Name))
		}
		if len(k.Values) > MaxKnobValues {
			errs = append(errs, fmt.Errorf("env: configuration: knob %s has %d values, want at most %d", k.Name, len(k.Values), MaxKnobValues))
		}
		for _, v := range k.Values {
			if !finiteAtLeast(v, -1e300) {
				errs = append(errs, fmt.Errorf("env: configuration: knob %s holds %v, want finite values", k.Name, v))
			}
		}
	}
	return errors.Join(errs...)
}
