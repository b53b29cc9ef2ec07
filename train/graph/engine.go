package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn"
	"github.com/yardmaster/yardmaster/models/nn/kernel"
	"github.com/yardmaster/yardmaster/train/graph/blas"
)

// ErrNonFinite is wrapped by the error of a gradient whose scores, values or
// derivatives are not all finite.
var ErrNonFinite = errors.New("graph: not finite")

// Heads says what a loss looks at. The gradient of the rest is zero.
type Heads uint8

// Parts of a network.
const (
	Scores Heads = 1 << iota // the scorer
	Values                   // the critic
)

// Loss is a loss over rounds, by its derivatives. It is called once for round
// i of a batch with the scores [N] of its candidates and its value, writes
// dL/dscore to dScores [N], which is zero, and returns dL/dvalue. Calls for
// different rounds may be concurrent. Without Scores among the heads scores and
// dScores are empty, without Values the value is 0.
type Loss func(i int, scores []float32, value float32, dScores []float32) (dValue float32)

// Engine computes gradients of a loss with respect to the parameters of a
// network, on all processors: a goroutine and a set of graphs for each. Results
// do not depend on their number. An Engine is not safe for concurrent use.
type Engine struct {
	dims    nn.Dims
	workers []*worker
	grads   [][]float32 // by chunk, each tensor transposed, as in the graphs
	calls   int64       // of Gradient
}

// useKernels puts our products behind Gorgonia's own operations, which none of the
// graphs here has: it is for whoever adds one.
var useKernels = sync.OnceFunc(blas.Use)

// NewEngine returns an engine for networks of dimensions d.
func NewEngine(d nn.Dims) (*Engine, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("graph: new engine: %w", err)
	}
	useKernels()
	e := &Engine{dims: d}
	for range runtime.GOMAXPROCS(0) {
		e.workers = append(e.workers, &worker{dims: d, scorers: make(map[int]*scorer)})
	}
	return e, nil
}

// Objective is what Gradient differentiates.
type Objective struct {
	Loss  Loss
	Heads Heads
}

// Gradient writes the gradient of the sum of a loss over rounds at p to grad,
// shape [Dims.Size()]. The sum is taken in a fixed order; a mean is the loss's
// business.
func (e *Engine) Gradient(ctx context.Context, p *nn.Params, rounds []*env.Observation, o Objective, grad []float32) error {
	if p.Dims != e.dims || len(grad) != e.dims.Size() {
		return fmt.Errorf("graph: gradient of %d values for a network of %+v, want %d for %+v", len(grad), p.Dims, e.dims.Size(), e.dims)
	}
	spans := chunks(rounds)
	for len(e.grads) < len(spans) {
		e.grads = append(e.grads, make([]float32, e.dims.Size()))
	}
	errs := make([]error, len(spans))
	e.calls++
	task := task{params: p, objective: o, call: e.calls}
	e.each(len(spans), func(w *worker, k int) {
		if errs[k] = ctx.Err(); errs[k] == nil {
			errs[k] = w.gradient(&task, spans[k].from, rounds[spans[k].from:spans[k].to], e.grads[k])
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	e.sum(len(spans), p.View(grad))
	return nil
}

// sum writes the sum of the gradients of so many chunks, in their order, to grad.
func (e *Engine) sum(spans int, grad []nn.Tensor) {
	at := 0
	for _, t := range grad {
		clear(t.Data)
		if spans == 0 {
			continue
		}
		n := len(t.Data)
		sum := e.grads[0][at:][:n]
		for _, g := range e.grads[1:spans] {
			kernel.AddScaled(sum, g[at:][:n], 1)
		}
		_, cols := matrixShape(t.Shape)
		transpose(t.Data, sum, cols)
		at += n
	}
}

// each calls do for 0 to n-1, on as many workers as there is work for: one does
// without goroutines.
func (e *Engine) each(n int, do func(w *worker, k int)) {
	workers := e.workers[:min(len(e.workers), n)]
	if len(workers) == 1 {
		for k := range n {
			do(workers[0], k)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				do(w, k)
			}
		})
	}
	wg.Wait()
}

// task is what the workers share in one call of Gradient.
type task struct {
	params    *nn.Params
	objective Objective
	call      int64
}

// worker owns the graphs and the memory of one goroutine.
type worker struct {
	dims    nn.Dims
	scorers map[int]*scorer // by rows
	critic  *critic
}

// building serialises the building of graphs: Gorgonia's node and type pools
// are shared by the process.
var building sync.Mutex

// scorerFor returns the graph for batches of at most so many rows.
func (w *worker) scorerFor(rows int) (*scorer, error) {
	if n, ok := w.scorers[rows]; ok {
		return n, nil
	}
	building.Lock()
	defer building.Unlock()
	n, err := newScorer(rows, w.dims)
	if err == nil {
		w.scorers[rows] = n
	}
	return n, err
}

func (w *worker) criticGraph() (*critic, error) {
	if w.critic != nil {
		return w.critic, nil
	}
	building.Lock()
	defer building.Unlock()
	n, err := newCritic(chunkRounds, w.dims)
	if err == nil {
		w.critic = n
	}
	return n, err
}

// gradient computes the gradient over one chunk, whose first round is number
// first of the batch: the graphs forward, the loss on the host, the graphs
// backward.
func (w *worker) gradient(t *task, first int, rounds []*env.Observation, grad []float32) error {
	clear(grad)
	var scores, values output
	if t.objective.Heads&Scores != 0 {
		n, err := w.scorerFor(capacity(rounds))
		if err != nil {
			return err
		}
		n.fill(rounds)
		if scores, err = t.forward(n.network); err != nil {
			return err
		}
	}
	if t.objective.Heads&Values != 0 {
		n, err := w.criticGraph()
		if err != nil {
			return err
		}
		n.fill(rounds)
		if values, err = t.forward(n.network); err != nil {
			return err
		}
	}
	if err := t.losses(first, rounds, scores, values); err != nil {
		return err
	}
	for _, o := range []output{scores, values} {
		if o.network != nil {
			if err := o.network.backward(grad); err != nil {
				return err
			}
		}
	}
	return nil
}

// output is what a network computed and where its derivative goes; nil without
// the head.
type output struct {
	network   *network
	values, d []float32
}

// forward runs n with the parameters.
func (t *task) forward(n *network) (output, error) {
	n.load(t.params, t.call)
	values, err := n.forward()
	return output{n, values, n.dOutput.Data}, err
}

// losses evaluates the loss of every round and writes its derivatives.
func (t *task) losses(first int, rounds []*env.Observation, scores, values output) error {
	row := 0
	for r, o := range rounds {
		var s, d []float32
		value := float32(0)
		if scores.network != nil {
			s, d = scores.values[row:][:o.N()], scores.d[row:][:o.N()]
			row += o.N()
		}
		if values.network != nil {
			value = values.values[r]
		}
		if !finite(s) || value-value != 0 {
			return fmt.Errorf("%w: scores or value of round %d", ErrNonFinite, first+r)
		}
		dValue := t.objective.Loss(first+r, s, value, d)
		if !finite(d) || dValue-dValue != 0 {
			return fmt.Errorf("%w: derivative of the loss of round %d", ErrNonFinite, first+r)
		}
		if values.network != nil {
			values.d[r] = dValue
		}
	}
	return nil
}

func finite(xs []float32) bool {
	for _, x := range xs {
		if x-x != 0 {
			return false
		}
	}
	return true
}
