package mlp

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/models/nn/kernel"
)

// layer is x·w + bias, followed by tanh unless it is the last one.
type layer struct {
	inputs, outputs int
	w, bias         []float32 // [inputs, outputs] and [outputs], views of the flat parameters
	last            bool
}

func (l *layer) activation() kernel.Activation {
	if l.last {
		return kernel.Identity
	}
	return kernel.Tanh
}

// cut returns the layers of a perceptron with these widths over flat.
func cut(flat []float32, widths []int) []layer {
	layers := make([]layer, len(widths)-1)
	for i := range layers {
		in, out := widths[i], widths[i+1]
		layers[i] = layer{in, out, flat[: in*out : in*out], flat[in*out : (in+1)*out : (in+1)*out], i == len(layers)-1}
		flat = flat[(in+1)*out:]
	}
	return layers
}

// Network is a policy and a critic with their parameters. It is not safe for
// concurrent use; its actors are, as long as the parameters stay as they are.
type Network struct {
	dims           Dims
	flat           []float32 // the policy's layers, then the critic's
	policySize     int
	policy, critic []layer
	graphs         *graphs // built by the first Gradient
}

// New returns a network whose parameters are all zero.
func New(d Dims) (*Network, error) {
	d.fillDefaults()
	if err := d.validate(); err != nil {
		return nil, err
	}
	policy, critic := d.widths(d.Actions), d.widths(1)
	n := &Network{dims: d, policySize: size(policy)}
	n.flat = make([]float32, n.policySize+size(critic))
	n.policy, n.critic = cut(n.flat, policy), cut(n.flat[n.policySize:], critic)
	return n, nil
}

// Flat returns the parameters, those of the policy first. They are the network's
// own: changing them changes it.
func (n *Network) Flat() []float32 { return n.flat }

// PolicySize returns how many of the parameters are the policy's.
func (n *Network) PolicySize() int { return n.policySize }

// Initialize draws orthogonal weights, with gain √2 in hidden layers, 0.01 for
// the scores, so that all actions are about equally likely, and 1 for the value
// (Huang et al., detail 2). Biases are 0.
func (n *Network) Initialize(r *rand.Rand) {
	for _, net := range []struct {
		layers []layer
		gain   float64
	}{{n.policy, 0.01}, {n.critic, 1}} {
		for i := range net.layers {
			l := &net.layers[i]
			gain := math.Sqrt2
			if l.last {
				gain = net.gain
			}
			orthogonal(l.w, l.inputs, l.outputs, gain, r)
			clear(l.bias)
		}
	}
}

// orthogonal fills w, shape [rows, cols], with gain times a random matrix whose
// rows, or columns where they are fewer, are orthonormal (Saxe et al., ICLR
// 2014): normal vectors, orthogonalised by Gram and Schmidt's method, twice
// against rounding.
func orthogonal(w []float32, rows, cols int, gain float64, r *rand.Rand) {
	vectors, length := min(rows, cols), max(rows, cols)
	q := make([][]float64, vectors)
	for i := range q {
		q[i] = make([]float64, length)
		for k := range q[i] {
			q[i][k] = r.NormFloat64()
		}
		for range 2 {
			for _, before := range q[:i] {
				along := dot(q[i], before)
				for k := range before {
					q[i][k] -= float64(along * before[k])
				}
			}
			norm := math.Sqrt(dot(q[i], q[i]))
			for k := range q[i] {
				q[i][k] /= norm
			}
		}
	}
	for i := range rows {
		for k := range cols {
			if rows <= cols {
				w[i*cols+k] = float32(gain * q[i][k])
			} else {
				w[i*cols+k] = float32(gain * q[k][i])
			}
		}
	}
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	return sum
}

// check returns an error unless o has the network's numbers of features and
// actions.
func (n *Network) check(o *env.Observation) error {
	if len(o.Global) != n.dims.Global || o.N() != n.dims.Actions {
		return fmt.Errorf("mlp: observation has %d features and %d actions, want %d and %d", len(o.Global), o.N(), n.dims.Global, n.dims.Actions)
	}
	return nil
}

// pass is the memory of a forward pass.
type pass struct{ at, next []float32 }

// run returns the outputs of layers for one input; borrowed until the next run.
func (p *pass) run(layers []layer, x []float32) []float32 {
	for i := range layers {
		l := &layers[i]
		if cap(p.next) < l.outputs {
			p.next = make([]float32, l.outputs)
		}
		p.next = p.next[:l.outputs]
		kernel.Linear(p.next, x, l.w, l.bias, 1, l.inputs, l.outputs, l.activation())
		p.at, p.next = p.next, p.at
		x = p.at
	}
	return x
}
