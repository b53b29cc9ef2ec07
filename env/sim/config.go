package sim

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Workload returns the jobs of the episode with this seed, ordered by
// (Submit, ID), IDs unique. The simulator owns the result. A workload that does
// not depend on chance may ignore the seed.
type Workload func(seed uint64) ([]env.Job, error)

// Candidates generates the strategies of a job on a cluster. The result is
// shared and never modified. The job it gets has its true work replaced by 1,
// so that no candidate can tell a policy how long the job is.
type Candidates interface {
	Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error)
}

// Config describes a simulated cluster. The zero value of every field but
// Cluster and Candidates is its default.
type Config struct {
	Cluster    env.Cluster
	Workload   Workload   // nil: episodes start with ResetTo only
	Candidates Candidates // strategies of every job

	Round     time.Duration // time between decisions, at most MaxRound; default 360 s, that of Gavel (OSDI 2020)
	MaxRounds int64         // decisions after which an episode is truncated; 0 is no limit

	Knowledge     env.Knowledge // what states tell about remaining work; default oracle
	EstimateSigma float64       // standard deviation of the log of estimated over true work where Knowledge is estimate; default 0.8

	// ThroughputSigma is the standard deviation of the log of shown over true
	// throughput, one draw for each job and GPU type; default 0: policies see the
	// truth. Once a job has made progress for Profiling on a type, default any
	// time at all, they see the truth there. Schedulers that estimate throughputs
	// start from errors of this kind: Gavel (OSDI 2020) from profiled pairs of
	// similar jobs, Sia (SOSP 2023) from one GPU per type.
	ThroughputSigma float64
	Profiling       time.Duration

	Objective       Objective     // what rewards add up to; default JCT
	FairnessPenalty time.Duration // of FairJCT, for a weight of 1 and a ρ of 2; default 1 h

	FreeRestarts   bool      // starting and moving take no time
	FreePlacement  bool      // nodes do not matter; neither failures nor interference go with it
	SpreadSlowdown float64   // throughput is multiplied by this for every doubling of the nodes beyond Strategy.Nodes; 0 < x <= 1; default 0.9
	Placement      Placement // which nodes jobs get; default Consolidate

	Interference Interference  // how jobs that share GPUs slow each other down; nil: not at all
	Failures     Failures      // of nodes; default none
	Checkpoint   time.Duration // progress between two checkpoints, of which a failure loses what came after the last; writing one takes no time; default 1 h
	Quotas       []QuotaChange // of tenants, ordered by At; default none

	Window time.Duration // stretch of time State.Recent covers, rounded up to rounds; default 1 h
}

// Limits on time, which keep the clock from running over: a time.Duration holds 292 years.
const (
	MaxRound = 365 * 24 * time.Hour
	MaxClock = 250 * 365 * 24 * time.Hour // of a decision, and of a submission
)

// Defaults of Config.
const (
	DefaultRound          = 360 * time.Second
	DefaultEstimateSigma  = 0.8
	DefaultSpreadSlowdown = 0.9
	DefaultWindow         = time.Hour

	DefaultFairnessPenalty = time.Hour
	DefaultCheckpoint      = time.Hour
)

func (c *Config) fillDefaults() {
	if c.Round == 0 {
		c.Round = DefaultRound
	}
	if c.EstimateSigma == 0 {
		c.EstimateSigma = DefaultEstimateSigma
	}
	if c.SpreadSlowdown == 0 {
		c.SpreadSlowdown = DefaultSpreadSlowdown
	}
	if c.Window == 0 {
		c.Window = DefaultWindow
	}
	if c.FairnessPenalty == 0 {
		c.FairnessPenalty = DefaultFairnessPenalty
	}
	if c.Checkpoint == 0 {
		c.Checkpoint = DefaultCheckpoint
	}
	c.Failures.fillDefaults()
}

func (c *Config) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("sim: config: %s is %v, want %s", field, value, want))
	}
	if err := c.Cluster.Validate(); err != nil {
		errs = append(errs, err)
	}
	if c.Candidates == nil {
		bad("Candidates", nil, "a generator of strategies")
	}
	if c.Round < 0 || c.Round > MaxRound {
		bad("Round", c.Round, fmt.Sprintf("> 0 and at most %v", MaxRound))
	}
	if c.MaxRounds < 0 {
		bad("MaxRounds", c.MaxRounds, ">= 0")
	}
	if c.Knowledge > env.None {
		bad("Knowledge", c.Knowledge, "oracle, estimate or none")
	}
	if c.Objective > FairJCT {
		bad("Objective", c.Objective, "jct, delay, tardiness, misses or fair-jct")
	}
	if !(c.EstimateSigma > 0) || c.EstimateSigma > maxSigma {
		bad("EstimateSigma", c.EstimateSigma, fmt.Sprintf("> 0 and <= %d", maxSigma))
	}
	if !(c.SpreadSlowdown > 0 && c.SpreadSlowdown <= 1) {
		bad("SpreadSlowdown", c.SpreadSlowdown, "> 0 and <= 1")
	}
	if c.Window < 0 || c.Window > MaxClock || c.Round > 0 && c.Window/c.Round > maxWindowRounds {
		bad("Window", c.Window, fmt.Sprintf("> 0, at most %d rounds and at most %v", maxWindowRounds, MaxClock))
	}
	if err := c.validateSwitches(bad); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// validateSwitches checks what is off by default.
func (c *Config) validateSwitches(bad func(field string, value any, want string)) error {
	if !(c.ThroughputSigma >= 0) || c.ThroughputSigma > maxSigma {
		bad("ThroughputSigma", c.ThroughputSigma, fmt.Sprintf("0 to %d", maxSigma))
	}
	if c.Profiling < 0 || c.Profiling > 0 && c.ThroughputSigma == 0 {
		bad("Profiling", c.Profiling, ">= 0, and 0 without ThroughputSigma: there is nothing to find out")
	}
	if c.FairnessPenalty < 0 {
		bad("FairnessPenalty", c.FairnessPenalty, ">= 0")
	}
	if c.Placement > Spread {
		bad("Placement", c.Placement, "consolidate or spread")
	}
	if c.Checkpoint < 0 {
		bad("Checkpoint", c.Checkpoint, "> 0")
	}
	if c.FreePlacement && (c.Failures.any() || c.Interference != nil) {
		bad("FreePlacement", true, "false with Failures or Interference: they go by nodes and GPUs")
	}
	return errors.Join(c.Failures.validate(len(c.Cluster.Nodes)), validateQuotaChanges(c.Quotas, &c.Cluster))
}

// maxSigma keeps exp(σ·z) far from overflow for every z that can be drawn.
const maxSigma = 10

// maxWindowRounds bounds the memory and the time per round of State.Recent.
const maxWindowRounds = 100_000

// windowRounds returns the length of State.Recent in rounds.
func (c *Config) windowRounds() int {
	return int((c.Window + c.Round - 1) / c.Round)
}

// ceilSeconds returns x seconds in nanoseconds, rounded up, at most the longest
// duration and at least 1 ns.
func ceilSeconds(x float64) time.Duration {
	ns := math.Ceil(x * 1e9)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns < 1:
		return 1
	}
	return time.Duration(ns)
}
