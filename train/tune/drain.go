package tune

import (
	"cmp"
	"slices"

	"github.com/yardmaster/yardmaster/env"
)

// drain estimates what the jobs left at the end of a horizon still cost: the
// weighted time, in job-hours, that they spend in the system if no more arrive
// and the cluster is a fluid that serves the cheapest first (Smith's rule, no
// restarts, no gangs, no job faster than alone).
//
// With it a configuration gains nothing by finishing short jobs at the expense
// of the work left, nor by starving long jobs that finish after the horizon:
// the mean over the jobs that finished would reward both.
type drain struct {
	capacity []int      // [T]
	jobs     []draining // scratch
}

// draining is one job of the fluid.
type draining struct {
	gpuTime float64 // GPU-seconds left on the job's fastest type
	alone   float64 // seconds left on it
	weight  float64
	id      int64
}

// cost returns the drain of s, whose jobs have these steps left.
func (d *drain) cost(s *env.State, remaining []float64) float64 {
	d.jobs = d.jobs[:0]
	worth := make([]float64, len(d.capacity)) // [T], sum over jobs of speed relative to the fastest type
	for i := range s.Jobs {
		j := &s.Jobs[i]
		best := fastestRigid(j)
		alone := remaining[i] / best.Throughput
		d.jobs = append(d.jobs, draining{gpuTime: alone * best.Held(), alone: alone, weight: j.Weight, id: j.ID})
		perGPU := best.Throughput / best.Held()
		for t := range worth {
			worth[t] += speedOn(j, t) / perGPU
		}
	}
	slices.SortFunc(d.jobs, func(a, b draining) int {
		return cmp.Or(cmp.Compare(a.gpuTime/a.weight, b.gpuTime/b.weight), cmp.Compare(a.id, b.id))
	})
	return d.serve(worth)
}

// serve returns the weighted completion times of d.jobs in their order.
func (d *drain) serve(worth []float64) float64 {
	capacity := 0.0 // in GPUs of each job's fastest type, for the mean job
	for t, n := range d.capacity {
		capacity += float64(n) * worth[t] / float64(max(1, len(d.jobs)))
	}
	cost, ahead := 0.0, 0.0
	for i := range d.jobs {
		j := &d.jobs[i]
		ahead += j.gpuTime
		cost += j.weight * max(j.alone, ahead/capacity)
	}
	return cost / 3600
}

// speedOn returns the steps/s per GPU of j on type t with the GPUs nearest to
// its request that it has a strategy for there, 0 if it has none.
func speedOn(j *env.JobState, t int) float64 {
	best := -1
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if st.Type == t && (best < 0 || nearer(j, st, &j.Strategies[best])) {
			best = k
		}
	}
	if best < 0 {
		return 0
	}
	return j.Strategies[best].Throughput / j.Strategies[best].Held()
}

// fastestRigid returns the fastest strategy with the GPUs nearest to j's
// request.
func fastestRigid(j *env.JobState) *env.Strategy {
	best := &j.Strategies[0]
	for k := range j.Strategies {
		if st := &j.Strategies[k]; nearer(j, st, best) {
			best = st
		}
	}
	return best
}

// nearer reports whether a is nearer to j's request than b, or as near and
// faster.
func nearer(j *env.JobState, a, b *env.Strategy) bool {
	da, db := ratio(a.GPUs, j.GPUs), ratio(b.GPUs, j.GPUs)
	return da < db || da == db && a.Throughput > b.Throughput
}

// ratio returns the greater of a and b over the smaller.
func ratio(a, b int) float64 { return float64(max(a, b)) / float64(min(a, b)) }
