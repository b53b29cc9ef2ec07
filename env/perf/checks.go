package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// maxName bounds the names of GPU types and models, bytes, as tables of jobs do.
const maxName = 256

// name checks that a name can be used: clusters are written as V100=16,K80=16 and models
// in lists.
func (c *checks) name(name string) {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.TrimSpace(name) != name ||
		strings.ContainsAny(name, ",=") || strings.ContainsFunc(name, unicode.IsControl) {
		c.add("name", strconv.Quote(strings.ToValidUTF8(name[:min(len(name), 40)], "\uFFFD")), fmt.Sprintf("1 to %d bytes without , and = and without space at the ends", maxName))
	}
}

// join returns all problems as one error of one line, or nil.
func (c *checks) join(entry, name string) error {
	c.name(name)
	if len(c.errs) == 0 {
		return nil
	}
	lines := make([]string, len(c.errs))
	for i, err := range c.errs {
		lines[i] = err.Error()
	}
	return errors.New(entry + ": " + strings.Join(lines, "; "))
}
