package perf

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// best returns the fastest plan that fits, and the time of one iteration under
// it, seconds. Of equally fast plans the plainest wins: it comes first in the
// order of the search. ok is false if none fits.
func (q *query) best() (plan env.Plan, seconds float64, ok bool) {
	seconds = math.Inf(1)
	q.plans(func(p *env.Plan) bool {
		if !q.fits(p) {
			return false
		}
		// Rounding alone must not choose a plan.
		if t := q.iteration(p); t < seconds*(1-1e-9) {
			plan, seconds, ok = *p, t, true
		}
		return true
	})
	return plan, seconds, ok
}

// plans calls try, which returns whether a plan fits, with the plans for q's
// GPUs: tensor and pipeline degrees that divide their number, tensor-parallel
// groups inside one node, samples cut into a power of two of micro-batches down
// to one sample each, ZeRO stages, offloading, checkpointing. With twice the batch
// each plan is there with twice the micro-batches, so doubling it never lowers the
// samples per second, unless a pipeline that was not full keeps more of them.
func (q *query) plans(try func(*env.Plan) bool) {
	if q.m.MaxGPUs > 0 && q.gpus > q.m.MaxGPUs {
		return
	}
	for pipeline := 1; pipeline <= min(q.m.MaxPipeline, q.gpus); pipeline++ {
		for tensor := 1; tensor <= min(q.m.MaxTensor, q.perNode(), q.gpus/pipeline); tensor++ {
			data := q.gpus / (pipeline * tensor)
			if data*pipeline*tensor == q.gpus && data <= q.global && q.perNode()%tensor == 0 {
				q.variants(env.Plan{Data: data, Tensor: tensor, Pipeline: pipeline}, try)
			}
		}
	}
}

// variants calls try with p's ZeRO stages, offloading, checkpointing and
// micro-batches. Without a pipeline more micro-batches than memory demands only cost time:
// they multiply the fixed costs and leave less work to hide the gradients behind.
func (q *query) variants(p env.Plan, try func(*env.Plan) bool) {
	for p.ZeRO = 0; p.ZeRO <= maxZeRO(&p); p.ZeRO++ {
		q.microBatches(p, try)
	}
	if q.offloads(&p) {
		p.Offload, p.ZeRO = true, offloadedZeRO(&p)
		q.microBatches(p, try)
	}
}

func (q *query) microBatches(p env.Plan, try func(*env.Plan) bool) {
	samples := ceilDiv(q.global, p.Data)
	for _, p.Checkpoint = range q.checkpointing() {
		for micro := 1; ; micro *= 2 {
			p.MicroBatch = ceilDiv(samples, micro)
			if fits := try(&p); fits && p.Pipeline == 1 || p.MicroBatch == 1 {
				break
			}
		}
	}
}

// maxZeRO returns the highest ZeRO stage worth trying with p's degrees.
func maxZeRO(p *env.Plan) int {
	switch {
	case p.Data == 1:
		return 0
	case p.Pipeline > 1:
		return 1 // a pipeline's many micro-batches would scatter and gather each
	}
	return 3
}

// checkpointing returns the choices of activation checkpointing: none where
// the size of what it would keep is not known.
func (q *query) checkpointing() []bool {
	if q.m.Hidden == 0 || q.m.Sequence == 0 {
		return []bool{false}
	}
	return []bool{false, true}
}
