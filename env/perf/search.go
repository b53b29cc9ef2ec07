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
	q.plans(func(p *env.Plan) {
		// A plan must be worth its complexity; this also keeps rounding from choosing.
		if t := q.iteration(p); t < seconds*(1-1e-9) && q.fits(p) {
			plan, seconds, ok = *p, t, true
		}
	})
	return plan, seconds, ok
}

// plans calls yield with every plan for q's GPUs: tensor and pipeline degrees
// that divide their number, numbers of micro-batches that are powers of two,
// ZeRO stages, checkpointing. Doubling the batch only adds to them, so it never
// lowers the samples per second.
func (q *query) plans(yield func(*env.Plan)) {
	if q.m.MaxGPUs > 0 && q.gpus > q.m.MaxGPUs {
		return
	}
	for pipeline := 1; pipeline <= min(q.m.MaxPipeline, q.gpus); pipeline++ {
		for tensor := 1; tensor <= min(q.m.MaxTensor, q.perNode(), q.gpus/pipeline); tensor++ {
			data := q.gpus / (pipeline * tensor)
			if data*pipeline*tensor == q.gpus && data <= q.global {
				q.variants(env.Plan{Data: data, Tensor: tensor, Pipeline: pipeline}, yield)
			}
		}
	}
}

// variants calls yield with p's micro-batches, ZeRO stages and checkpointing.
func (q *query) variants(p env.Plan, yield func(*env.Plan)) {
	samples := ceilDiv(q.global, p.Data)
	zero, checkpoint := 0, 1
	switch {
	case p.Data > 1 && p.Pipeline > 1:
		zero = 1 // a pipeline's many micro-batches would scatter and gather each
	case p.Data > 1:
		zero = 3
	}
	if q.m.Hidden > 0 && q.m.Sequence > 0 {
		checkpoint = 2
	}
	for micro := 1; micro <= samples; micro *= 2 {
		p.MicroBatch = ceilDiv(samples, micro)
		for p.ZeRO = 0; p.ZeRO <= zero; p.ZeRO++ {
			for c := range checkpoint {
				p.Checkpoint = c == 1
				yield(&p)
			}
		}
	}
}
