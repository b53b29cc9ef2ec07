package perf

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// Measurement is one measured throughput.
type Measurement struct {
	Model   string
	Batch   int // samples per step and worker
	GPUType string
	GPUs    int
	Nodes   int // the GPUs were spread over; 0 is 1
	// Plan that was measured; its zero value is a plan that is not known, which
	// is taken to be the model's best.
	Plan env.Plan
	// StepsPerSecond is summed over the workers: samples/s divided by Batch.
	// 0 says that it was tried and ran out of memory.
	StepsPerSecond float64
	Source         string // for reports; may be empty
}

func (r *Measurement) validate(c *Catalogue) error {
	if _, ok := c.Model(r.Model); !ok {
		return c.unknownModel(r.Model)
	}
	if _, ok := c.GPU(r.GPUType); !ok {
		return c.unknownGPU(r.GPUType)
	}
	if r.Batch < 1 || r.GPUs < 1 || r.Batch > maxGlobal/r.GPUs {
		return fmt.Errorf("perf: batch %d on %d GPUs, want both >= 1 and at most %d samples per iteration", r.Batch, r.GPUs, maxGlobal)
	}
	if r.Nodes < 0 || r.Nodes > r.GPUs {
		return fmt.Errorf("perf: %d nodes for %d GPUs, want 1 to gpus", r.Nodes, r.GPUs)
	}
	if math.IsNaN(r.StepsPerSecond) || math.IsInf(r.StepsPerSecond, 0) || r.StepsPerSecond < 0 {
		return fmt.Errorf("perf: %v steps/s, want finite and >= 0", r.StepsPerSecond)
	}
	if p := &r.Plan; *p != (env.Plan{}) && (p.Data < 1 || p.Tensor < 1 || p.Pipeline < 1 || p.MicroBatch < 1 ||
		p.ZeRO < 0 || p.ZeRO > 3 || p.Data > r.GPUs || p.Tensor > r.GPUs || p.Data*p.Tensor*p.Pipeline != r.GPUs) {
		return fmt.Errorf("perf: plan %+v for %d GPUs, want degrees whose product is the GPUs, micro-batch >= 1 and ZeRO 0 to 3", *p, r.GPUs)
	}
	return nil
}

// place is what a measured row is found by.
type place struct {
	model, gpu string
}

// row is a measured point with what the analytic model says of it.
type row struct {
	gpus, nodes, global int
	plan                env.Plan // of the fastest measurement there
	samples             float64  // per second, of the fastest plan; 0 is out of memory
	ratio               float64  // measured / predicted; 0 where either is unknown
}

// measurements holds rows by model and GPU type, ordered by (GPUs, nodes,
// global batch), one per point.
type measurements map[place][]row

// newMeasurements merges the rows of each point: repeated measurements of one
// plan count with their mean, those that ran out of memory only where none ran,
// and of several plans the fastest wins.
func newMeasurements(all []Measurement, c *Catalogue) measurements {
	all = slices.Clone(all)
	for i := range all {
		all[i].Nodes = max(all[i].Nodes, 1)
	}
	slices.SortStableFunc(all, func(a, b Measurement) int {
		return cmp.Or(samePoint(a, b), comparePlans(&a.Plan, &b.Plan))
	})
	ms := make(measurements)
	for len(all) > 0 {
		n := 1
		for n < len(all) && samePoint(all[0], all[n]) == 0 {
			n++
		}
		k := place{all[0].Model, all[0].GPUType}
		ms[k] = append(ms[k], newRow(all[:n], c))
		all = all[n:]
	}
	return ms
}

func samePoint(a, b Measurement) int {
	return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.GPUType, b.GPUType),
		cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Batch, b.Batch))
}

func comparePlans(a, b *env.Plan) int {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Data, b.Data), cmp.Compare(a.Tensor, b.Tensor), cmp.Compare(a.Pipeline, b.Pipeline),
		cmp.Compare(a.MicroBatch, b.MicroBatch), cmp.Compare(a.ZeRO, b.ZeRO), cmp.Compare(flag(a.Checkpoint), flag(b.Checkpoint)))
}

// newRow merges the measurements of one point, ordered by plan.
func newRow(ms []Measurement, c *Catalogue) row {
	first := &ms[0]
	r := row{gpus: first.GPUs, nodes: first.Nodes, global: first.GPUs * first.Batch}
	for len(ms) > 0 {
		sum, ran, n := 0.0, 0, 0
		for ; n < len(ms) && ms[n].Plan == ms[0].Plan; n++ {
			if ms[n].StepsPerSecond > 0 {
				sum += ms[n].StepsPerSecond
				ran++
			}
		}
		if samples := sum / float64(max(ran, 1)) * float64(first.Batch); samples > r.samples {
			r.samples, r.plan = samples, ms[0].Plan
		}
		ms = ms[n:]
	}
	m, _ := c.Model(first.Model)
	g, _ := c.GPU(first.GPUType)
	q := &query{m: m, g: g, memory: g.MemoryGiB * gib, gpus: r.gpus, nodes: r.nodes, global: r.global}
	if _, seconds, ok := q.best(); ok {
		r.ratio = r.samples * seconds / float64(r.global)
	}
	return r
}

// correct returns the answer to q: the measured row where there is one, else
// the analytic plan and samples/s, scaled by measured / predicted at the
// nearest rows of the same model and GPU type. ok says whether the analytic
// model found a plan.
func (ms measurements) correct(q *query, plan env.Plan, samples float64, ok bool) (env.Plan, float64, bool) {
	rows := ms[place{q.m.Name, q.g.Name}]
	if i := slices.IndexFunc(rows, func(r row) bool {
		return r.gpus == q.gpus && r.nodes == q.nodes && r.global == q.global
	}); i >= 0 {
		return rows[i].answer(q, plan, ok)
	}
	if !ok {
		return env.Plan{}, 0, false
	}
	return plan, samples * nearestRatio(rows, q), true
}

// answer returns the measured throughput with the plan it was measured under,
// or the analytic plan where that is not known.
func (r *row) answer(q *query, plan env.Plan, ok bool) (env.Plan, float64, bool) {
	if r.samples == 0 {
		return env.Plan{}, 0, false
	}
	switch {
	case r.plan != env.Plan{}:
		plan = r.plan
	case !ok: // the measurement shows that it fits
		plan = env.Plan{Data: q.gpus, Tensor: 1, Pipeline: 1, MicroBatch: ceilDiv(q.global, q.gpus)}
	}
	return plan, r.samples, true
}

// nearestRatio returns the geometric mean of measured / predicted over the rows
// nearest to q, counted in doublings of GPUs, nodes and samples per GPU; 1 if
// there is none.
func nearestRatio(rows []row, q *query) float64 {
	nearest, sum, n := math.Inf(1), 0.0, 0
	for i := range rows {
		r := &rows[i]
		if r.ratio == 0 {
			continue
		}
		d := doublings(r.gpus, q.gpus) + doublings(r.nodes, q.nodes) + math.Abs(math.Log2(
			float64(r.global)/float64(r.gpus)*float64(q.gpus)/float64(q.global)))
		switch {
		case d < nearest-1e-9:
			nearest, sum, n = d, math.Log(r.ratio), 1
		case d < nearest+1e-9:
			sum += math.Log(r.ratio)
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return math.Exp(sum / float64(n))
}

func doublings(a, b int) float64 { return math.Abs(math.Log2(float64(a) / float64(b))) }
