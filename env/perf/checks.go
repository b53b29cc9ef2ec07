package perf

import (
	"errors"
	"fmt"
	"strings"
)

// checks gathers what is wrong with one entry of a catalogue.
type checks struct {
	errs []error
}

// Figures of a catalogue that are not 0 lie between these bounds, far beyond
// any hardware or model, so that no product of them overflows or vanishes.
const (
	smallest = 1e-12
	largest  = 1e15
)

func (c *checks) add(field string, value any, want string) {
	c.errs = append(c.errs, fmt.Errorf("%s is %v, want %s", field, value, want))
}

func (c *checks) positive(field string, x float64) {
	if !(x >= smallest && x <= largest) {
		c.add(field, x, fmt.Sprintf("%g to %g", smallest, largest))
	}
}

func (c *checks) atLeastZero(field string, x float64) {
	if x != 0 && !(x >= smallest && x <= largest) {
		c.add(field, x, fmt.Sprintf("0 or %g to %g", smallest, largest))
	}
}

func (c *checks) fraction(field string, x float64) {
	if !(x >= smallest && x <= 1) {
		c.add(field, x, "> 0 and <= 1")
	}
}

func (c *checks) whole(field string, n, low int) {
	if n < low || n > 1<<30 {
		c.add(field, n, fmt.Sprintf("%d to %d", low, 1<<30))
	}
}

// join returns all problems as one error of one line, or nil.
func (c *checks) join(entry, name string) error {
	if name == "" {
		c.add("name", `""`, "a name")
	}
	if len(c.errs) == 0 {
		return nil
	}
	lines := make([]string, len(c.errs))
	for i, err := range c.errs {
		lines[i] = err.Error()
	}
	return errors.New(entry + ": " + strings.Join(lines, "; "))
}
