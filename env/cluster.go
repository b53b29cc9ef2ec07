package env

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Limits on what a Cluster may hold. They bound the memory a hostile message
// can make a reader allocate; real clusters are far below them.
const (
	MaxGPUTypes    = 64
	MaxNodes       = 100_000
	MaxGPUsPerNode = 1_024
	MaxQuotas      = 100_000
)

// GPUType describes one kind of GPU in a cluster.
type GPUType struct {
	Name         string  `json:"name"`
	MemoryGiB    float64 `json:"memory_gib"`
	PricePerHour float64 `json:"price_per_hour,omitempty"` // US dollars per GPU
}

// Node is a machine with some GPUs of one type.
type Node struct {
	Type int `json:"type"` // index into Cluster.Types
	GPUs int `json:"gpus"`
}

// Cluster is the static hardware. It is immutable once validated: states share
// its slices.
type Cluster struct {
	Types []GPUType `json:"types"`
	Nodes []Node    `json:"nodes"`
}

// Capacity returns the number of GPUs of each type, shape [len(c.Types)].
// The caller owns the result. It panics on a cluster that Validate refuses.
func (c *Cluster) Capacity() []int {
	capacity := make([]int, len(c.Types))
	for _, n := range c.Nodes {
		capacity[n.Type] += n.GPUs
	}
	return capacity
}

// GPUs returns the number of GPUs of all types.
func (c *Cluster) GPUs() int {
	total := 0
	for _, n := range c.Nodes {
		total += n.GPUs
	}
	return total
}

// TypeIndex returns the index of the GPU type with this name, or -1.
func (c *Cluster) TypeIndex(name string) int {
	return slices.IndexFunc(c.Types, func(t GPUType) bool { return t.Name == name })
}

// Validate reports everything that is wrong with c at once.
func (c *Cluster) Validate() error {
	var errs []error
	if len(c.Types) == 0 || len(c.Types) > MaxGPUTypes {
		errs = append(errs, fmt.Errorf("env: cluster: %d GPU types, want 1 to %d", len(c.Types), MaxGPUTypes))
	}
	seen := make(map[string]bool, len(c.Types))
	for i, t := range c.Types {
		if t.Name == "" || seen[t.Name] {
			errs = append(errs, fmt.Errorf("env: cluster: types[%d].name is %q, want a name used once", i, t.Name))
		}
		seen[t.Name] = true
		if !finiteAtLeast(t.MemoryGiB, 0) || !finiteAtLeast(t.PricePerHour, 0) {
			errs = append(errs, fmt.Errorf("env: cluster: types[%d] (%s): memory %v GiB and price %v must be finite and >= 0", i, t.Name, t.MemoryGiB, t.PricePerHour))
		}
	}
	if len(c.Nodes) == 0 || len(c.Nodes) > MaxNodes {
		errs = append(errs, fmt.Errorf("env: cluster: %d nodes, want 1 to %d", len(c.Nodes), MaxNodes))
		return errors.Join(errs...)
	}
	for i, n := range c.Nodes {
		if n.Type < 0 || n.Type >= len(c.Types) {
			errs = append(errs, fmt.Errorf("env: cluster: nodes[%d].type is %d, want 0 to %d", i, n.Type, len(c.Types)-1))
		}
		if n.GPUs < 1 || n.GPUs > MaxGPUsPerNode {
			errs = append(errs, fmt.Errorf("env: cluster: nodes[%d].gpus is %d, want 1 to %d", i, n.GPUs, MaxGPUsPerNode))
		}
		if len(errs) >= MaxReported {
			break
		}
	}
	return errors.Join(errs...)
}

// MaxReported is from how many problems on one Validate looks for no more of them, so
// that a message with a million bad entries does not become an error of a million lines.
const MaxReported = 10

// finiteAtLeast reports whether low <= x < +Inf; it is false for NaN.
func finiteAtLeast(x, low float64) bool { return x >= low && !math.IsInf(x, 1) }
