package env

import (
	"errors"
	"fmt"
	"time"
)

// Limits on what a State may hold; see [MaxNodes].
const (
	MaxJobs       = 200_000
	MaxStrategies = 256 // per job
)

// Idle is the strategy index of a job that does not run.
const Idle = -1

// Unknown is the value of JobState.Remaining where nothing is known.
const Unknown = -1

// Knowledge says what a State tells about how long jobs will run.
type Knowledge uint8

const (
	Oracle   Knowledge = iota // the true remaining work
	Estimate                  // a noisy or predicted remaining work
	None                      // nothing: policies must go by attained service
)

var knowledgeNames = [...]string{"oracle", "estimate", "none"}

func (k Knowledge) String() string {
	if int(k) < len(knowledgeNames) {
		return knowledgeNames[k]
	}
	return fmt.Sprintf("Knowledge(%d)", uint8(k))
}

// MarshalText implements [encoding.TextMarshaler].
func (k Knowledge) MarshalText() ([]byte, error) {
	if int(k) >= len(knowledgeNames) {
		return nil, fmt.Errorf("env: knowledge %d is unknown", uint8(k))
	}
	return []byte(knowledgeNames[k]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *Knowledge) UnmarshalText(text []byte) error {
	for i, name := range knowledgeNames {
		if string(text) == name {
			*k = Knowledge(i)
			return nil
		}
	}
	return fmt.Errorf("env: knowledge is %q, want oracle, estimate or none", text)
}

// JobState is an unfinished job as policies see it.
type JobState struct {
	ID       int64         `json:"id"`
	Model    string        `json:"model"`
	Batch    int           `json:"batch"`
	GPUs     int           `json:"gpus"` // requested
	Tenant   string        `json:"tenant,omitempty"`
	Weight   float64       `json:"weight"`
	Submit   time.Duration `json:"submit_ns"`
	Deadline time.Duration `json:"deadline_ns,omitempty"` // 0 is none

	Done      float64       `json:"done"`       // steps finished
	Remaining float64       `json:"remaining"`  // steps left as Knowledge allows, or Unknown
	Service   float64       `json:"service"`    // attained service, GPU-seconds; of a shared GPU the part it held
	Ran       time.Duration `json:"ran_ns"`     // time spent on GPUs, restarts included
	Restarts  int           `json:"restarts"`   // times started or moved, the first start not counted
	Current   int           `json:"current"`    // strategy it ran in the round that just ended, or Idle
	Waiting   time.Duration `json:"waiting_ns"` // time since it last ran or was submitted; 0 while running

	// Strategies are the job's candidates, shape [S], S >= 1. Shared between
	// states and jobs of one class: never modified.
	Strategies []Strategy `json:"strategies"`
}

// Window summarises the jobs of a recent stretch of time: what a policy that
// configures the scheduler knows of the workload. It holds nothing that a
// cluster could not have observed.
type Window struct {
	Length           time.Duration `json:"length_ns"`         // stretch of time covered, 0 before the first
	Arrivals         int           `json:"arrivals"`          // jobs submitted in it
	ArrivedGPUs      int           `json:"arrived_gpus"`      // sum of the GPUs they requested
	Completed        int           `json:"completed"`         // jobs finished in it
	CompletedService float64       `json:"completed_service"` // GPU-seconds attained by the jobs finished in it
	CompletedSquare  float64       `json:"completed_square"`  // sum of the squares of those, GPU-seconds²
	Queue            float64       `json:"queue"`             // time-average number of jobs that waited
	Running          float64       `json:"running"`           // time-average number of jobs that ran
	BusyGPUs         float64       `json:"busy_gpus"`         // time-average number of busy GPUs
}

// State is everything known at a decision point. Simulators produce it, real
// clusters send it, every policy reads it.
type State struct {
	Cluster   Cluster       `json:"cluster"`
	Now       time.Duration `json:"now_ns"`
	Round     int64         `json:"round"`           // decision index, from 0
	RoundLen  time.Duration `json:"round_length_ns"` // planned time to the next decision, > 0
	Knowledge Knowledge     `json:"knowledge"`
	Recent    Window        `json:"recent"`
	Jobs      []JobState    `json:"jobs"` // ordered by (Submit, ID), IDs unique

	Down   []int   `json:"down,omitempty"`   // indexes into Cluster.Nodes that are out of service now, ascending
	Quotas []Quota `json:"quotas,omitempty"` // ordered by (Tenant, Type)
}

// Capacity returns the number of GPUs of each type on nodes in service, shape
// [len(s.Cluster.Types)]. The caller owns the result.
func (s *State) Capacity() []int { return s.addCapacity(nil) }

// addCapacity is Capacity in the memory of dst, which is empty.
func (s *State) addCapacity(dst []int) []int {
	for range s.Cluster.Types {
		dst = append(dst, 0)
	}
	for i := range s.Cluster.Nodes {
		dst[s.Cluster.Nodes[i].Type] += s.Cluster.Nodes[i].GPUs
	}
	for _, n := range s.Down {
		dst[s.Cluster.Nodes[n].Type] -= s.Cluster.Nodes[n].GPUs
	}
	return dst
}

// Validate reports what is wrong with s, up to ten problems at once. Policies
// may assume that it returned nil.
func (s *State) Validate() error {
	if err := s.Cluster.Validate(); err != nil {
		return err
	}
	var errs []error
	if s.Now < 0 || s.Round < 0 || s.RoundLen <= 0 {
		errs = append(errs, fmt.Errorf("env: state: now_ns %d, round %d, round_length_ns %d: want >= 0, >= 0, > 0", int64(s.Now), s.Round, int64(s.RoundLen)))
	}
	if s.Knowledge > None {
		errs = append(errs, fmt.Errorf("env: state: knowledge is %v, want oracle, estimate or none", s.Knowledge))
	}
	if err := s.Recent.validate(); err != nil {
		errs = append(errs, err)
	}
	if err := s.validateDown(); err != nil {
		errs = append(errs, err)
	}
	if err := ValidateQuotas(s.Quotas, &s.Cluster); err != nil {
		errs = append(errs, err)
	}
	if len(s.Jobs) > MaxJobs {
		return errors.Join(append(errs, fmt.Errorf("env: state: %d jobs, want at most %d", len(s.Jobs), MaxJobs))...)
	}
	seen := make(map[int64]struct{}, len(s.Jobs))
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if err := s.validateJob(i); err != nil {
			errs = append(errs, fmt.Errorf("env: state: jobs[%d] (id %d): %w", i, j.ID, err))
		}
		if _, twice := seen[j.ID]; twice {
			errs = append(errs, fmt.Errorf("env: state: jobs[%d]: id %d occurs twice", i, j.ID))
		}
		seen[j.ID] = struct{}{}
		if len(errs) >= MaxReported {
			break
		}
	}
	return errors.Join(errs...)
}

func (s *State) validateJob(i int) error {
	j := &s.Jobs[i]
	switch {
	case i > 0 && (j.Submit < s.Jobs[i-1].Submit || j.Submit == s.Jobs[i-1].Submit && j.ID < s.Jobs[i-1].ID):
		return errors.New("out of order, want jobs ordered by (submit_ns, id)")
	case j.Submit < 0 || j.Submit > s.Now:
		return fmt.Errorf("submit_ns is %d, want 0 to now_ns (%d)", int64(j.Submit), int64(s.Now))
	case j.GPUs < 1:
		return fmt.Errorf("gpus is %d, want >= 1", j.GPUs)
	case j.Batch < 1:
		return fmt.Errorf("batch is %d, want >= 1", j.Batch)
	case !finiteAtLeast(j.Weight, 0) || j.Weight == 0:
		return fmt.Errorf("weight is %v, want finite and > 0", j.Weight)
	case !finiteAtLeast(j.Done, 0) || !finiteAtLeast(j.Service, 0):
		return fmt.Errorf("done is %v and service %v, want both finite and >= 0", j.Done, j.Service)
	case j.Ran < 0 || j.Waiting < 0 || j.Restarts < 0 || j.Deadline < 0:
		return fmt.Errorf("ran_ns %d, waiting_ns %d, restarts %d, deadline_ns %d: want all >= 0", int64(j.Ran), int64(j.Waiting), j.Restarts, int64(j.Deadline))
	case s.Knowledge == None && j.Remaining != Unknown:
		return fmt.Errorf("remaining is %v, want %d where knowledge is none", j.Remaining, Unknown)
	case s.Knowledge != None && (!finiteAtLeast(j.Remaining, 0) || j.Remaining == 0):
		return fmt.Errorf("remaining is %v, want finite and > 0", j.Remaining)
	case len(j.Strategies) == 0 || len(j.Strategies) > MaxStrategies:
		return fmt.Errorf("%d strategies, want 1 to %d", len(j.Strategies), MaxStrategies)
	case j.Current < Idle || j.Current >= len(j.Strategies):
		return fmt.Errorf("current is %d, want -1 to %d", j.Current, len(j.Strategies)-1)
	}
	for k := range j.Strategies {
		if err := j.Strategies[k].Validate(&s.Cluster); err != nil {
			return fmt.Errorf("strategies[%d]: %w", k, err)
		}
	}
	return nil
}

func (s *State) validateDown() error {
	for i, n := range s.Down {
		if n < 0 || n >= len(s.Cluster.Nodes) || i > 0 && n <= s.Down[i-1] {
			return fmt.Errorf("env: state: down[%d] is %d, want indexes of nodes, 0 to %d, ascending", i, n, len(s.Cluster.Nodes)-1)
		}
	}
	return nil
}

func (w *Window) validate() error {
	for _, x := range []float64{w.CompletedService, w.CompletedSquare, w.Queue, w.Running, w.BusyGPUs} {
		if !finiteAtLeast(x, 0) {
			return fmt.Errorf("env: state: recent holds %v, want finite and >= 0", x)
		}
	}
	if w.Length < 0 || w.Arrivals < 0 || w.ArrivedGPUs < 0 || w.Completed < 0 {
		return errors.New("env: state: recent holds a negative count or length, want >= 0")
	}
	return nil
}
