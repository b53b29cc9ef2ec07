package perf

import (
	"errors"
	"fmt"
	"math"
)

// checks gathers what is wrong with one entry of a catalogue.
type checks struct {
	errs []error
}

// largest bounds every figure of a catalogue, so that no product of them
// overflows. It is far beyond any hardware or model.
const largest = 1e15

func (c *checks) add(field string, value any, want string) {
	c.errs = append(c.errs, fmt.Errorf("%s is %v, want %s", field, value, want))
}

func (c *checks) positive(field string, x float64) {
	if !(x > 0 && x <= largest) {
		c.add(field, x, "> 0 and finite")
	}
}

func (c *checks) atLeastZero(field string, x float64) {
	if !(x >= 0 && x <= largest) {
		c.add(field, x, ">= 0 and finite")
	}
}

func (c *checks) fraction(field string, x float64) {
	if math.IsNaN(x) || x <= 0 || x > 1 {
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
	text := ""
	for i, err := range c.errs {
		if i > 0 {
			text += "; "
		}
		text += err.Error()
	}
	return errors.New(entry + ": " + text)
}
