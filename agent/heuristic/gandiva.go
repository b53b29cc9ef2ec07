package heuristic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// GandivaConfig holds the parameters of [Gandiva]. The zero value is the default.
type GandivaConfig struct {
	// Slice is how long a job runs before it gives way to one that waits. 0 means
	// 30 minutes: the paper's minutes assume that suspending is nearly free.
	Slice time.Duration
	// Trial is how long a job stays where it was put before its speed there is
	// known. 0 means 10 minutes.
	Trial time.Duration
	// Packing is how much more jobs that share GPUs must do together than one
	// alone. 0 means 1.05.
	Packing float64
}

func (c *GandivaConfig) fillDefaults() {
	if c.Slice == 0 {
		c.Slice = 30 * time.Minute
	}
	if c.Trial == 0 {
		c.Trial = 10 * time.Minute
	}
	if c.Packing == 0 {
		c.Packing = 1.05
	}
}

func (c *GandivaConfig) validate() error {
	var errs []error
	if c.Slice < 0 || c.Trial < 0 {
		errs = append(errs, fmt.Errorf("heuristic: gandiva: Slice is %v and Trial %v, want both > 0", c.Slice, c.Trial))
	}
	if !(c.Packing > 0 && c.Packing <= 100) {
		errs = append(errs, fmt.Errorf("heuristic: gandiva: Packing is %v, want > 0 and at most 100", c.Packing))
	}
	return errors.Join(errs...)
}

// Gandiva shares the cluster by time slices, packing and trial and error (Xiao et
// al., Gandiva, OSDI 2018, section 3). Jobs take turns in slices. While jobs ask
// for more GPUs than there are, a job whose measured speed on a part of its GPUs
// makes sharing worth while runs so (Strategy.Share), and packs with others. A new
// job runs where most GPUs are free; when its trial is over it migrates to the GPU
// type where its measured speed, less the restart, is best.
//
// Jobs are rigid and durations are neither known nor needed. A state holds no
// list of trials: whether one is over is told by the time the job has spent on
// GPUs, and the speeds of types it has not been on are those of its strategies.
// Which jobs share a GPU is left to placement, which packs parts largest first;
// the paper tries pairs and undoes those that turn out slow, here the speed of a
// part already says so.
type Gandiva struct{ cfg GandivaConfig }

// NewGandiva returns a Gandiva policy.
func NewGandiva(cfg GandivaConfig) (*Gandiva, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &Gandiva{cfg}, nil
}

// Decide implements agent.Policy.
func (g *Gandiva) Decide(ctx context.Context, s *env.State) (env.Allocation, error) {
	p, err := newPool(ctx, s)
	if err != nil {
		return nil, err
	}
	crowded := p.load() > 0
	for _, r := range p.idleInOrder(func(job int) float64 { return g.turn(s, &s.Jobs[job]) }) {
		if p.full() {
			break
		}
		i := int(r.job)
		if crowded && g.givePacked(p, i) {
			continue
		}
		if j := &s.Jobs[i]; j.Ran >= g.cfg.Trial || !g.giveTrial(p, i) {
			p.giveRigid(i)
		}
	}
	return p.given, nil
}

// turn orders jobs: those in their slice, those that wait, longest first, then
// those whose slice is over.
func (g *Gandiva) turn(s *env.State, j *env.JobState) float64 {
	const late = 1e12 // seconds, longer than any wait
	switch {
	case j.Current == env.Idle:
		return -j.Waiting.Seconds()
	case j.Ran/g.cfg.Slice == max(0, j.Ran-s.RoundLen)/g.cfg.Slice:
		return -late
	}
	return late
}

// giveTrial puts a new job where it runs already, or on the type with the most
// free GPUs, the first of equal ones. It reports whether it could.
func (g *Gandiva) giveTrial(p *pool, job int) bool {
	j := &p.state.Jobs[job]
	gpus := p.rigidGPUs(j)
	best := env.Idle
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if st.GPUs != gpus || st.Share > 1 || !p.fits(j, st) {
			continue
		}
		if k == j.Current {
			best = k
			break
		}
		if best == env.Idle || p.budget.Free(st.Type) > p.budget.Free(j.Strategies[best].Type) {
			best = k
		}
	}
	if best != env.Idle {
		p.give(job, best)
	}
	return best != env.Idle
}

// givePacked runs job on parts of its GPUs, where that is worth while: Share jobs
// like it do more than Packing times what it does alone on the same type. It
// reports whether it did.
func (g *Gandiva) givePacked(p *pool, job int) bool {
	j := &p.state.Jobs[job]
	gpus := p.rigidGPUs(j)
	best, most := env.Idle, 0.0
	for k := range j.Strategies {
		st := &j.Strategies[k]
		if st.Share < 2 || st.GPUs != gpus || !p.fits(j, st) {
			continue
		}
		alone := wholeSpeed(j, st)
		if alone == 0 || st.Throughput*float64(st.Share) < g.cfg.Packing*alone {
			continue
		}
		if speed := p.effective(job, k); speed > most || speed == most && k == j.Current {
			best, most = k, speed
		}
	}
	if best != env.Idle {
		p.give(job, best)
	}
	return best != env.Idle
}

// wholeSpeed returns the steps/s of j on whole GPUs, as many and of the same type
// as in st; 0 where it has no such strategy.
func wholeSpeed(j *env.JobState, st *env.Strategy) float64 {
	for k := range j.Strategies {
		if x := &j.Strategies[k]; x.Share <= 1 && x.Type == st.Type && x.GPUs == st.GPUs {
			return x.Throughput
		}
	}
	return 0
}
