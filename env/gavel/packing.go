package gavel

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Alone is Unit.Second of a job that has its GPUs to itself.
const Alone = -1

// Unit is what runs: a job, or a pair of jobs that share their GPUs.
type Unit struct {
	First, Second int32 // jobs, First < Second, or Alone
}

// IsPair reports whether u is two jobs.
func (u Unit) IsPair() bool { return u.Second != Alone }

// Compare orders units: jobs by ID, then pairs by their jobs.
func (u Unit) Compare(w Unit) int {
	switch {
	case u.IsPair() != w.IsPair():
		if w.IsPair() {
			return -1
		}
		return 1
	case u.First != w.First:
		return int(u.First) - int(w.First)
	}
	return int(u.Second) - int(w.Second)
}

// PackingPolicy decides which share of its time each unit spends on each GPU
// type. It may keep memory between calls, so it belongs to one Packing.
type PackingPolicy interface {
	// Allocate writes the share of its time that unit i of v should spend on
	// type t to x[i·K+t]. x is all 0 when it is called. Nothing of v or x may be
	// retained or, but for x, modified.
	Allocate(v *PackingView, x []float64) error
}

// PackingView is what a policy may know when it is asked for shares, borrowed
// until Allocate returns.
type PackingView struct {
	Types  []GPUType    // [K], in the order in which they are filled
	ByName []int        // [K], the types in ascending order of their names
	Units  []Unit       // [U], all that can run, in order: the jobs that arrived and have not left, and every pair of them with as many GPUs
	GPUs   []int        // [U], of each unit
	Rates  [][2]float64 // [U·K], steps/s of both jobs; the second is 0 for a job
}

// PackingConfig describes a simulation of a policy that packs. All fields but
// Round and Reset are needed; see [Config] for those with the same names.
type PackingConfig struct {
	Types []GPUType // each with at least one GPU
	Jobs  []Job
	// Pair returns the steps/s of jobs a < b, of as many GPUs, side by side on
	// type t; 0 where they do not fit.
	Pair   func(a, b, t int) (first, second float64)
	Policy PackingPolicy
	Round  float64 // s, default 360
	Reset  float64 // s, default 1920
}

// Packing is a simulation of a policy that packs, exactly as Gavel does it. What
// runs is a unit: it gets shares, priorities and deficits of its own. In a round a
// job is in one unit at most. A pair holds its GPUs until the later of its jobs
// stops, and both count as stopping then. Where a job of a pair leaves, its pairs
// go with it. What looks odd is so in the original: a pair starts with no time
// received where a job starts with half a round, which the next reset counts as
// half a round that it is owed.
//
// It is written for comparison, not for speed: every round looks at every pair.
// It is not safe for concurrent use.
type Packing struct {
	cfg    PackingConfig
	byName []int
	units  []*unit // in the order in which ties are broken: by the later job, itself first
	active []int32 // jobs, in order of arrival
	next   int     // the next job to arrive
	done   []float64
	failed []int // rounds in a row
	left   []bool
	jct    []float64
	worked []float64 // [K], s received by all units since the last reset

	now, roundStart, roundEnd, lastReset float64
	begun, stale                         bool
	running                              []unitRun

	busy               float64 // GPU-seconds
	rounds, unitRounds int64
}

// unit is a Unit with its standing on every type.
type unit struct {
	Unit
	gpus   int
	shared bool // had a share, if only 0, at the last reset
	on     []unitOn
}

// unitOn is a unit on one type.
type unitOn struct {
	rates                              [2]float64 // steps/s
	share, received, deficit, priority float64
}

// fits reports whether all jobs of the unit make progress.
func (u *unit) fits(t int) bool {
	r := &u.on[t].rates
	return r[0] > 0 && (!u.IsPair() || r[1] > 0)
}

// members returns the jobs of u.
func (u Unit) members() []int32 {
	if u.IsPair() {
		return []int32{u.First, u.Second}
	}
	return []int32{u.First}
}

// unitRun is a unit in a round.
type unitRun struct {
	*unit
	typ    int
	steps  [2]float64
	finish float64 // s
}

// NewPacking returns a simulation at time 0.
func NewPacking(cfg PackingConfig) (*Packing, error) {
	plain := Config{Types: cfg.Types, Jobs: cfg.Jobs, Round: cfg.Round, Reset: cfg.Reset}
	plain.fillDefaults()
	cfg.Round, cfg.Reset = plain.Round, plain.Reset
	plain.Policy = noPolicy{} // has one of another kind
	err := plain.validate()
	if cfg.Policy == nil || cfg.Pair == nil {
		err = errors.Join(err, errors.New("gavel: config: Policy or Pair is nil, want both"))
	}
	for i, t := range cfg.Types {
		if t.GPUs < 1 {
			err = errors.Join(err, fmt.Errorf("gavel: config: Types[%d] (%s) has no GPUs, leave it out", i, t.Name))
		}
	}
	if err != nil {
		return nil, err
	}
	n := len(cfg.Jobs)
	return &Packing{
		cfg: cfg, byName: byName(cfg.Types), stale: true,
		done: make([]float64, n), failed: make([]int, n), left: make([]bool, n),
		jct: slices.Repeat([]float64{math.NaN()}, n), worked: make([]float64, len(cfg.Types)),
	}, nil
}

// noPolicy stands for a policy of another kind.
type noPolicy struct{ Policy }

// Result returns what happened so far. Its JobRounds are those of units.
func (p *Packing) Result() *Result {
	r := &Result{JCT: slices.Clone(p.jct), Left: slices.Clone(p.left), End: p.now, Rounds: p.rounds, JobRounds: p.unitRounds}
	total := 0
	for _, t := range p.cfg.Types {
		total += t.GPUs
	}
	if p.now > 0 {
		r.Utilization = p.busy / (p.now * float64(total))
	}
	return r
}
