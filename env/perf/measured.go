package perf

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// place is what a measured row is found by.
type place struct {
	model, gpu string
}

// row is a measured point with what the analytic model says of it.
type row struct {
	gpus, nodes, global int
	fewest              int      // GPUs of the node that gives the fewest
	plan                env.Plan // as measured, completed by the model; zero where nothing is known of it
	known               bool     // what the measurement says of its plan
	samples             float64  // per second; 0 is out of memory
	ratio               float64  // measured / predicted; 0 where either is unknown
}

// measurements holds rows by model and GPU type, ordered by (GPUs, nodes,
// global batch, plan), one per point and plan.
type measurements map[place][]row

// newMeasurements merges the rows of each point: repeated measurements of one
// plan count with their mean, those that ran out of memory only where none ran.
func newMeasurements(all []Measurement, c *Catalogue) measurements {
	all = slices.Clone(all)
	for i := range all {
		all[i].Nodes = max(all[i].Nodes, 1)
	}
	slices.SortStableFunc(all, comparePoints)
	ms := make(measurements)
	for len(all) > 0 {
		n := 1
		for n < len(all) && comparePoints(all[0], all[n]) == 0 {
			n++
		}
		k := place{all[0].Model, all[0].GPUType}
		ms[k] = append(ms[k], newRow(all[:n], c))
		all = all[n:]
	}
	return ms
}

// comparePoints orders measurements by all but their outcome.
func comparePoints(a, b Measurement) int {
	return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.GPUType, b.GPUType), cmp.Compare(a.GPUs, b.GPUs),
		cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Fewest, b.Fewest), cmp.Compare(a.global(), b.global()), comparePlans(&a.Plan, &b.Plan))
}

func comparePlans(a, b *env.Plan) int {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Data, b.Data), cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.Pipeline, b.Pipeline),
		cmp.Compare(a.MicroBatch, b.MicroBatch), cmp.Compare(a.ZeRO, b.ZeRO),
		cmp.Compare(flag(a.Checkpoint), flag(b.Checkpoint)), cmp.Compare(flag(a.Offload), flag(b.Offload)))
}

// newRow merges the measurements of one point and plan.
func newRow(ms []Measurement, c *Catalogue) row {
	first := &ms[0]
	q := first.query(c)
	r := row{gpus: q.gpus, nodes: q.nodes, fewest: q.fewestPerNode(), global: q.global, known: first.Plan != env.Plan{}}
	sum, ran := 0.0, 0
	for i := range ms {
		if ms[i].StepsPerSecond > 0 {
			sum += ms[i].StepsPerSecond
			ran++
		}
	}
	r.samples = sum / float64(max(ran, 1)) / float64(first.GPUs) * float64(q.global)
	plan, ok := q.complete(first.Plan)
	if ok {
		r.ratio = r.samples * q.iteration(&plan) / float64(q.global)
	}
	switch {
	case r.known && ok:
		r.plan = plan
	case r.known: // it ran, whatever the memory model says
		r.plan = first.Plan
		r.plan.MicroBatch = max(r.plan.MicroBatch, 1)
	}
	return r
}

// correct returns the answer to q: the fastest measured row where there is one,
// else the analytic plan and samples/s, corrected by rows of the same model and
// GPU type. ok says whether the analytic model found a plan.
func (ms measurements) correct(q *query, plan env.Plan, samples float64, ok bool) (env.Plan, float64, bool) {
	rows := ms[place{q.m.Name, q.g.Name}]
	if fastest := at(rows, q); fastest != nil {
		return fastest.answer(q, plan, ok)
	}
	if !ok {
		return env.Plan{}, 0, false
	}
	return plan, scaled(rows, q, &plan, samples), true
}

// at returns the fastest row at the very point of q, nil if there is none. A
// part of a GPU was not measured.
func at(rows []row, q *query) *row {
	var fastest *row
	for i := range rows {
		r := &rows[i]
		if r.gpus == q.gpus && r.nodes == q.nodes && r.fewest == q.fewestPerNode() && r.global == q.global && q.share <= 1 && (fastest == nil || r.samples > fastest.samples) {
			fastest = r
		}
	}
	return fastest
}

// answer returns the measured throughput with the plan it was measured under,
// or the analytic plan where that is not known.
func (r *row) answer(q *query, plan env.Plan, ok bool) (env.Plan, float64, bool) {
	if r.samples == 0 {
		return env.Plan{}, 0, false
	}
	switch {
	case r.known:
		plan = r.plan
	case !ok: // the measurement shows that it fits
		plan = env.Plan{Data: q.gpus, Tensor: 1, Pipeline: 1, MicroBatch: ceilDiv(q.global, q.gpus)}
	}
	return plan, r.samples, true
}
