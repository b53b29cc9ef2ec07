package perf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yardmaster/yardmaster/env/spelling"
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

// UnknownModel returns the error for a model that c lacks, which wraps
// ErrUnknownModel.
func (c *Catalogue) UnknownModel(name string) error {
	return unknown(ErrUnknownModel, name, c.ModelNames())
}

func (c *Catalogue) unknownGPU(name string) error { return unknown(ErrUnknownGPU, name, c.GPUNames()) }

// unknown says that a name is none of those that there are, and which comes near.
func unknown(kind error, name string, names []string) error {
	perhaps := ""
	if near := spelling.Nearest(name, names); near != "" {
		perhaps = " (perhaps " + near + ")"
	}
	return fmt.Errorf("%w %q%s, have %s", kind, name, perhaps, strings.Join(names, ", "))
}
