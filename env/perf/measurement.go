package perf

import (
	"fmt"
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// Measurement is one measured throughput.
type Measurement struct {
	Model   string
	Batch   int // samples per step and worker; 0 where GlobalBatch is given
	GPUType string
	GPUs    int
	Nodes   int // the GPUs were spread over; 0 is 1
	// Fewest is the GPUs of the node that gives the fewest; 0 spreads them evenly.
	Fewest int
	// GlobalBatch is the samples per iteration of all workers, where the workers
	// do not share them evenly; 0 is Batch × GPUs.
	GlobalBatch int
	// Plan that was measured; its zero value is a plan that is not known, which
	// is taken to be the model's best, as is the MicroBatch where only that is 0.
	Plan env.Plan
	// StepsPerSecond is summed over the workers: GPUs × iterations/s.
	// 0 says that it was tried and ran out of memory.
	StepsPerSecond float64
	Source         string // for reports; may be empty
	// Modelled rows were computed from measured parts by their source. They are
	// compared with, but nothing is fitted to them.
	Modelled bool
}

// global returns the samples per iteration of all workers.
func (r *Measurement) global() int {
	if r.GlobalBatch > 0 {
		return r.GlobalBatch
	}
	return r.Batch * r.GPUs
}

// query returns the question that r answers, about the figures of c.
func (r *Measurement) query(c *Catalogue) *query {
	m, _ := c.Model(r.Model)
	g, _ := c.GPU(r.GPUType)
	return &query{m: m, g: g, memory: g.MemoryGiB * gib, gpus: r.GPUs, nodes: max(r.Nodes, 1), fewest: r.Fewest, global: r.global()}
}

func (r *Measurement) validate(c *Catalogue) error {
	if _, ok := c.Model(r.Model); !ok {
		return c.UnknownModel(r.Model)
	}
	if _, ok := c.GPU(r.GPUType); !ok {
		return c.unknownGPU(r.GPUType)
	}
	if r.GPUs < 1 || r.GlobalBatch < 0 || r.GlobalBatch > maxGlobal || r.GlobalBatch == 0 && (r.Batch < 1 || r.Batch > maxGlobal/r.GPUs) {
		return fmt.Errorf("perf: batch %d on %d GPUs, want both >= 1 and at most %d samples per iteration", max(r.Batch, r.GlobalBatch), r.GPUs, maxGlobal)
	}
	if r.GlobalBatch > 0 && r.Batch > 0 && (r.Batch > maxGlobal/r.GPUs || r.Batch*r.GPUs != r.GlobalBatch) {
		return fmt.Errorf("perf: batch %d on %d GPUs but a global batch of %d, want their product or one of both", r.Batch, r.GPUs, r.GlobalBatch)
	}
	if r.Nodes < 0 || r.Nodes > r.GPUs {
		return fmt.Errorf("perf: %d nodes for %d GPUs, want 1 to gpus", r.Nodes, r.GPUs)
	}
	if r.Fewest < 0 || r.Fewest > r.GPUs/max(r.Nodes, 1) {
		return fmt.Errorf("perf: %d GPUs on the node with the fewest, want 1 to gpus / nodes (%d), or 0", r.Fewest, r.GPUs/max(r.Nodes, 1))
	}
	if math.IsNaN(r.StepsPerSecond) || math.IsInf(r.StepsPerSecond, 0) || r.StepsPerSecond < 0 {
		return fmt.Errorf("perf: %v steps/s, want finite and >= 0", r.StepsPerSecond)
	}
	if p := &r.Plan; *p != (env.Plan{}) && (p.Data < 1 || p.Tensor < 1 || p.Pipeline < 1 || p.MicroBatch < 0 ||
		p.ZeRO < 0 || p.ZeRO > 3 || p.Data > r.GPUs || p.Tensor > r.GPUs || p.Data*p.Tensor*p.Pipeline != r.GPUs) {
		return fmt.Errorf("perf: plan %+v for %d GPUs, want degrees whose product is the GPUs, micro-batch >= 0 and ZeRO 0 to 3", *p, r.GPUs)
	}
	return nil
}

// complete returns p with what it leaves open filled in by the model: the
// fastest plan for the zero plan, the fastest micro-batch for a MicroBatch of 0.
// It is false where none fits. A complete plan is returned as it is, also where
// it does not fit.
func (q *query) complete(p env.Plan) (env.Plan, bool) {
	switch {
	case p == (env.Plan{}):
		best, _, ok := q.best()
		return best, ok
	case p.MicroBatch > 0:
		return p, true
	}
	best, seconds := env.Plan{}, math.Inf(1)
	samples := ceilDiv(q.global, p.Data)
	for micro := 1; ; micro *= 2 {
		p.MicroBatch = ceilDiv(samples, micro)
		if t := q.iteration(&p); q.fits(&p) && t < seconds*(1-1e-9) {
			best, seconds = p, t
		}
		if p.MicroBatch == 1 {
			return best, !math.IsInf(seconds, 1)
		}
	}
}
