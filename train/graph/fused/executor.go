package fused

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// Executor runs a graph of this package's operations and stock ones in two
// parts: forward, everything that does not depend on one input, and backward,
// the rest. With it an operation costs its own time; Gorgonia's TapeMachine
// locks a thread and starts a goroutine for each run.
type Executor struct {
	values            []gorgonia.Value // by node
	forward, backward []step
	inputs            []input
	index             map[*gorgonia.Node]int
}

// input is a node whose value the caller sets.
type input struct {
	node *gorgonia.Node
	at   int
}

// step computes one node.
type step struct {
	op      gorgonia.Op
	in      []int
	at      int
	args    []gorgonia.Value
	reusing gorgonia.UsePreallocDoer // nil if op owns or allocates its result
	late    bool                     // depends on the input that parts the graph
}

// NewExecutor returns an executor of what keep and late need, where late is the
// input that the backward part waits for.
func NewExecutor(g *gorgonia.ExprGraph, late *gorgonia.Node, keep gorgonia.Nodes) (*Executor, error) {
	sub := g.ExactSubgraphRoots(keep...)
	sorted, err := gorgonia.Sort(sub)
	if err != nil {
		return nil, fmt.Errorf("fused: sort the graph: %w", err)
	}
	e := &Executor{index: make(map[*gorgonia.Node]int, len(sorted))}
	waits := make([]bool, 0, len(sorted))
	for i := len(sorted) - 1; i >= 0; i-- {
		n := sorted[i]
		at := len(e.values)
		e.index[n] = at
		e.values = append(e.values, nil)
		if n.Op() == nil {
			e.inputs = append(e.inputs, input{n, at})
			waits = append(waits, n == late)
			continue
		}
		s := newStep(n, at)
		for children := sub.From(n.ID()); children.Next(); {
			child := e.index[children.Node().(*gorgonia.Node)]
			s.in = append(s.in, child)
			s.late = s.late || waits[child]
		}
		s.args = make([]gorgonia.Value, len(s.in))
		waits = append(waits, s.late)
		if s.late {
			e.backward = append(e.backward, s)
		} else {
			e.forward = append(e.forward, s)
		}
	}
	return e, nil
}

func newStep(n *gorgonia.Node, at int) step {
	s := step{op: n.Op(), at: at}
	if _, ours := n.Op().(*operation); !ours {
		s.reusing, _ = n.Op().(gorgonia.UsePreallocDoer)
	}
	return s
}

// Forward computes what does not depend on the late input.
func (e *Executor) Forward() error {
	for _, in := range e.inputs {
		e.values[in.at] = in.node.Value()
	}
	return e.run(e.forward)
}

// Backward computes the rest, after Forward.
func (e *Executor) Backward() error { return e.run(e.backward) }

func (e *Executor) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		for k, at := range s.in {
			s.args[k] = e.values[at]
		}
		var value gorgonia.Value
		var err error
		if last := e.values[s.at]; s.reusing != nil && last != nil {
			value, err = s.reusing.UsePreallocDo(last, s.args...)
		} else {
			value, err = s.op.Do(s.args...)
		}
		if err != nil {
			return fmt.Errorf("fused: run %v: %w", s.op, err)
		}
		e.values[s.at] = value
	}
	return nil
}

// Data returns the values of a node as of the last run, row-major. They are
// borrowed until the next one.
func (e *Executor) Data(n *gorgonia.Node) ([]float32, error) {
	at, known := e.index[n]
	if !known || e.values[at] == nil {
		return nil, fmt.Errorf("fused: node %v has not been computed", n)
	}
	data, err := floats(e.values[at])
	if err != nil {
		return nil, fmt.Errorf("fused: node %v: %w", n, err)
	}
	return data, nil
}
