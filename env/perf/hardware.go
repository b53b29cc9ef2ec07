package perf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// maxHardware bounds the kinds of clusters that a cache knows at a time; a
// program rarely sees more than one.
const maxHardware = 64

// maxClasses bounds the classes of jobs cached per kind of cluster.
const maxClasses = 1 << 16

// hardware is what the strategies of jobs depend on in a cluster.
type hardware struct {
	types      []typeHardware
	strategies map[class][]env.Strategy
}

// typeHardware is one GPU type of a cluster.
type typeHardware struct {
	GPU
	memory   float64 // of one GPU, bytes
	capacity int
	nodes    []int // GPUs of its nodes, descending
}

// nodesFor returns the fewest nodes that hold n GPUs, n at most the capacity.
func (t *typeHardware) nodesFor(n int) int {
	used := 0
	for ; n > 0; used++ {
		n -= t.nodes[used]
	}
	return used
}

func newHardware(c *env.Cluster, catalogue *Catalogue) (*hardware, error) {
	h := &hardware{types: make([]typeHardware, len(c.Types)), strategies: make(map[class][]env.Strategy)}
	for i, t := range c.Types {
		g, ok := catalogue.GPU(t.Name)
		if !ok {
			return nil, catalogue.unknownGPU(t.Name)
		}
		h.types[i].GPU = *g
		h.types[i].memory = g.MemoryGiB * gib
		if t.MemoryGiB > 0 { // what the cluster says of itself wins
			h.types[i].memory = t.MemoryGiB * gib
		}
	}
	for i, n := range c.Nodes {
		if n.Type < 0 || n.Type >= len(h.types) || n.GPUs < 1 {
			return nil, fmt.Errorf("perf: cluster: nodes[%d] has type %d and %d GPUs, want a type of the cluster and >= 1", i, n.Type, n.GPUs)
		}
		t := &h.types[n.Type]
		t.capacity += n.GPUs
		t.nodes = append(t.nodes, n.GPUs)
	}
	for i := range h.types {
		slices.SortFunc(h.types[i].nodes, func(a, b int) int { return cmp.Compare(b, a) })
	}
	return h, nil
}

// equal reports whether jobs have the same strategies on h and d.
func (h *hardware) equal(d *hardware) bool {
	return slices.EqualFunc(h.types, d.types, func(a, b typeHardware) bool {
		return a.Name == b.Name && a.memory == b.memory && slices.Equal(a.nodes, b.nodes)
	})
}

// cache finds the hardware of a cluster. Clusters are immutable and usually
// one and the same, so that a comparison of slices' addresses comes first; the
// cache holds the slices, so no other cluster can get their addresses.
type cache struct {
	last    env.Cluster
	current *hardware
	known   []*hardware
}

func (c *cache) hardware(cluster *env.Cluster, catalogue *Catalogue) (*hardware, error) {
	if c.current != nil && same(c.last.Types, cluster.Types) && same(c.last.Nodes, cluster.Nodes) {
		return c.current.bounded(), nil
	}
	h, err := newHardware(cluster, catalogue)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(c.known, h.equal); i >= 0 {
		h = c.known[i]
	} else if len(c.known) < maxHardware {
		c.known = append(c.known, h)
	} else {
		c.known = []*hardware{h}
	}
	c.last, c.current = *cluster, h
	return h.bounded(), nil
}

// bounded forgets all classes where there are too many.
func (h *hardware) bounded() *hardware {
	if len(h.strategies) >= maxClasses {
		clear(h.strategies)
	}
	return h
}

// same reports whether a and b are the same memory.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
