package gavel

import (
	"errors"
	"fmt"
	"math"
)

// Gavel's defaults: time_per_iteration of its experiments and
// minimum_time_between_allocation_resets of scheduler.py.
const (
	defaultRound = 360
	defaultReset = 1920
)

// MaxJobs bounds the memory that a Config can ask for.
const MaxJobs = 1 << 24

// GPUType is a number of alike GPUs.
type GPUType struct {
	Name string
	GPUs int
}

// Job is a job as submitted. Its ID is its index in [Config.Jobs].
type Job struct {
	Arrival float64   // s, >= 0
	GPUs    int       // needed, all of one type
	Steps   float64   // to the end, > 0, not necessarily whole
	Rates   []float64 // steps/s by GPU type, summed over the workers; 0 where it does not fit. Shared, not modified
}

// Window is a range of job IDs, First to End-1.
type Window struct{ First, End int }

// Config describes a simulation. Types, Jobs and Policy have no default.
type Config struct {
	// Types are the GPU types in the order in which the mechanism fills them,
	// in Gavel V100, P100, K80. Types without GPUs are left out.
	Types []GPUType
	Jobs  []Job // ordered by arrival
	// Policy is asked for shares. A Sim needs one of its own.
	Policy Policy
	// Window ends the simulation when its jobs have left. The zero value is
	// all jobs.
	Window Window
	Round  float64 // s, default 360
	Reset  float64 // s between two times that shares are asked for, default 1920
	// Seed is that of the original's run; only [Rules.Shuffle] draws from it.
	Seed uint64
}

func (c *Config) fillDefaults() {
	if c.Round == 0 {
		c.Round = defaultRound
	}
	if c.Reset == 0 {
		c.Reset = defaultReset
	}
	if c.Window == (Window{}) {
		c.Window = Window{0, len(c.Jobs)}
	}
}

func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		if len(errs) < 10 {
			errs = append(errs, fmt.Errorf("gavel: config: "+format, args...))
		}
	}
	if c.Policy == nil {
		bad("Policy is nil, want one")
	}
	if !positive(c.Round) || !positive(c.Reset) {
		bad("Round is %v and Reset %v, want both finite and > 0 s", c.Round, c.Reset)
	}
	if c.Window.First < 0 || c.Window.End <= c.Window.First || c.Window.End > len(c.Jobs) {
		bad("Window is %d to %d, want a part of the %d jobs", c.Window.First, c.Window.End, len(c.Jobs))
	}
	gpus := 0
	for i, t := range c.Types {
		if t.Name == "" || t.GPUs < 0 || t.GPUs > math.MaxInt32 {
			bad("Types[%d] is %q with %d GPUs, want a name and a number >= 0", i, t.Name, t.GPUs)
		}
		gpus = max(gpus, t.GPUs)
	}
	if gpus == 0 {
		bad("the %d types have no GPUs", len(c.Types))
	}
	if len(c.Jobs) > MaxJobs {
		bad("%d jobs, want at most %d", len(c.Jobs), MaxJobs)
	}
	for i := range c.Jobs {
		if err := c.checkJob(i); err != nil {
			bad("Jobs[%d]: %w", i, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Config) checkJob(i int) error {
	j := &c.Jobs[i]
	switch {
	case !(j.Arrival >= 0) || math.IsInf(j.Arrival, 1):
		return fmt.Errorf("arrival is %v, want finite and >= 0 s", j.Arrival)
	case i > 0 && j.Arrival < c.Jobs[i-1].Arrival:
		return fmt.Errorf("arrival is %v s, before that of the job before it (%v)", j.Arrival, c.Jobs[i-1].Arrival)
	case j.GPUs < 1 || j.GPUs > math.MaxInt32:
		return fmt.Errorf("needs %d GPUs, want >= 1", j.GPUs)
	case !positive(j.Steps):
		return fmt.Errorf("steps are %v, want finite and > 0", j.Steps)
	case len(j.Rates) != len(c.Types):
		return fmt.Errorf("has %d rates, want one for each of %d types", len(j.Rates), len(c.Types))
	}
	for t, r := range j.Rates {
		if r != 0 && !positive(r) {
			return fmt.Errorf("rate on %s is %v, want finite and >= 0", c.Types[t].Name, r)
		}
	}
	return nil
}

// positive reports whether x is finite and > 0; it is false for NaN.
func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
