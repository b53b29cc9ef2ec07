package sim

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env/metrics"
)

// record returns the job that f ends. What it would have needed is that for the
// steps after which it left. A job that was withdrawn has no ρ, set to 1 here.
func (s *Sim) record(f *finish) metrics.Job {
	j, x := &s.state.Jobs[f.job], &s.active[f.job]
	sharers := max(1, (f.area-x.area)/(f.at-x.since).Seconds())
	out := metrics.Job{
		ID: j.ID, Submit: j.Submit, Start: x.first, Finish: f.at,
		GPUs: j.GPUs, Service: j.Service, Restarts: j.Restarts, Outcome: f.outcome,
		Weight: j.Weight, Deadline: j.Deadline,
	}
	switch {
	case f.outcome != metrics.Cancelled:
		out.Isolated = ceilSeconds(x.goal / s.isolatedRate(x.job, sharers))
		out.Ideal = s.ideal(x.goal, x.job)
	case j.Ran == 0:
		out.Start, out.Isolated, out.Ideal = f.at, out.JCT(), 1
	default:
		out.Isolated = out.JCT()
		out.Ideal = min(s.ideal(j.Done, x.job), out.JCT()) // it may have run for less than a restart
	}
	if len(s.more) > 0 {
		out.Interruptions = int(s.more[x.job].interruptions)
	}
	return out
}

// ideal returns the time a job needs for so many steps alone on its fastest
// candidate, its first start included.
func (s *Sim) ideal(work float64, job int) time.Duration {
	best, j, strategies := never, &s.ep.jobs[job], s.ep.strategies[job]
	for k := range strategies {
		st := &strategies[k]
		if !s.possible(st) {
			continue
		}
		d := ceilSeconds((work - work*0x1p-50) / s.speed(j, st))
		if !s.cfg.FreeRestarts && d <= math.MaxInt64-st.Restart {
			d += st.Restart
		}
		best = min(best, d)
	}
	return best
}

// isolatedRate returns the steps/s of j under an exclusive 1/n share of the
// cluster, as in the isolated allocation of Gavel (OSDI 2020; it divides by it in
// its finish-time fairness): job m runs the fraction
//
//	X[m,t] = C[t] / (n·g[m]), scaled so that Σ_t X[m,t] <= 1
//
// of the time on type t, where C[t] is the number of GPUs of the type and g[m]
// the number of GPUs it takes. Only types for which it has a candidate with the
// requested number of GPUs count, each with the fastest of these; a job without
// any uses its fastest candidate of each type.
func (s *Sim) isolatedRate(job int, n float64) float64 {
	rate, total := s.isolatedSum(job, n, true)
	if total == 0 {
		rate, total = s.isolatedSum(job, n, false)
	}
	return rate / max(1, total)
}

// isolatedSum returns Σ_t X[m,t]·throughput and Σ_t X[m,t] before scaling.
func (s *Sim) isolatedSum(job int, n float64, requested bool) (rate, total float64) {
	j, strategies := &s.ep.jobs[job], s.ep.strategies[job]
	for t, gpus := range s.capacity {
		best, speed := -1, 0.0
		for k := range strategies {
			st := &strategies[k]
			if st.Type != t || requested && st.GPUs != j.GPUs || !s.possible(st) {
				continue
			}
			if v := s.speed(j, st); best < 0 || v > speed {
				best, speed = k, v
			}
		}
		if best < 0 {
			continue
		}
		x := float64(gpus) / (n * strategies[best].Held())
		rate += float64(x * speed)
		total += x
	}
	return rate, total
}
