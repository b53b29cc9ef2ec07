package mlp

import (
	"context"
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/train/graph"
	"github.com/yardmaster/yardmaster/train/graph/fused"
)

// chunkRows is the number of rounds that go through the graphs together: the
// activations of one stay in the second-level cache, and gradients of several
// are added up.
const chunkRows = 256

// graphs are the two perceptrons as graphs of fused operations. Their weights
// are the network's parameters themselves, not copies.
type graphs struct {
	policy, critic *perceptron
}

// perceptron is one of them for up to chunkRows rounds.
type perceptron struct {
	live    int
	x       fused.Matrix    // [rows, G]
	weights []fused.Matrix  // of each layer, then its bias
	grads   gorgonia.Nodes  // as weights
	output  *gorgonia.Node  // [rows, outputs]
	dOutput fused.Matrix    // same shape: the derivative of the loss
	run     *fused.Executor // forward up to output, backward from dOutput
}

// building serialises the building of graphs: Gorgonia's node and type pools
// are shared by the process.
var building sync.Mutex

func newGraphs(n *Network) (*graphs, error) {
	building.Lock()
	defer building.Unlock()
	policy, err := newPerceptron(n.policy)
	if err != nil {
		return nil, err
	}
	critic, err := newPerceptron(n.critic)
	return &graphs{policy, critic}, err
}

func newPerceptron(layers []layer) (*perceptron, error) {
	g := gorgonia.NewGraph()
	p := &perceptron{x: fused.NewMatrix(g, "x", chunkRows, layers[0].inputs)}
	live := func() int { return p.live }
	p.output = p.x.Node
	for i := range layers {
		l := &layers[i]
		w := fused.MatrixOver(g, fmt.Sprintf("w%d", i), l.w, l.inputs, l.outputs)
		bias := fused.MatrixOver(g, fmt.Sprintf("b%d", i), l.bias, 1, l.outputs)
		p.weights = append(p.weights, w, bias)
		p.output = fused.Linear(p.output, w.Node, bias.Node, l.activation(), i > 0, live)
	}
	p.dOutput = fused.NewMatrix(g, "d_output", chunkRows, layers[len(layers)-1].outputs)
	wrt := make(gorgonia.Nodes, len(p.weights))
	for i := range wrt {
		wrt[i] = p.weights[i].Node
	}
	var err error
	p.grads, err = gorgonia.Backpropagate(gorgonia.Nodes{p.output}, gorgonia.Nodes{p.dOutput.Node}, wrt)
	if err != nil {
		return nil, fmt.Errorf("mlp: differentiate: %w", err)
	}
	p.run, err = fused.NewExecutor(g, p.dOutput.Node, append(gorgonia.Nodes{p.output}, p.grads...))
	return p, err
}

// forward returns the outputs for rounds, row by row; borrowed.
func (p *perceptron) forward(rounds []*env.Observation) ([]float32, error) {
	p.live = len(rounds)
	for i, o := range rounds {
		copy(p.x.Data[i*p.x.Cols:], o.Global)
	}
	clear(p.dOutput.Data[:p.live*p.dOutput.Cols])
	if err := p.run.Forward(); err != nil {
		return nil, err
	}
	return p.run.Data(p.output)
}

// backward adds the gradient to grad, which has the shape of the perceptron's
// parameters.
func (p *perceptron) backward(grad []float32) error {
	if err := p.run.Backward(); err != nil {
		return err
	}
	for _, node := range p.grads {
		data, err := p.run.Data(node)
		if err != nil {
			return err
		}
		for i, x := range data {
			grad[i] += x
		}
		grad = grad[len(data):]
	}
	return nil
}

// Gradient writes the gradient of the sum of a loss over rounds at the network's
// parameters to grad, shape [len(Flat())]; as [graph.Engine.Gradient] does, but
// on one processor: networks of this size do not pay for a second one.
func (n *Network) Gradient(ctx context.Context, rounds []*env.Observation, o graph.Objective, grad []float32) error {
	if len(grad) != len(n.flat) {
		return fmt.Errorf("mlp: gradient of %d values for %d parameters", len(grad), len(n.flat))
	}
	for _, round := range rounds {
		if err := n.check(round); err != nil {
			return err
		}
	}
	if n.graphs == nil {
		var err error
		if n.graphs, err = newGraphs(n); err != nil {
			return err
		}
	}
	clear(grad)
	for from := 0; from < len(rounds); from += chunkRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := n.chunk(rounds[from:min(from+chunkRows, len(rounds))], from, o, grad); err != nil {
			return err
		}
	}
	return nil
}

// chunk adds the gradient over some rounds, the first of which is number first.
func (n *Network) chunk(rounds []*env.Observation, first int, o graph.Objective, grad []float32) error {
	var scores, values []float32
	var err error
	policy, critic := n.graphs.policy, n.graphs.critic
	if o.Heads&graph.Scores != 0 {
		if scores, err = policy.forward(rounds); err != nil {
			return err
		}
	}
	if o.Heads&graph.Values != 0 {
		if values, err = critic.forward(rounds); err != nil {
			return err
		}
	}
	if err := n.losses(rounds, first, o, scores, values); err != nil {
		return err
	}
	if scores != nil {
		if err := policy.backward(grad[:n.policySize]); err != nil {
			return err
		}
	}
	if values != nil {
		return critic.backward(grad[n.policySize:])
	}
	return nil
}

// losses evaluates the loss of every round and writes its derivatives.
func (n *Network) losses(rounds []*env.Observation, first int, o graph.Objective, scores, values []float32) error {
	actions := n.dims.Actions
	for r := range rounds {
		var s, d []float32
		value := float32(0)
		if scores != nil {
			s, d = scores[r*actions:][:actions], n.graphs.policy.dOutput.Data[r*actions:][:actions]
		}
		if values != nil {
			value = values[r]
		}
		if !finite(s) || value-value != 0 {
			return fmt.Errorf("%w: scores or value of round %d", ErrNonFinite, first+r)
		}
		dValue := o.Loss(first+r, s, value, d)
		if !finite(d) || dValue-dValue != 0 {
			return fmt.Errorf("%w: derivative of the loss of round %d", ErrNonFinite, first+r)
		}
		if values != nil {
			n.graphs.critic.dOutput.Data[r] = dValue
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
