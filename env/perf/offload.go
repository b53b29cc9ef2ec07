package perf

import "github.com/yardmaster/yardmaster/env"

// Offloading as in ZeRO-Offload (Ren et al., USENIX ATC 2021, section 4): each
// data-parallel worker owns its part of the optimizer's state, in the memory of
// the host, and the host updates the weights. Gradients go there as the backward
// pass makes them, new weights come back.

// hostBytes returns the host memory that plan p needs per GPU: float32 weights,
// gradients and the optimizer's state of the worker's part.
func (q *query) hostBytes(p *env.Plan) float64 {
	if !p.Offload {
		return 0
	}
	return q.parameters(p) / float64(p.Data) * (4 + 4 + q.m.OptimizerBytes)
}

// offloadGradients returns the time in which a micro-batch's gradients move to
// the host, in the precision of the weights, seconds. It hides behind the
// backward pass as the exchange between GPUs does.
func (q *query) offloadGradients(p *env.Plan) float64 {
	if !p.Offload {
		return 0
	}
	return q.parameters(p) / float64(p.Data) * q.m.Precision.bytes() / q.hostLink()
}

// offloadedOptimizer returns the time to update the weights on the host and to
// bring them back, seconds. The update reads gradients and reads and writes
// weights and state, all in float32, and is bound by the host's memory.
func (q *query) offloadedOptimizer(p *env.Plan) float64 {
	owned := q.parameters(p) / float64(p.Data)
	update := owned * (4 + 2*4 + 2*q.m.OptimizerBytes) / (q.g.HostMemoryGBs * 1e9 * q.part())
	return update + owned*q.m.Precision.bytes()/q.hostLink()
}

// hostLink returns the bytes/s of the link to the host's memory. A part of a GPU
// has that part of it and of the host.
func (q *query) hostLink() float64 { return q.g.HostLinkGBs * 1e9 * q.part() }

// offloads reports whether offloading is worth trying with p's degrees: it
// serves models too large for their GPUs under data parallelism.
func (q *query) offloads(p *env.Plan) bool {
	return p.Tensor == 1 && p.Pipeline == 1 && q.m.Hidden > 0 && q.m.OptimizerBytes > 0
}

// offloadedZeRO returns the ZeRO stage of an offloading plan.
func offloadedZeRO(p *env.Plan) int {
	if p.Data == 1 {
		return 0
	}
	return 2
}
