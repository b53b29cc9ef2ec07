package mlp

import (
	"errors"
	"fmt"
	"slices"
)

// MaxDim bounds every size of a network.
const MaxDim = 4096

// Dims are the sizes of a network.
type Dims struct {
	Global  int   // G, features of the decision point
	Actions int   // A, the number of candidates of every observation
	Hidden  []int // widths of the hidden layers, of policy and critic each; default 64, 64
}

func (d *Dims) fillDefaults() {
	if d.Hidden == nil {
		d.Hidden = []int{64, 64}
	}
}

func (d *Dims) validate() error {
	var errs []error
	check := func(name string, n int) {
		if n < 1 || n > MaxDim {
			errs = append(errs, fmt.Errorf("mlp: dims: %s is %d, want 1 to %d", name, n, MaxDim))
		}
	}
	check("Global", d.Global)
	check("Actions", d.Actions)
	for i, n := range d.Hidden {
		check(fmt.Sprintf("Hidden[%d]", i), n)
	}
	return errors.Join(errs...)
}

// widths returns the numbers of values between the layers of a perceptron with
// so many outputs.
func (d *Dims) widths(outputs int) []int {
	return slices.Concat([]int{d.Global}, d.Hidden, []int{outputs})
}

// size returns the number of parameters of a perceptron with these widths.
func size(widths []int) int {
	n := 0
	for i := range len(widths) - 1 {
		n += (widths[i] + 1) * widths[i+1]
	}
	return n
}
