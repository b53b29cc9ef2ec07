package fused

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/yardmaster/yardmaster/models/nn/kernel"
	"github.com/yardmaster/yardmaster/train/graph/blas"
)

// twin is an operation of this package and what it is in Gorgonia's own.
type twin struct {
	shapes       [][2]int
	wrt          []int
	fused, stock func(in gorgonia.Nodes) *gorgonia.Node
	undefined    func(i int) bool // results without a stock form, whose derivative is 0; nil is none
}

// The stock operations that twins are made of. They panic on errors.
func mul(x, y *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Mul(x, y)) }
func add(x, y *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Add(x, y)) }
func sub(x, y *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Sub(x, y)) }
func times(x, y *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.HadamardProd(x, y))
}

// scaled is x times a number.
func scaled(x *gorgonia.Node, by float32) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Mul(x, gorgonia.NewConstant(by)))
}

func more(x *gorgonia.Node, by float32) *gorgonia.Node { return add(x, gorgonia.NewConstant(by)) }

// each adds y, shape [1, n], to every row of x.
func each(x, y *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.BroadcastAdd(x, y, nil, []byte{0}))
}

func reshape(x *gorgonia.Node, rows, cols int) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Reshape(x, tensor.Shape{rows, cols}))
}

// constant is an input that is not differentiated.
func constant(g *gorgonia.ExprGraph, name string, rows, cols int, of func(i, j int) float32) *gorgonia.Node {
	m := NewMatrix(g, name, rows, cols)
	for i := range rows {
		for j := range cols {
			m.Data[i*cols+j] = of(i, j)
		}
	}
	return m.Node
}

func activate(act kernel.Activation, x *gorgonia.Node) *gorgonia.Node {
	switch act {
	case kernel.ReLU:
		return gorgonia.Must(gorgonia.Rectify(x))
	case kernel.Tanh:
		return gorgonia.Must(gorgonia.Tanh(x))
	case kernel.GELU:
		inner := scaled(add(x, scaled(times(x, times(x, x)), 0.044715)), float32(math.Sqrt(2/math.Pi)))
		return times(scaled(x, 0.5), more(gorgonia.Must(gorgonia.Tanh(inner)), 1))
	}
	return x
}

// normalized is the layer norm of x before gain and shift: the mean over a row is
// the product with a matrix of 1/width.
func normalized(x *gorgonia.Node) *gorgonia.Node {
	_, width := size(x)
	mean := constant(x.Graph(), "mean", width, width, func(int, int) float32 { return 1 / float32(width) })
	centred := sub(x, mul(x, mean))
	variance := mul(times(centred, centred), mean)
	return gorgonia.Must(gorgonia.HadamardDiv(centred, gorgonia.Must(gorgonia.Sqrt(more(variance, 1e-5)))))
}

// batch is some rounds of rows for twins.
type batch struct {
	*Layout
	round   []int // of each row
	legal   []int // in each round, 0 where none is
	in, out int   // widths
}

func newBatch(r *rand.Rand, rounds, most, in, out int) *batch {
	b := &batch{Layout: &Layout{}, in: in, out: out}
	b.Reset()
	for k := range rounds {
		mask, legal := make([]bool, 1+r.IntN(most)), 0
		for i := range mask {
			if mask[i] = r.IntN(3) > 0; mask[i] {
				legal++
			}
			b.round = append(b.round, k)
		}
		b.Add(mask)
		b.legal = append(b.legal, legal)
	}
	return b
}

// spread is the matrix [rows, rounds] that copies a round's row to its rows.
func (b *batch) spread(g *gorgonia.ExprGraph) *gorgonia.Node {
	return constant(g, "spread", b.Rows(), b.Rounds(), func(i, j int) float32 {
		if b.round[i] == j {
			return 1
		}
		return 0
	})
}

// pool is the matrix [rounds, rows] that takes the means over legal rows.
func (b *batch) pool(g *gorgonia.ExprGraph) *gorgonia.Node {
	return constant(g, "pool", b.Rounds(), b.Rows(), func(i, j int) float32 {
		switch {
		case b.round[j] != i:
			return 0
		case b.legal[i] == 0:
			from, to := b.span(i)
			return 1 / float32(to-from)
		case b.mask[j]:
			return 1 / float32(b.legal[i])
		}
		return 0
	})
}

// closed is a row [1, rows] or column that is far below 0 where a row is not
// legal, unless none is.
func (b *batch) closed(i int) float32 {
	if b.mask[i] || b.legal[0] == 0 {
		return 0
	}
	return -1e9
}

func pair(shapes [][2]int, wrt []int, fused, stock func(in gorgonia.Nodes) *gorgonia.Node) twin {
	return twin{shapes: shapes, wrt: wrt, fused: fused, stock: stock}
}

func (b *batch) twins() map[string]twin {
	n, rounds, in, out, l := b.Rows(), b.Rounds(), b.in, b.out, b.Layout
	all := map[string]twin{
		"linear of two": pair(
			[][2]int{{n, in}, {in, out}, {n, 2}, {2, out}, {1, out}},
			[]int{1, 3, 4},
			func(x gorgonia.Nodes) *gorgonia.Node {
				return Linear2(x[0], x[1], x[2], x[3], x[4], kernel.Tanh, l.Rows)
			},
			func(x gorgonia.Nodes) *gorgonia.Node {
				return activate(kernel.Tanh, each(add(mul(x[0], x[1]), mul(x[2], x[3])), x[4]))
			},
		),
		"spread": pair(
			[][2]int{{n, in}, {in, out}, {rounds, out}},
			[]int{1, 2},
			func(x gorgonia.Nodes) *gorgonia.Node { return Spread(x[0], x[1], x[2], l) },
			func(x gorgonia.Nodes) *gorgonia.Node {
				return activate(kernel.ReLU, add(mul(x[0], x[1]), mul(b.spread(x[0].Graph()), x[2])))
			},
		),
		"context": pair(
			[][2]int{{n, in}, {in, out}, {in, out}, {1, out}},
			[]int{0, 1, 2, 3},
			func(x gorgonia.Nodes) *gorgonia.Node {
				return Context(x[0], Pool(x[0], rounds, l), x[1], x[2], x[3], l)
			},
			func(x gorgonia.Nodes) *gorgonia.Node {
				g := x[0].Graph()
				c := each(mul(mul(b.pool(g), x[0]), x[2]), x[3])
				return activate(kernel.ReLU, add(mul(x[0], x[1]), mul(b.spread(g), c)))
			},
		),
		"head": pair(
			[][2]int{{n, in}, {in, 1}, {1, 1}},
			[]int{0, 1, 2},
			func(x gorgonia.Nodes) *gorgonia.Node { return Head(x[0], x[1], x[2], l.Rows) },
			func(x gorgonia.Nodes) *gorgonia.Node { return each(mul(x[0], x[1]), x[2]) },
		),
		"head of two": pair(
			[][2]int{{n, in}, {in, 1}, {n, out}, {out, 1}},
			[]int{0, 1, 3},
			func(x gorgonia.Nodes) *gorgonia.Node { return Head2(x[0], x[1], x[2], x[3], l.Rows) },
			func(x gorgonia.Nodes) *gorgonia.Node { return add(mul(x[0], x[1]), mul(x[2], x[3])) },
		),
		"layer norm": pair(
			[][2]int{{n, in}, {1, in}, {1, in}},
			[]int{0, 1, 2},
			func(x gorgonia.Nodes) *gorgonia.Node { return LayerNorm(x[0], x[1], x[2], l.Rows) },
			func(x gorgonia.Nodes) *gorgonia.Node {
				return each(gorgonia.Must(gorgonia.BroadcastHadamardProd(normalized(x[0]), x[1], nil, []byte{0})), x[2])
			},
		),
		"mean": pair(
			[][2]int{{n, in}},
			[]int{0},
			func(x gorgonia.Nodes) *gorgonia.Node { return Mean(x[0], rounds, l) },
			func(x gorgonia.Nodes) *gorgonia.Node { return mul(b.pool(x[0].Graph()), x[0]) },
		),
	}
	for name, act := range map[string]kernel.Activation{"identity": kernel.Identity, "relu": kernel.ReLU, "tanh": kernel.Tanh, "gelu": kernel.GELU} {
		all["linear "+name] = pair(
			[][2]int{{n, in}, {in, out}, {1, out}},
			[]int{0, 1, 2},
			func(x gorgonia.Nodes) *gorgonia.Node { return Linear(x[0], x[1], x[2], act, true, l.Rows) },
			func(x gorgonia.Nodes) *gorgonia.Node { return activate(act, each(mul(x[0], x[1]), x[2])) },
		)
	}
	if rounds == 1 && n > 1 { // stock reductions go along whole axes
		b.addReductions(all)
	}
	return all
}

func (b *batch) addReductions(all map[string]twin) {
	n, l := b.Rows(), b.Layout
	softmax := pair(
		[][2]int{{n, 1}},
		[]int{0},
		func(x gorgonia.Nodes) *gorgonia.Node { return LogSoftmax(x[0], l) },
		b.stockLogSoftmax,
	)
	softmax.undefined = func(i int) bool { return !b.mask[i] }
	all["log-softmax"] = softmax
	all["max"] = pair(
		[][2]int{{n, b.in}},
		[]int{0},
		func(x gorgonia.Nodes) *gorgonia.Node { return Max(x[0], 1, l) },
		func(x gorgonia.Nodes) *gorgonia.Node {
			closed := constant(x[0].Graph(), "closed", n, b.in, func(i, _ int) float32 { return b.closed(i) })
			return reshape(gorgonia.Must(gorgonia.Max(add(x[0], closed), 0)), 1, b.in)
		},
	)
}

func (b *batch) stockLogSoftmax(x gorgonia.Nodes) *gorgonia.Node {
	n := b.Rows()
	closed := constant(x[0].Graph(), "closed", 1, n, func(_, i int) float32 { return b.closed(i) })
	return reshape(gorgonia.Must(gorgonia.LogSoftMax(add(reshape(x[0], 1, n), closed), 1)), n, 1)
}

// Every operation and its derivative is what Gorgonia's own operations compute on
// its TapeMachine, with gonum's BLAS and with ours, to 1e-5, on odd shapes.
func TestStockTwinsAgree(t *testing.T) {
	before := gorgonia.WhichBLAS()
	defer gorgonia.Use(before)
	r := rand.New(rand.NewPCG(11, 1))
	for name, use := range map[string]gorgonia.BLAS{"gonum": gonum.Implementation{}, "kernels": blas.Implementation{}} {
		gorgonia.Use(use)
		for _, s := range [][4]int{{1, 1, 1, 1}, {1, 9, 3, 2}, {1, 40, 17, 5}, {3, 12, 7, 16}, {5, 30, 33, 40}, {2, 70, 20, 64}} {
			b := newBatch(r, s[0], s[1], s[2], s[3])
			if s[0] == 1 && b.legal[0] == 0 { // a softmax over nothing has no stock form
				b.mask[0], b.legal[0] = true, 1
			}
			for op, w := range b.twins() {
				t.Run(fmt.Sprintf("%s/%v/%s", name, s, op), func(t *testing.T) { w.compare(t) })
			}
		}
	}
}

func (w twin) compare(t *testing.T) {
	t.Helper()
	fused, stock := build(t, w.shapes, w.wrt, w.fused), build(t, w.shapes, w.wrt, w.stock)
	for i := range fused.in {
		copy(stock.in[i].Data, fused.in[i].Data)
	}
	for i := range fused.d.Data {
		if w.undefined != nil && w.undefined(i) {
			fused.d.Data[i] = 0
		}
	}
	copy(stock.d.Data, fused.d.Data)
	e := fused.executor(t)
	got := fused.gradients(t, e)
	out, err := e.Data(fused.out)
	if err != nil {
		t.Fatal(err)
	}
	var result gorgonia.Value // read at once: the machine may compute a gradient in the result's place
	vm := gorgonia.NewTapeMachine(stock.g.ExactSubgraphRoots(append(gorgonia.Nodes{gorgonia.Read(stock.out, &result)}, stock.grads...)...))
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(values(result))
	for i := range want {
		if w.undefined != nil && w.undefined(i) {
			want[i] = out[i]
		}
	}
	near(t, "result", out, want)
	for i, g := range stock.grads {
		near(t, fmt.Sprint("gradient at input ", w.wrt[i]), got[i], values(g.Value()))
	}
}

// values returns those of a matrix or of a scalar.
func values(v gorgonia.Value) []float32 {
	if x, scalar := v.Data().(float32); scalar {
		return []float32{x}
	}
	return v.Data().([]float32)
}

// near fails where values differ by more than 1e-5 of 1 or of the largest.
func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := max(1, float64(slices.Max(want)), -float64(slices.Min(want)))
	for i := range want {
		if off := math.Abs(float64(got[i]) - float64(want[i])); !(off <= 1e-5*scale) {
			t.Errorf("%s[%d]: got %v, stock %v", what, i, got[i], want[i])
		}
	}
}

// gradientOf is a parameter and its gradient as Gorgonia's solvers take them.
type gradientOf struct{ value, grad *tensor.Dense }

func (x gradientOf) Value() gorgonia.Value         { return x.value }
func (x gradientOf) Grad() (gorgonia.Value, error) { return x.grad, nil }

// The kernel's Adam takes the steps of Gorgonia's.
func TestAdamEqualsGorgonias(t *testing.T) {
	const n, rate = 77, 0.01
	r := rand.New(rand.NewPCG(12, 1))
	start := make([]float32, n)
	for i := range start {
		start[i] = float32(r.NormFloat64())
	}
	theirs := gradientOf{tensor.New(tensor.WithShape(7, 11), tensor.WithBacking(slices.Clone(start))), tensor.New(tensor.WithShape(7, 11), tensor.WithBacking(make([]float32, n)))}
	solver := gorgonia.NewAdamSolver(gorgonia.WithLearnRate(rate), gorgonia.WithEps(1e-5))
	ours, m, v := slices.Clone(start), make([]float32, n), make([]float32, n)
	for k := 1; k <= 20; k++ {
		grad := make([]float32, n)
		for i := range grad {
			grad[i] = float32(r.NormFloat64())
		}
		copy(theirs.grad.Float32s(), grad)
		if err := solver.Step([]gorgonia.ValueGrad{theirs}); err != nil {
			t.Fatal(err)
		}
		kernel.AdamStep{
			Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-5, Rate: rate / (1 - math.Pow(0.9, float64(k))), Unbias: 1 / (1 - math.Pow(0.999, float64(k))),
		}.Apply(ours, m, v, grad)
	}
	near(t, "parameters", ours, theirs.value.Float32s())
}
