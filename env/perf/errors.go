package perf

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoStrategy is wrapped by the error for a job that no GPU type of the
	// cluster can run.
	ErrNoStrategy = errors.New("perf: no strategy")
	// ErrUnknownModel is wrapped by the error for a model that the catalogue lacks.
	ErrUnknownModel = errors.New("perf: unknown model")
	// ErrUnknownGPU is wrapped by the error for a GPU type that the catalogue lacks.
	ErrUnknownGPU = errors.New("perf: unknown GPU type")
)

func (c *Catalogue) unknownModel(name string) error {
	return fmt.Errorf("%w %q, have %s", ErrUnknownModel, name, strings.Join(c.ModelNames(), ", "))
}

func (c *Catalogue) unknownGPU(name string) error {
	return fmt.Errorf("%w %q, have %s", ErrUnknownGPU, name, strings.Join(c.GPUNames(), ", "))
}
