package tune

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Generator generates the jobs of possible futures. The workload that
// datasets/synth fits is one.
type Generator interface {
	// Generate returns the jobs submitted in [from, from+horizon), ordered by
	// (Submit, ID): a pure function of its arguments.
	Generate(seed uint64, from, horizon time.Duration) ([]env.Job, error)
}

// Problem is a decision to be searched: how to configure the scheduler from
// this state on.
type Problem struct {
	State *env.State
	// Finished holds jobs that the cluster has run to their end, with their
	// true work: where State knows no durations, the remaining work of its
	// jobs is sampled from theirs.
	Finished []env.Job
	Arrivals Generator
	// Incumbent is the index of the configuration in force.
	Incumbent int
	// Seed is that of the search; equal problems give equal scores.
	Seed uint64
}

// future draws the i-th future of p. It depends on p and i alone, so every
// configuration meets the same one.
func (e *Engine) future(p *Problem, i int) (sim.Start, error) {
	name := "tune/future/" + strconv.Itoa(i)
	jobs, err := p.Arrivals.Generate(rng.Seed(p.Seed, name), p.State.Now, e.cfg.Horizon)
	if err != nil {
		return sim.Start{}, fmt.Errorf("tune: future %d: arrivals: %w", i, err)
	}
	jobs = slices.Clone(jobs)
	renumber(jobs, p.State)
	remaining, err := e.sampleRemaining(p, rng.New(p.Seed, name))
	if err != nil {
		return sim.Start{}, fmt.Errorf("tune: future %d: remaining work: %w", i, err)
	}
	return sim.Start{State: p.State, Remaining: remaining, Future: jobs}, nil
}

// renumber gives generated jobs the IDs that follow those of the state.
func renumber(jobs []env.Job, s *env.State) {
	last := int64(0)
	for i := range s.Jobs {
		last = max(last, s.Jobs[i].ID)
	}
	for i := range jobs {
		jobs[i].ID = last + 1 + int64(i)
	}
}

// sampleRemaining draws the true steps left of every job of the state from what
// is known about them. Each job takes one number from r, whatever is known.
//
//	oracle:   the state tells
//	estimate: the total is the estimate times exp(σ·z), given that it exceeds
//	          what is done
//	none:     the total time at full speed is that of a finished job, given that
//	          it exceeds the time done
func (e *Engine) sampleRemaining(p *Problem, r *rand.Rand) ([]float64, error) {
	remaining := make([]float64, len(p.State.Jobs))
	var lengths []float64
	if p.State.Knowledge == env.None {
		var err error
		if lengths, err = e.lengths(p.Finished); err != nil {
			return nil, err
		}
	}
	for i := range remaining {
		j := &p.State.Jobs[i]
		u := r.Float64()
		switch p.State.Knowledge {
		case env.Oracle:
			remaining[i] = j.Remaining
		case env.Estimate:
			remaining[i] = longerThan(j.Done, j.Done+j.Remaining, e.cfg.Sim.EstimateSigma, u) - j.Done
		default:
			rate := e.rate(j.Strategies, j.GPUs)
			done := j.Done / rate
			remaining[i] = (sampleLonger(lengths, done, u) - done) * rate
		}
		// A job that is still there has something left, if only a step's worth.
		remaining[i] = max(remaining[i], 1e-6*(1+j.Done))
	}
	return remaining, nil
}

// longerThan returns the quantile u of expected·exp(σ·z), z standard normal,
// given that it exceeds done; 0 <= u < 1.
func longerThan(done, expected, sigma, u float64) float64 {
	least := math.Inf(-1)
	if done > 0 {
		least = math.Log(done/expected) / sigma
	}
	z := math.Sqrt2 * math.Erfcinv((1-u)*math.Erfc(least/math.Sqrt2))
	if least > 5 {
		// Erfcinv has no digits left here; in the far tail z² − least² is
		// exponential with mean 2 (Marsaglia 1964).
		z = math.Sqrt(least*least - 2*math.Log1p(-u))
	}
	return expected * math.Exp(sigma*max(z, least))
}

// sampleLonger returns one of lengths, which are ascending, that exceeds done,
// each with the same probability. Past the longest it follows a Pareto tail of
// index 1: a job that has outlived all others is expected to last as long again
// (median), as under the heavy tails of real clusters.
func sampleLonger(lengths []float64, done, u float64) float64 {
	first, found := slices.BinarySearch(lengths, done)
	for found && first < len(lengths) && lengths[first] == done {
		first++
	}
	if n := len(lengths) - first; n > 0 {
		return lengths[first+min(n-1, int(u*float64(n)))]
	}
	return max(done, 60) / (1 - min(u, 0.99))
}

// lengths returns the time that each of the jobs takes at full speed on the
// GPUs it requested, in seconds, ascending.
func (e *Engine) lengths(jobs []env.Job) ([]float64, error) {
	lengths := make([]float64, len(jobs))
	for i := range jobs {
		strategies, err := e.cfg.Sim.Candidates.Strategies(&jobs[i], &e.cfg.Sim.Cluster)
		if err != nil {
			return nil, fmt.Errorf("job %d: %w", jobs[i].ID, err)
		}
		lengths[i] = jobs[i].Work / e.rate(strategies, jobs[i].GPUs)
	}
	slices.Sort(lengths)
	return lengths, nil
}

// rate returns the throughput of the fastest strategy with the requested number
// of GPUs, or of the fastest of all if there is none.
func (e *Engine) rate(strategies []env.Strategy, gpus int) float64 {
	st := slices.MaxFunc(strategies, func(a, b env.Strategy) int {
		if (a.GPUs == gpus) != (b.GPUs == gpus) {
			if a.GPUs == gpus {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.Throughput, b.Throughput)
	})
	return st.Throughput
}
