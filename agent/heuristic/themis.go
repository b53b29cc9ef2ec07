package heuristic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// ThemisConfig holds the parameters of [Themis]. The zero value is the default.
type ThemisConfig struct {
	// Lease is how long a job keeps its GPUs. 0 means 20 minutes, the setting of
	// the paper.
	Lease time.Duration
	// Fairness is the knob f: GPUs are offered first to the 1−f of the jobs that
	// are worst off. 0 means 0.8, the setting of the paper.
	Fairness float64
}

func (c *ThemisConfig) fillDefaults() {
	if c.Lease == 0 {
		c.Lease = 20 * time.Minute
	}
	if c.Fairness == 0 {
		c.Fairness = 0.8
	}
}

func (c *ThemisConfig) validate() error {
	var errs []error
	if c.Lease < 0 {
		errs = append(errs, fmt.Errorf("heuristic: themis: Lease is %v, want > 0", c.Lease))
	}
	if !(c.Fairness >= 0 && c.Fairness < 1) {
		errs = append(errs, fmt.Errorf("heuristic: themis: Fairness is %v, want 0 to below 1", c.Fairness))
	}
	return errors.Join(errs...)
}

// Themis gives out GPUs by finish-time fairness (Mahajan et al., Themis, NSDI
// 2020, sections 3 to 5). A job's ρ is the time from its submission to its end if
// it runs from now on, over the time it would have taken alone on 1/n of the
// cluster. A job that gets GPUs holds them for a lease. GPUs without one are
// offered to the 1−f of the jobs with the largest ρ, and what these cannot use to
// all others.
//
// The paper's auction is simplified: there is one app per job, bids are true, the
// hidden payments that make them so are left out, and instead of the product of
// all valuations each GPU goes, worst ρ first, to the strategy in which the job's
// ρ is least; jobs are rigid. Two things that a state does not hold are derived.
// The lease in force is told by the time a job has spent on GPUs: one is over
// whenever that has passed a multiple of the lease. And 1/n is of the jobs that
// are here now. Where nothing is known about the remaining work it is taken to be
// the work done so far and one round at full speed.
type Themis struct{ cfg ThemisConfig }

// NewThemis returns a Themis policy.
func NewThemis(cfg ThemisConfig) (*Themis, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Themis{cfg}, nil
}

// Decide implements agent.Policy.
func (t *Themis) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if t.leased(s, j) && p.fits(j, &j.Strategies[j.Current]) {
			p.give(i, j.Current)
		}
	}
	isolated := newIsolation(s)
	var bids []ranked
	for i := range s.Jobs {
		if j := &s.Jobs[i]; p.given[i] == env.Idle {
			bids = append(bids, ranked{key: -isolated.rho(j), id: j.ID, job: int32(i)})
		}
	}
	slices.SortFunc(bids, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id))
	})
	offered := int(math.Ceil((1 - t.cfg.Fairness) * float64(len(s.Jobs))))
	for _, bid := range bids[:min(offered, len(bids))] {
		p.giveRigid(int(bid.job))
	}
	// What is left goes to the others, those first who need no restart.
	for _, running := range []bool{true, false} {
		for _, bid := range bids {
			if j := &s.Jobs[bid.job]; p.given[bid.job] == env.Idle && (j.Current != env.Idle) == running {
				p.giveRigid(int(bid.job))
			}
		}
	}
	return p.given, nil
}

// leased reports whether j holds GPUs whose lease is not over.
func (t *Themis) leased(s *env.State, j *env.JobState) bool {
	if j.Current == env.Idle {
		return false
	}
	before := max(0, j.Ran-s.RoundLen)
	return j.Ran/t.cfg.Lease == before/t.cfg.Lease
}

// isolation is the cluster cut in as many equal parts as there are jobs.
type isolation struct {
	state    *env.State
	capacity []int
}

func newIsolation(s *env.State) *isolation { return &isolation{s, s.Capacity()} }

// rho returns ρ of j: (age + time left at its best) / (all its work at the rate
// of an exclusive 1/n of every GPU type).
func (x *isolation) rho(j *env.JobState) float64 {
	best := fastest(j)
	left := remaining(x.state, j, best)
	alone := (j.Done + left) / x.rate(j)
	return ((x.state.Now - j.Submit).Seconds() + left/best.Throughput) / alone
}

// rate returns the steps/s of j on 1/n of the cluster: it takes turns on the GPU
// types by their numbers, each in its fastest strategy there, as much of the time
// as its share is of the GPUs that this strategy takes, which is at most all of it.
// It is Gavel's isolated policy (OSDI 2020) for strategies.
func (x *isolation) rate(j *env.JobState) float64 {
	shares, steps := 0.0, 0.0
	for t, gpus := range x.capacity {
		var best *env.Strategy
		for k := range j.Strategies {
			st := &j.Strategies[k]
			if st.Type == t && st.GPUs <= gpus && (best == nil || st.Throughput > best.Throughput) {
				best = st
			}
		}
		if best == nil {
			continue
		}
		share := float64(gpus) / float64(len(x.state.Jobs)) / best.Held()
		shares += share
		steps += share * best.Throughput
	}
	if steps == 0 { // no strategy fits the cluster
		return fastest(j).Throughput / float64(len(x.state.Jobs))
	}
	return steps / max(1, shares)
}
