package perf

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// query is one question to the analytic model: global samples per iteration
// of m on gpus GPUs of type g, spread over nodes nodes.
type query struct {
	m      *Model
	g      *GPU
	memory float64 // of one GPU, bytes
	gpus   int
	nodes  int
	fewest int // GPUs of the node that gives the fewest; 0 where they are spread evenly
	global int // samples per iteration, all workers
	share  int // each GPU is divided into so many parts, one is given; 0 is 1
}

// part returns the part of each GPU that is given.
func (q *query) part() float64 { return 1 / float64(max(1, q.share)) }

// perNode returns the most GPUs that one node gives.
func (q *query) perNode() int { return ceilDiv(q.gpus, q.nodes) }

// fewestPerNode returns how many GPUs each node gives at least.
func (q *query) fewestPerNode() int {
	if q.fewest > 0 {
		return q.fewest
	}
	return q.gpus / q.nodes
}

// accumulation returns the samples per iteration of one data-parallel worker
// and the number of micro-batches it cuts them into.
func (q *query) accumulation(p *env.Plan) (samples, micro int) {
	samples = ceilDiv(q.global, p.Data)
	return samples, ceilDiv(samples, p.MicroBatch)
}

func ceilDiv(a, b int) int { return (a-1)/b + 1 }

// iteration returns the time of one iteration under plan p, seconds: the slots
// of the pipeline, of which the last also exchanges the gradients, the
// optimizer and the host's own work; or what the host needs to deliver the
// samples, if that is longer. Micro-batches count as equal, with a fraction of
// a sample where they do not divide the samples.
func (q *query) iteration(p *env.Plan) float64 {
	samples, micro := q.accumulation(p)
	step, gather := q.microBatch(p, float64(samples)/float64(micro)), q.gather(p)
	offload := q.offloadGradients(p)
	earlier := gather + q.overlap(step, q.scatter(p)+offload)
	last := gather + q.overlap(step, q.gradients(p)+offload)
	t := float64(micro+p.Pipeline-2)*earlier + last + q.optimizer(p) + q.m.HostMS*1e-3
	if q.m.InputRate > 0 {
		t = max(t, float64(samples)/q.m.InputRate)
	}
	return t
}

// overlap returns the time of a pass that hides a part of the exchange of its
// gradients, as in Pollux (OSDI 2021, eq. 11): (T_grad^γ + T_sync^γ)^(1/γ),
// computed relative to the longer of the two so that no power overflows.
func (q *query) overlap(grad, sync float64) float64 {
	long, short := max(grad, sync), min(grad, sync)
	if short == 0 {
		return long
	}
	return long * math.Pow(1+math.Pow(short/long, q.m.Overlap), 1/q.m.Overlap)
}

// microBatch returns the time of the forward and backward pass of samples
// samples through one stage, seconds: the roofline of its arithmetic and its
// memory traffic, after the fixed cost of its kernels.
func (q *query) microBatch(p *env.Plan, samples float64) float64 {
	share := q.stageShare(p) * samples / float64(p.Tensor)
	compute := 3 * q.m.ForwardGFLOPs * 1e9 * share / (q.m.Efficiency * q.g.rate(q.m.Precision) * q.part())
	traffic := q.m.TrafficMiB * mib * share / (q.g.MemoryGBs * 1e9 * q.part())
	fixed := q.m.Kernels * q.stageShare(p) * q.g.KernelUS * 1e-6
	return (fixed+max(compute, traffic))*recompute(p) + q.tensor(p, samples) + q.stageTransfer(p, samples)
}

// recompute returns how much longer a pass takes under p: checkpointing runs
// the forward pass, a third of the work, twice (Chen et al., 2016,
// arXiv:1604.06174).
func recompute(p *env.Plan) float64 {
	if p.Checkpoint {
		return 4.0 / 3
	}
	return 1
}

// stageShare returns the part of the model in the largest pipeline stage.
func (q *query) stageShare(p *env.Plan) float64 {
	return float64(ceilDiv(q.m.Layers, p.Pipeline)) / float64(q.m.Layers)
}

// optimizer returns the time to update the weights, seconds: it reads the
// gradients, reads and writes weights and state, and is bound by bandwidth.
// ZeRO divides this work too, but what it saves goes into the gather of the new
// weights, which unlike an all-reduce cannot hide behind the backward pass; so
// that ZeRO is chosen for memory, not for speed.
func (q *query) optimizer(p *env.Plan) float64 {
	if p.Offload {
		return q.offloadedOptimizer(p)
	}
	b := q.m.Precision.bytes()
	perParameter := q.m.GradientBytes + 2*b + 2*q.m.Precision.master() + 2*q.m.OptimizerBytes
	return q.parameters(p) * perParameter / (q.g.MemoryGBs * 1e9 * q.part())
}

// parameters returns the number of parameters that one GPU holds before ZeRO.
func (q *query) parameters(p *env.Plan) float64 {
	return q.m.ParametersM * 1e6 * q.stageShare(p) / float64(p.Tensor)
}
