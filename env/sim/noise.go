package sim

import (
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// guess gives every job, for each GPU type, an error of its throughput: all its
// strategies there look exp(σ·z) times as fast as they are, z standard normal.
// ep.shown holds what policies see; ep.strategies stays the truth. The draws
// depend on nothing but the seed, the number of the job and the type. known says
// how many jobs, the first ones, are known already.
func (ep *episode) guess(seed uint64, sigma float64, types, known int) {
	r := rng.New(seed, "throughput")
	ep.shown = make([][]env.Strategy, len(ep.jobs))
	factors := make([]float64, types)
	for i := range ep.jobs {
		for t := range factors {
			factors[t] = math.Exp(sigma * r.NormFloat64())
		}
		if i < known {
			ep.shown[i] = ep.strategies[i]
			continue
		}
		ep.shown[i] = slices.Clone(ep.strategies[i])
		for k := range ep.shown[i] {
			st := &ep.shown[i][k]
			st.Throughput = max(st.Throughput*factors[st.Type], math.SmallestNonzeroFloat64)
		}
	}
}

// visible returns the strategies that policies see of a job that has not run.
func (ep *episode) visible(job int) []env.Strategy {
	if ep.shown != nil {
		return ep.shown[job]
	}
	return ep.strategies[job]
}

// profile notes that job i, which runs, made progress for this long. Once that
// adds up to Config.Profiling on one GPU type, its throughputs there are known.
func (s *Sim) profile(i int, running time.Duration) {
	job, t := s.active[i].job, s.state.Jobs[i].Strategies[s.state.Jobs[i].Current].Type
	at := job*len(s.capacity) + t
	before := s.profiled[at]
	s.profiled[at] += running
	if running <= 0 || s.profiled[at] < s.cfg.Profiling || before > 0 && before >= s.cfg.Profiling {
		return
	}
	j := &s.state.Jobs[i]
	j.Strategies = slices.Clone(j.Strategies) // other states share what they have
	for k := range j.Strategies {
		if j.Strategies[k].Type == t {
			j.Strategies[k] = s.ep.strategies[job][k]
		}
	}
}
