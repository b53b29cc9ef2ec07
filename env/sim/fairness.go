package sim

import (
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// record returns the finished job that f ends.
func (s *Sim) record(f *finish) metrics.Job {
	j, x := &s.state.Jobs[f.job], &s.active[f.job]
	job := &s.ep.jobs[x.job]
	sharers := max(1, (f.area-x.area)/(f.at-x.since).Seconds())
	return metrics.Job{
		ID: j.ID, Submit: j.Submit, Start: x.first, Finish: f.at,
		GPUs: j.GPUs, Service: j.Service, Restarts: j.Restarts,
		Isolated: ceilSeconds(job.Work / s.isolatedRate(j, sharers)),
		Ideal:    s.ideal(job.Work, j.Strategies),
		Weight:   j.Weight, Deadline: j.Deadline,
	}
}

// ideal returns the time a job needs alone on its fastest candidate, its first
// start included.
func (s *Sim) ideal(work float64, strategies []env.Strategy) time.Duration {
	best := time.Duration(math.MaxInt64)
	for k := range strategies {
		st := &strategies[k]
		if st.GPUs > s.capacity[st.Type] {
			continue
		}
		d := ceilSeconds((work - work*0x1p-50) / st.Throughput)
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
func (s *Sim) isolatedRate(j *env.JobState, n float64) float64 {
	rate, total := s.isolatedSum(j, n, true)
	if total == 0 {
		rate, total = s.isolatedSum(j, n, false)
	}
	return rate / max(1, total)
}

// isolatedSum returns Σ_t X[m,t]·throughput and Σ_t X[m,t] before scaling.
func (s *Sim) isolatedSum(j *env.JobState, n float64, requested bool) (rate, total float64) {
	for t, gpus := range s.capacity {
		best := -1
		for k := range j.Strategies {
			st := &j.Strategies[k]
			if st.Type != t || st.GPUs > gpus || requested && st.GPUs != j.GPUs {
				continue
			}
			if best < 0 || st.Throughput > j.Strategies[best].Throughput {
				best = k
			}
		}
		if best < 0 {
			continue
		}
		x := float64(gpus) / (n * float64(j.Strategies[best].GPUs))
		rate += float64(x * j.Strategies[best].Throughput)
		total += x
	}
	return rate, total
}
