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
	grads   [][]float32 // by chunk
}

// NewEngine returns an engine for networks of dimensions d.
func NewEngine(d nn.Dims) (*Engine, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("graph: new engine: %w", err)
	}
	e := &Engine{dims: d}
	for range runtime.GOMAXPROCS(0) {
		e.workers = append(e.workers, &worker{dims: d, scorers: make(map[size]*scorer)})
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
	task := task{params: p, scorer: nn.NewScorer(p), critic: nn.NewCritic(p), objective: o}
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
	params    *nn.Params
	scorer    *nn.Scorer
	critic    *nn.Critic
	objective Objective
}

// worker owns the graphs and the memory of one goroutine.
type worker struct {
	dims    nn.Dims
	scorers map[size]*scorer
	critic  *critic
	scratch nn.Scratch
	scores  []float32
}

// building serialises the building of graphs: Gorgonia's node and type pools
// are shared by the process.
var building sync.Mutex

// scorerFor returns the graph for batches of size s.
func (w *worker) scorerFor(s size) (*scorer, error) {
	if n, ok := w.scorers[s]; ok {
		return n, nil
	}
	building.Lock()
	defer building.Unlock()
	n, err := newScorer(s, w.dims)
	if err == nil {
		w.scorers[s] = n
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
// first of the batch: scores forward through package nn, the loss on the host,
// the rest through Gorgonia.
func (w *worker) gradient(t *task, first int, rounds []*env.Observation, grad []float32) error {
	clear(grad)
	var dScores, dValues []float32
	if t.objective.Heads&Scores != 0 {
		n, err := w.scorerFor(sizeOf(rounds))
		if err != nil {
			return err
		}
		n.fill(rounds)
		dScores = n.dOutput.data
	}
	if t.objective.Heads&Values != 0 {
		n, err := w.criticGraph()
		if err != nil {
			return err
		}
		n.fill(rounds)
		dValues = n.dOutput.data
	}
	if err := w.losses(t, first, rounds, dScores, dValues); err != nil {
		return err
	}
	if dScores != nil {
		n := w.scorers[sizeOf(rounds)]
		n.load(t.params)
		if err := n.backward(grad); err != nil {
			return err
		}
	}
	if dValues != nil {
		w.critic.load(t.params)
		return w.critic.backward(grad)
	}
	return nil
}

// losses evaluates the loss of every round and writes its derivatives.
func (w *worker) losses(t *task, first int, rounds []*env.Observation, dScores, dValues []float32) error {
	for r, o := range rounds {
		var scores, d []float32
		value := float32(0)
		if dScores != nil {
			d, dScores = dScores[:o.N()], dScores[o.N():]
			scores = w.grown(o.N())
			t.scorer.Score(scores, o.Global, o.Candidates, o.Mask, &w.scratch)
		}
		if dValues != nil {
			value = t.critic.Value(o.Global, o.Candidates, o.Mask, &w.scratch)
		}
		if !finite(scores) || value-value != 0 {
			return fmt.Errorf("%w: scores or value of round %d", ErrNonFinite, first+r)
		}
		dValue := t.objective.Loss(first+r, scores, value, d)
		if !finite(d) || dValue-dValue != 0 {
			return fmt.Errorf("%w: derivative of the loss of round %d", ErrNonFinite, first+r)
		}
		if dValues != nil {
			dValues[r] = dValue
		}
	}
	return nil
}

func (w *worker) grown(n int) []float32 {
	if cap(w.scores) < n {
		w.scores = make([]float32, 2*n)
	}
	return w.scores[:n]
}

func finite(xs []float32) bool {
	for _, x := range xs {
		if x-x != 0 {
			return false
		}
	}
	return true
}
