package fused

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// graph is a small network of one operation.
type graph struct {
	in    []Matrix
	out   *gorgonia.Node
	d     Matrix
	grads gorgonia.Nodes
	wrt   []int // indices of in
	g     *gorgonia.ExprGraph
}

// build makes the graph of an operation on random inputs of these shapes and
// differentiates it with respect to the inputs wrt.
func build(t *testing.T, shapes [][2]int, wrt []int, op func(in gorgonia.Nodes) *gorgonia.Node) *graph {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(shapes)), uint64(shapes[0][0])))
	n := &graph{g: gorgonia.NewGraph(), wrt: wrt}
	var nodes, at gorgonia.Nodes
	for i, s := range shapes {
		m := NewMatrix(n.g, string(rune('a'+i)), s[0], s[1])
		for k := range m.Data {
			m.Data[k] = float32(r.NormFloat64())
		}
		n.in, nodes = append(n.in, m), append(nodes, m.Node)
	}
	n.out = op(nodes)
	rows, cols := size(n.out)
	n.d = NewMatrix(n.g, "d", rows, cols)
	for k := range n.d.Data {
		n.d.Data[k] = float32(r.NormFloat64())
	}
	for _, i := range wrt {
		at = append(at, nodes[i])
	}
	var err error
	if n.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{n.out}, gorgonia.Nodes{n.d.Node}, at); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *graph) executor(t *testing.T) *Executor {
	t.Helper()
	e, err := NewExecutor(n.g, n.d.Node, append(gorgonia.Nodes{n.out}, n.grads...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// loss returns Σ d·out over the live values.
func (n *graph) loss(t *testing.T, e *Executor, live int) float64 {
	t.Helper()
	if err := e.Forward(); err != nil {
		t.Fatal(err)
	}
	out, err := e.Data(n.out)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, d := range n.d.Data[:live] {
		sum += float64(d) * float64(out[i])
	}
	return sum
}

// gradients runs the whole graph and returns copies of the gradients.
func (n *graph) gradients(t *testing.T, e *Executor) [][]float32 {
	t.Helper()
	if err := e.Forward(); err != nil {
		t.Fatal(err)
	}
	if err := e.Backward(); err != nil {
		t.Fatal(err)
	}
	all := make([][]float32, len(n.grads))
	for i, g := range n.grads {
		data, err := e.Data(g)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = slices.Clone(data)
	}
	return all
}

const rows, rounds = 12, 4 // live: 10 rows in 3 rounds

func layout() *Layout {
	l := &Layout{}
	l.Reset()
	l.Add([]bool{true, false, true, true})
	l.Add([]bool{false, false})
	l.Add([]bool{true, true, false, true})
	return l
}

// operations are all of the package, with shapes of their arguments, those that
// have a derivative, and how many values of the result are live.
func operations() map[string]struct {
	shapes [][2]int
	wrt    []int
	live   int
	apply  func(in gorgonia.Nodes) *gorgonia.Node
} {
	type entry = struct {
		shapes [][2]int
		wrt    []int
		live   int
		apply  func(in gorgonia.Nodes) *gorgonia.Node
	}
	l := layout()
	all := map[string]entry{
		"linear of two": {[][2]int{{rows, 3}, {3, 5}, {rows, 2}, {2, 5}, {1, 5}}, []int{1, 3, 4}, 50, func(in gorgonia.Nodes) *gorgonia.Node {
			return Linear2(in[0], in[1], in[2], in[3], in[4], kernel.Tanh, l.Rows)
		}},
		"spread": {[][2]int{{rows, 3}, {3, 5}, {rounds, 5}}, []int{1, 2}, 50, func(in gorgonia.Nodes) *gorgonia.Node {
			return Spread(in[0], in[1], in[2], l)
		}},
		"context": {[][2]int{{rows, 3}, {3, 5}, {3, 5}, {1, 5}}, []int{0, 1, 2, 3}, 50, func(in gorgonia.Nodes) *gorgonia.Node {
			return Context(in[0], Pool(in[0], rounds, l), in[1], in[2], in[3], l)
		}},
		"head of two": {[][2]int{{rows, 3}, {3, 1}, {rows, 2}, {2, 1}}, []int{0, 1, 3}, 10, func(in gorgonia.Nodes) *gorgonia.Node {
			return Head2(in[0], in[1], in[2], in[3], l.Rows)
		}},
		"log-softmax": {[][2]int{{rows, 1}}, []int{0}, 10, func(in gorgonia.Nodes) *gorgonia.Node { return LogSoftmax(in[0], l) }},
		"layer norm": {[][2]int{{rows, 7}, {1, 7}, {1, 7}}, []int{0, 1, 2}, 70, func(in gorgonia.Nodes) *gorgonia.Node {
			return LayerNorm(in[0], in[1], in[2], l.Rows)
		}},
		"mean": {[][2]int{{rows, 5}}, []int{0}, 15, func(in gorgonia.Nodes) *gorgonia.Node { return Mean(in[0], rounds, l) }},
		"max":  {[][2]int{{rows, 5}}, []int{0}, 15, func(in gorgonia.Nodes) *gorgonia.Node { return Max(in[0], rounds, l) }},
		"head": {[][2]int{{rows, 3}, {3, 1}, {1, 1}}, []int{0, 1, 2}, 10, func(in gorgonia.Nodes) *gorgonia.Node {
			return Head(in[0], in[1], in[2], l.Rows)
		}},
	}
	for name, act := range map[string]kernel.Activation{"identity": kernel.Identity, "relu": kernel.ReLU, "tanh": kernel.Tanh, "gelu": kernel.GELU} {
		all["linear "+name] = entry{[][2]int{{rows, 3}, {3, 5}, {1, 5}}, []int{0, 1, 2}, 50, func(in gorgonia.Nodes) *gorgonia.Node {
			return Linear(in[0], in[1], in[2], act, true, l.Rows)
		}}
	}
	return all
}

// Every derivative equals the central difference.
func TestDerivatives(t *testing.T) {
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			n := build(t, o.shapes, o.wrt, o.apply)
			e := n.executor(t)
			got := n.gradients(t, e)
			for i, w := range o.wrt {
				x := n.in[w].Data
				live := len(x)
				if o.shapes[w][0] == rows {
					live = 10 * o.shapes[w][1]
				}
				for k := range x[:live] {
					const h = 4e-3
					old := x[k]
					x[k] = old + h
					up, high := n.loss(t, e, o.live), x[k]
					x[k] = old - h
					down, low := n.loss(t, e, o.live), x[k]
					x[k] = old
					want := (up - down) / (float64(high) - float64(low))
					if d := math.Abs(float64(got[i][k]) - want); d > 4e-3*(1+math.Abs(want)) {
						t.Errorf("input %d, [%d]: gradient %v, difference %v", w, k, got[i][k], want)
					}
				}
			}
		})
	}
}

// What stands in rows that are not live reaches nothing.
func TestPaddingReachesNothing(t *testing.T) {
	for name, o := range operations() {
		n := build(t, o.shapes, o.wrt, o.apply)
		e := n.executor(t)
		want := n.gradients(t, e)
		for i, s := range o.shapes {
			if s[0] == rows {
				for k := 10 * s[1]; k < len(n.in[i].Data); k++ {
					n.in[i].Data[k] = float32(math.NaN())
				}
			}
		}
		for k := o.live; k < len(n.d.Data); k++ {
			n.d.Data[k] = float32(math.NaN())
		}
		got := n.gradients(t, e)
		for i := range got {
			live := len(got[i])
			if o.shapes[o.wrt[i]][0] == rows {
				live = 10 * o.shapes[o.wrt[i]][1]
			}
			if !slices.Equal(got[i][:live], want[i][:live]) {
				t.Errorf("%s: padding changed the gradient at input %d", name, o.wrt[i])
			}
		}
	}
}

// Gorgonia's TapeMachine runs the operations, too, and gets the same bits.
func TestTapeMachineAgrees(t *testing.T) {
	for name, o := range operations() {
		n := build(t, o.shapes, o.wrt, o.apply)
		want := n.gradients(t, n.executor(t))
		vm := gorgonia.NewTapeMachine(n.g.ExactSubgraphRoots(append(gorgonia.Nodes{n.out}, n.grads...)...))
		if err := vm.RunAll(); err != nil {
			t.Fatal(err)
		}
		for i, g := range n.grads {
			if got := g.Value().Data().([]float32); !slices.Equal(got, want[i]) {
				t.Errorf("%s: gradient at input %d: TapeMachine %v, executor %v", name, o.wrt[i], got, want[i])
			}
		}
		if err := vm.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An executor runs stock operations among ours: x feeds two, so that Gorgonia
// adds their gradients.
func TestExecutorRunsStockOperations(t *testing.T) {
	all := func() int { return 2 }
	n := build(t, [][2]int{{2, 2}, {2, 2}, {1, 2}}, []int{0}, func(in gorgonia.Nodes) *gorgonia.Node {
		y := Linear(in[0], in[1], in[2], kernel.Identity, true, all)
		return gorgonia.Must(gorgonia.Add(y, Linear(in[0], in[1], in[2], kernel.Identity, true, all)))
	})
	e := n.executor(t)
	for range 2 { // the second run reuses the results of the first
		got := n.gradients(t, e)[0]
		d, w := n.d.Data, n.in[1].Data
		for i := range 2 {
			for j := range 2 {
				want := 2 * (d[2*i]*w[2*j] + d[2*i+1]*w[2*j+1])
				if math.Abs(float64(got[2*i+j]-want)) > 1e-5 {
					t.Errorf("[%d, %d]: got %v, want %v", i, j, got[2*i+j], want)
				}
			}
		}
	}
}

func TestRunsDoNotAllocate(t *testing.T) {
	for name, o := range operations() {
		n := build(t, o.shapes, o.wrt, o.apply)
		e := n.executor(t)
		if got := testing.AllocsPerRun(10, func() { n.loss(t, e, o.live); _ = e.Backward() }); got > 0 {
			t.Errorf("%s: %v allocations in a run", name, got)
		}
	}
}

func TestDataOfAForeignNode(t *testing.T) {
	n := build(t, [][2]int{{2, 2}, {2, 2}, {1, 2}}, []int{0}, func(in gorgonia.Nodes) *gorgonia.Node {
		return Linear(in[0], in[1], in[2], kernel.ReLU, true, func() int { return 2 })
	})
	other := NewMatrix(gorgonia.NewGraph(), "other", 1, 1)
	if _, err := n.executor(t).Data(other.Node); err == nil {
		t.Error("data of a node of another graph: got no error")
	}
}
