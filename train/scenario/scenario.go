// Package scenario puts together what policies are trained on and compared on:
// a trace, a cluster, a load and what the policies may know. One Scenario, kept
// in the run directory, makes training, benchmark, service and replay see the
// same jobs.
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/sim"
)

// Scenario is a reproducible setting. The zero value of every field but Trace
// means its default.
type Scenario struct {
	// Trace is the path of a Parquet jobs table.
	Trace string `json:"trace"`
	// Cluster lists GPUs by type, as in "V100=16,P100=16,K80=16" (default).
	Cluster string `json:"cluster"`
	// GPUsPerNode is the size of a node. Default 4.
	GPUsPerNode int `json:"gpus_per_node"`
	// Catalogue holds paths of YAML files with GPU types and models that add to the
	// built-in ones or replace them, the later winning; see ReadCatalogue.
	Catalogue []string `json:"catalogue,omitempty"`
	// Load is the work offered over the cluster's capacity: arrivals are
	// stretched to reach it, unless all jobs arrive at once. Default 1.
	Load float64 `json:"load"`
	// Jobs is the number of consecutive jobs in an episode. Default 200.
	Jobs int `json:"jobs"`
	// Round is the time between decisions. Default 6 minutes, as in Gavel.
	Round time.Duration `json:"round_ns"`
	// Knowledge says what policies are told about remaining work. The zero
	// value is oracle; the command line asks for estimate.
	Knowledge env.Knowledge `json:"knowledge"`
	// EstimateSigma is the standard deviation of the log error of estimated
	// work. Default 0.8.
	EstimateSigma float64 `json:"estimate_sigma"`
	// Models, if not empty, are what jobs are given to train, whatever the trace
	// says; each that fits a job's GPUs is equally likely, at each of its usual
	// batch sizes. A job then lasts as long on the cluster's first GPU type as it
	// did in the trace.
	Models []string `json:"models,omitempty"`
	// Split gives the shares of the trace, by time of submission, on which
	// policies are trained, chosen and tested. Default 0.7, 0.15, 0.15.
	Split [3]float64 `json:"split"`
	// Seed separates runs: models given to jobs that have none, windows,
	// estimation errors. Default 1.
	Seed uint64 `json:"seed"`
	// Switches turn on what simulations leave out by default.
	Switches Switches `json:"switches,omitzero"`
	// Vary makes training episodes differ in more than their jobs, and chooses among them.
	Vary Vary `json:"vary,omitzero"`
}

// FillDefaults sets every field that is zero and has a default to it.
func (s *Scenario) FillDefaults() {
	s.Cluster = cmp.Or(s.Cluster, "V100=16,P100=16,K80=16")
	s.GPUsPerNode = cmp.Or(s.GPUsPerNode, 4)
	s.Load = cmp.Or(s.Load, 1)
	s.Jobs = cmp.Or(s.Jobs, 200)
	s.Round = cmp.Or(s.Round, 6*time.Minute)
	s.EstimateSigma = cmp.Or(s.EstimateSigma, 0.8)
	s.Split = cmp.Or(s.Split, [3]float64{0.7, 0.15, 0.15})
	s.Seed = cmp.Or(s.Seed, 1)
}

func (s *Scenario) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("scenario: %s is %v, want %s", field, value, want))
	}
	if s.Trace == "" {
		bad("trace", `""`, "the path of a Parquet jobs table")
	}
	if s.GPUsPerNode < 1 || s.GPUsPerNode > env.MaxGPUsPerNode {
		bad("gpus_per_node", s.GPUsPerNode, fmt.Sprintf("1 to %d", env.MaxGPUsPerNode))
	}
	if !(s.Load > 0) || s.Load > 100 {
		bad("load", s.Load, "more than 0 and at most 100")
	}
	if s.Jobs < 2 {
		bad("jobs", s.Jobs, "at least 2")
	}
	if s.Round < time.Second || s.Round > sim.MaxRound {
		bad("round", s.Round, fmt.Sprintf("a second to %v", sim.MaxRound))
	}
	if !(s.EstimateSigma >= 0) || s.EstimateSigma > 10 {
		bad("estimate_sigma", s.EstimateSigma, "0 to 10")
	}
	sum := 0.0
	for _, f := range s.Split {
		if !(f > 0) {
			bad("split", s.Split, "three shares above 0")
			break
		}
		sum += f
	}
	if math.Abs(sum-1) > 1e-9 {
		bad("split", s.Split, "shares that sum to 1")
	}
	s.Switches.validate(bad)
	s.Vary.validate(bad)
	return errors.Join(errs...)
}

// Part is a stretch of the trace: policies are trained on the first, chosen on
// the second, and tested on the third, which nothing else has seen.
type Part int

const (
	Train Part = iota
	Validation
	Test
)

var partNames = [...]string{"train", "validation", "test"}

func (p Part) String() string { return partNames[p] }
