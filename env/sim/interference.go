package sim

import (
	"math"

	"github.com/yardmaster/yardmaster/env"
)

// Interference says how fast jobs run on GPUs that they share. The results are
// pure functions of the arguments, finite and >= 0, of models, batches, GPUs and
// strategies only: a policy may be told of them. It is called where jobs start
// and stop, not in every round.
//
// Strategy.Throughput of a strategy that shares its GPUs is what a policy should
// expect; these factors say what comes of it.
type Interference interface {
	// Alone returns by what the throughput of a under st is multiplied while it
	// has the GPUs to itself.
	Alone(a *env.Job, st *env.Strategy) float64
	// Beside returns the same while b, under with, holds another part of a GPU.
	// 0 is that both do not fit: a makes no progress.
	Beside(a *env.Job, st *env.Strategy, b *env.Job, with *env.Strategy) float64
}

// interfere works out the rates of the jobs that share GPUs: a job is as slow as
// its slowest GPU, and on a GPU the factors of the others multiply. Where pairs
// were measured, as by Gavel (OSDI 2020), that is exact for two jobs and an
// assumption for more.
func (s *Sim) interfere() {
	if !s.placement.stirred {
		return
	}
	s.placement.stirred = false
	for i := range s.active {
		x := &s.active[i]
		if x.segment != none && s.placement.segments[x.segment].slot != none {
			m := &s.more[x.job]
			x.rate = m.base * s.factor(x.job, int(m.strategy), x.segment)
		}
	}
}

// factor returns the factor of a job under its strategy k with these pieces.
func (s *Sim) factor(job, k int, pieces int32) float64 {
	if s.cfg.Interference == nil {
		return 1
	}
	least := math.Inf(1)
	for at := pieces; at != none; at = s.placement.segments[at].next {
		least = min(least, s.factorOn(job, k, s.placement.segments[at].slot))
	}
	return least
}

// factorOn returns the factor of a job under its strategy k on one GPU.
func (s *Sim) factorOn(job, k int, slot int32) float64 {
	a, st := &s.ep.jobs[job], &s.ep.strategies[job][k]
	product, beside := 1.0, false
	g := &s.placement.slots[slot]
	for _, o := range g.holders[:g.count] {
		if int(o.job) == job {
			continue
		}
		beside = true
		product *= s.cfg.Interference.Beside(a, st, &s.ep.jobs[o.job], &s.ep.strategies[o.job][o.strategy])
	}
	if !beside {
		return s.cfg.Interference.Alone(a, st)
	}
	return product
}

// speed returns the throughput of a job under one of its strategies when it has
// its GPUs to itself.
func (s *Sim) speed(job *env.Job, st *env.Strategy) float64 {
	if st.Share <= 1 {
		return st.Throughput
	}
	return s.speedAlone(job, st)
}

// speedAlone is speed of a strategy that shares GPUs. Kept out of line, so that
// speed itself is small enough to be inlined: it is called for every strategy of
// every job that comes or goes.
//
//go:noinline
func (s *Sim) speedAlone(job *env.Job, st *env.Strategy) float64 {
	if s.cfg.Interference == nil {
		return st.Throughput
	}
	return st.Throughput * s.cfg.Interference.Alone(job, st)
}

// possible reports whether the cluster has the GPUs of st when all its nodes are
// in service.
func (s *Sim) possible(st *env.Strategy) bool {
	return st.GPUs <= s.capacity[st.Type] || st.Share > 1 && st.Parts() <= s.capacity[st.Type]*env.PartsPerGPU
}
