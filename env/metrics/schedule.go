package metrics

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Outcome is how a job left.
type Outcome uint8

const (
	Completed Outcome = iota // did all its work
	Failed                   // failed for good
	Cancelled                // was withdrawn by its user
)

var outcomeNames = [...]string{"completed", "failed", "cancelled"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Job is a job that left: finished, failed or withdrawn.
type Job struct {
	ID       int64
	Submit   time.Duration
	Start    time.Duration // when it first held GPUs; Finish if it was withdrawn before
	Finish   time.Duration // when it left
	GPUs     int           // requested
	Service  float64       // GPU-seconds held, restarts included
	Restarts int           // times started or moved, the first start not counted
	Isolated time.Duration // time it needs under an exclusive 1/n share of the cluster for what it did, > 0; its JCT if it was withdrawn
	Ideal    time.Duration // time it needs alone on its fastest candidate for what it did, > 0
	Weight   float64       // > 0
	Deadline time.Duration // 0 is none
	Outcome  Outcome

	Interruptions int // times a node under it failed
}

// JCT returns the job completion time.
func (j *Job) JCT() time.Duration { return j.Finish - j.Submit }

// Rho returns the finish-time fairness ρ.
func (j *Job) Rho() float64 { return float64(j.JCT()) / float64(j.Isolated) }

// Tardiness returns how long after its deadline j finished, 0 if in time or
// without a deadline.
func (j *Job) Tardiness() time.Duration {
	if j.Deadline == 0 {
		return 0
	}
	return max(0, j.Finish-j.Deadline)
}

func (j *Job) validate() error {
	switch {
	case j.Submit >= j.Finish || j.Submit > j.Start || j.Start > j.Finish || j.Start == j.Finish && j.Outcome != Cancelled:
		return fmt.Errorf("submit %v, start %v, finish %v: want submit <= start < finish", j.Submit, j.Start, j.Finish)
	case j.Outcome > Cancelled || j.Interruptions < 0:
		return fmt.Errorf("outcome %v and %d interruptions: want completed, failed or cancelled, and >= 0", j.Outcome, j.Interruptions)
	case j.Isolated <= 0 || j.Ideal <= 0:
		return fmt.Errorf("isolated %v and ideal %v: want both > 0", j.Isolated, j.Ideal)
	case !(j.Weight > 0) || math.IsInf(j.Weight, 1):
		return fmt.Errorf("weight %v: want finite and > 0", j.Weight)
	case !(j.Service >= 0) || math.IsInf(j.Service, 1) || j.Restarts < 0:
		return fmt.Errorf("service %v and restarts %d: want finite and >= 0", j.Service, j.Restarts)
	}
	return nil
}

// Schedule is what happened to a workload on a cluster.
type Schedule struct {
	Jobs           []Job         // jobs that left, ordered by ID, IDs unique
	GPUs           int           // capacity, all types
	Start, End     time.Duration // the span over which utilization is taken
	BusyGPUSeconds float64       // GPU time held by jobs within the span, unfinished jobs included
	Cost           float64       // US dollars for the busy GPU time
	Rounds         int64         // decisions
}

// ErrNoJobs is returned for a schedule in which no job finished: it has no
// means.
var ErrNoJobs = errors.New("metrics: no finished jobs")

// Validate reports the first thing that is wrong with s.
func (s *Schedule) Validate() error {
	if len(s.Jobs) == 0 {
		return ErrNoJobs
	}
	for i := range s.Jobs {
		if i > 0 && s.Jobs[i].ID <= s.Jobs[i-1].ID {
			return fmt.Errorf("metrics: job %d follows job %d, want ascending IDs", s.Jobs[i].ID, s.Jobs[i-1].ID)
		}
		if err := s.Jobs[i].validate(); err != nil {
			return fmt.Errorf("metrics: job %d: %w", s.Jobs[i].ID, err)
		}
	}
	if s.GPUs < 1 || s.End <= s.Start {
		return fmt.Errorf("metrics: %d GPUs from %v to %v, want at least one GPU and end after start", s.GPUs, s.Start, s.End)
	}
	if !(s.BusyGPUSeconds >= 0) || math.IsInf(s.BusyGPUSeconds, 1) || !(s.Cost >= 0) || math.IsInf(s.Cost, 1) {
		return fmt.Errorf("metrics: %v busy GPU-seconds and cost %v, want finite and >= 0", s.BusyGPUSeconds, s.Cost)
	}
	return nil
}
