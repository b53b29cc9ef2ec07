package gavel

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yardmaster/yardmaster/datasets"
)

// Class is what the oracle tells jobs apart by.
type Class struct {
	Model string
	Batch int // samples per step and worker; 0 where Gavel's name has none
	GPUs  int
}

// String returns the name in Gavel's words and the GPUs, "LM (batch size 5) x2".
func (c Class) String() string { return c.name() + " x" + strconv.Itoa(c.GPUs) }

// name returns the job type as Gavel writes it.
func (c Class) name() string {
	if c.Batch == 0 {
		return c.Model
	}
	return fmt.Sprintf("%s (batch size %d)", c.Model, c.Batch)
}

// Compare orders classes by model, batch and GPUs.
func (c Class) Compare(d Class) int {
	return cmp.Or(cmp.Compare(c.Model, d.Model), cmp.Compare(c.Batch, d.Batch), cmp.Compare(c.GPUs, d.GPUs))
}

// parseName splits "LM (batch size 5)" into model and batch size, and "A3C"
// into a model and 0.
func parseName(s string) (string, int, error) {
	model, rest, found := strings.Cut(s, " (batch size ")
	if model == "" || len(model) > datasets.MaxName || !utf8.ValidString(model) {
		return "", 0, errors.New("want a model, as in \"LM (batch size 5)\" or \"A3C\"")
	}
	if !found {
		if strings.ContainsAny(s, "()'\"") {
			return "", 0, errors.New("want the form \"LM (batch size 5)\" or \"A3C\"")
		}
		return model, 0, nil
	}
	digits, closed := strings.CutSuffix(rest, ")")
	batch, err := strconv.Atoi(digits)
	if !closed || err != nil || batch < 1 || batch > datasets.MaxBatch {
		return "", 0, errors.New("want a batch size of 1 to 16777216 in brackets, as in \"LM (batch size 5)\"")
	}
	return model, batch, nil
}

// parseKey reads a key of the oracle, a Python tuple such as
// "('LM (batch size 5)', 2)".
func parseKey(s string) (Class, error) {
	bad := errors.New("want a tuple such as \"('LM (batch size 5)', 2)\"")
	inner, ok := strings.CutPrefix(s, "('")
	name, rest, cut := strings.Cut(inner, "', ")
	digits, closed := strings.CutSuffix(rest, ")")
	if !ok || !cut || !closed {
		return Class{}, bad
	}
	gpus, err := strconv.Atoi(digits)
	if err != nil || gpus < 1 || gpus > datasets.MaxGPUs {
		return Class{}, bad
	}
	model, batch, err := parseName(name)
	if err != nil {
		return Class{}, err
	}
	return Class{model, batch, gpus}, nil
}
