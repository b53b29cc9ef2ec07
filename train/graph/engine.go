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
)

// ErrNonFinite is wrapped by the error of a gradient whose scores, values or
// derivatives are not all finite.
var ErrNonFinite = errors.New("graph: not finite")

// Loss is a loss over rounds, by its derivatives. It is called once for round
// i of a batch with the scores [N] of its candidates and its value, writes
// dL/dscore to dScores [N], which is zero, and returns dL/dvalue. Calls for
// different rounds may be concurrent.
type Loss func(i int, scores []float32, value float32, dScores []float32) (dValue float32)

// Engine computes gradients of a loss with respect to the parameters of a
// network, on all processors: a goroutine and a set of graphs for each. Results
// do not depend on their number. An Engine is not safe for concurrent use.
type Engine struct {
	dims    nn.Dims
	workers []*worker
	grads   [][]float32 // by chunk
}

// NewEngine returns an engine for networks of dimensions d.
func NewEngine(d nn.Dims) (*Engine, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("graph: new engine: %w", err)
	}
	e := &Engine{dims: d}
	for range runtime.GOMAXPROCS(0) {
		e.workers = append(e.workers, &worker{dims: d, networks: make(map[size]*network)})
	}
	return e, nil
}

// Gradient writes the gradient of loss over rounds at p to grad, shape
// [Dims.Size()]. The sum over rounds is taken as it is, in a fixed order: a mean
// is the loss's business.
func (e *Engine) Gradient(ctx context.Context, p *nn.Params, rounds []*env.Observation, loss Loss, grad []float32) error {
	if p.Dims != e.dims || len(grad) != e.dims.Size() {
		return fmt.Errorf("graph: gradient of %d values for a network of %+v, want %d for %+v", len(grad), p.Dims, e.dims.Size(), e.dims)
	}
	spans := chunks(rounds)
	for len(e.grads) < len(spans) {
		e.grads = append(e.grads, make([]float32, e.dims.Size()))
	}
	errs := make([]error, len(spans))
	task := task{params: p, scorer: nn.NewScorer(p), critic: nn.NewCritic(p), loss: loss}
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, w := range e.workers[:min(len(e.workers), len(spans))] {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < len(spans); k = int(next.Add(1)) - 1 {
				if errs[k] = ctx.Err(); errs[k] == nil {
					errs[k] = w.gradient(&task, spans[k].from, rounds[spans[k].from:spans[k].to], e.grads[k])
				}
			}
		})
	}
	wg.Wait()
	clear(grad)
	for k := range spans {
		if errs[k] != nil {
			return errs[k]
		}
		for i, x := range e.grads[k] {
			grad[i] += x
		}
	}
	return nil
}

// task is what the workers share in one call of Gradient.
type task struct {
	params *nn.Params
	scorer *nn.Scorer
	critic *nn.Critic
	loss   Loss
}

// worker owns the graphs and the memory of one goroutine.
type worker struct {
	dims     nn.Dims
	networks map[size]*network
	scratch  nn.Scratch
	scores   []float32
}

// building serialises the building of graphs: Gorgonia's node and type pools
// are shared by the process.
var building sync.Mutex

func (w *worker) network(s size) (*network, error) {
	if n, ok := w.networks[s]; ok {
		return n, nil
	}
	building.Lock()
	defer building.Unlock()
	n, err := newNetwork(s, w.dims)
	if err == nil {
		w.networks[s] = n
	}
	return n, err
}

// gradient computes the gradient over one chunk, whose first round is number
// first of the batch: scores forward through package nn, the loss on the host,
// the rest through Gorgonia.
func (w *worker) gradient(t *task, first int, rounds []*env.Observation, grad []float32) error {
	n, err := w.network(sizeOf(rounds))
	if err != nil {
		return err
	}
	n.load(t.params)
	n.inputs.fill(rounds)
	clear(n.inputs.dScores.data)
	clear(n.inputs.dValues.data)
	row := 0
	for r, o := range rounds {
		dScores := n.inputs.dScores.data[row:][:o.N()]
		if err := w.loss(t, first+r, o, dScores, &n.inputs.dValues.data[r]); err != nil {
			return err
		}
		row += o.N()
	}
	return n.backward(grad)
}

func (w *worker) loss(t *task, i int, o *env.Observation, dScores []float32, dValue *float32) error {
	if cap(w.scores) < o.N() {
		w.scores = make([]float32, 2*o.N())
	}
	scores := w.scores[:o.N()]
	t.scorer.Score(scores, o.Global, o.Candidates, o.Mask, &w.scratch)
	value := t.critic.Value(o.Global, o.Candidates, o.Mask, &w.scratch)
	if !finite(scores) || value-value != 0 {
		return fmt.Errorf("%w: scores or value of round %d", ErrNonFinite, i)
	}
	*dValue = t.loss(i, scores, value, dScores)
	if !finite(dScores) || *dValue-*dValue != 0 {
		return fmt.Errorf("%w: derivative of the loss of round %d", ErrNonFinite, i)
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
