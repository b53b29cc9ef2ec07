package perf

import "github.com/yardmaster/yardmaster/env"

const (
	// reserve is what a CUDA context, the libraries' workspaces and NCCL's
	// buffers take on every GPU.
	reserve = 0.9 * gib
	// usable is the fraction of the rest that an allocator with fragmentation
	// can hand out.
	usable = 0.95
)

// fits reports whether plan p fits the memory of one GPU, and what it offloads
// that of the host.
func (q *query) fits(p *env.Plan) bool {
	return q.bytes(p) <= q.memory && q.hostBytes(p) <= q.g.HostGiB*gib*q.part()
}

// bytes returns the memory that plan p needs on the fullest GPU.
func (q *query) bytes(p *env.Plan) float64 {
	return reserve + (q.states(p)+q.activations(p))/usable
}

// states returns the bytes of weights, gradients and optimizer state. ZeRO
// divides the state from stage 1 on, the gradients from stage 2 on and the
// weights in stage 3 (Rajbhandari et al., SC 2020, section 5).
func (q *query) states(p *env.Plan) float64 {
	weights, gradients := q.m.Precision.bytes(), q.m.GradientBytes
	state := q.m.Precision.master() + q.m.OptimizerBytes
	d := float64(p.Data)
	if p.Offload { // gradients leave as they come: one layer of them is there
		return q.parameters(p) * (weights + gradients/float64(q.m.Layers))
	}
	if p.ZeRO >= 1 {
		state /= d
	}
	if p.ZeRO >= 2 {
		gradients /= d
	}
	if p.ZeRO >= 3 {
		weights /= d
	}
	return q.parameters(p) * (weights + gradients + state)
}

// activations returns the bytes kept for the backward pass. The first stage of
// a 1F1B pipeline keeps as many micro-batches as there are stages
// (Narayanan et al., SOSP 2019, section 3.2). With checkpointing each layer
// keeps its input, and one layer at a time is computed again.
func (q *query) activations(p *env.Plan) float64 {
	_, micro := q.accumulation(p)
	inFlight := float64(min(micro, p.Pipeline))
	whole := q.m.ActivationMiB * mib * float64(p.MicroBatch) / float64(p.Tensor)
	if !p.Checkpoint {
		return inFlight * whole * q.stageShare(p)
	}
	inputs := float64(ceilDiv(q.m.Layers, p.Pipeline)) * q.boundary(float64(p.MicroBatch))
	return inFlight*inputs + whole/float64(q.m.Layers)
}
