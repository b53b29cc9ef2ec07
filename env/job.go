package env

import (
	"errors"
	"fmt"
	"time"
)

// Job is a training job as submitted. It is immutable and holds the true work,
// so only the simulator and the datasets see it; policies see a [JobState].
type Job struct {
	ID       int64         // unique in a workload; breaks every tie
	Model    string        // name in the catalogue of env/perf
	Batch    int           // samples per step and worker, as submitted
	GPUs     int           // requested
	Work     float64       // training steps to the end, > 0
	Submit   time.Duration // >= 0
	Deadline time.Duration // on the trace's clock; 0 is none
	Tenant   string        // "" where the trace has none
	Weight   float64       // > 0; 1 is the norm
	Fails    float64       // steps after which it fails for good; 0 is never
	Cancel   time.Duration // on the trace's clock, when its user withdraws it if it is still there; 0 is never
}

// Validate reports everything that is wrong with j at once.
func (j *Job) Validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("env: job %d: %s is %v, want %s", j.ID, field, value, want))
	}
	if j.Model == "" {
		bad("model", `""`, "a name")
	}
	if j.Batch < 1 {
		bad("batch", j.Batch, ">= 1")
	}
	if j.GPUs < 1 {
		bad("gpus", j.GPUs, ">= 1")
	}
	if !finiteAtLeast(j.Work, 0) || j.Work == 0 {
		bad("work", j.Work, "finite and > 0 steps")
	}
	if j.Submit < 0 {
		bad("submit", j.Submit, ">= 0")
	}
	if j.Deadline != 0 && j.Deadline < j.Submit {
		bad("deadline", j.Deadline, "0 or not before submission")
	}
	if !finiteAtLeast(j.Weight, 0) || j.Weight == 0 {
		bad("weight", j.Weight, "finite and > 0")
	}
	if !finiteAtLeast(j.Fails, 0) {
		bad("fails", j.Fails, "0 or a finite number of steps > 0")
	}
	if j.Cancel != 0 && j.Cancel < j.Submit {
		bad("cancel", j.Cancel, "0 or not before submission")
	}
	return errors.Join(errs...)
}

// Plan is a parallelization plan: how the workers of one job share its model
// and its batch. Data × Tensor × Pipeline is the number of GPUs.
type Plan struct {
	Data       int  `json:"data"`                 // data-parallel degree
	Tensor     int  `json:"tensor"`               // tensor-parallel degree
	Pipeline   int  `json:"pipeline"`             // pipeline stages
	MicroBatch int  `json:"micro_batch"`          // samples per micro-batch and data-parallel worker
	ZeRO       int  `json:"zero,omitempty"`       // ZeRO stage, 0 to 3
	Checkpoint bool `json:"checkpoint,omitempty"` // activation checkpointing
	Offload    bool `json:"offload,omitempty"`    // optimizer's state and work on the host (ZeRO-Offload)
}

// Strategy is one way to run one job. A (job, strategy) pair is a candidate.
type Strategy struct {
	Type       int           `json:"type"`       // index into Cluster.Types
	GPUs       int           `json:"gpus"`       // all granted together (gang)
	Nodes      int           `json:"nodes"`      // nodes it is spread over when placed as tightly as the hardware allows
	Plan       Plan          `json:"plan"`       // how the GPUs share the work
	Throughput float64       `json:"throughput"` // steps/s summed over the workers, > 0, when placed on Nodes nodes
	Restart    time.Duration `json:"restart_ns"` // time lost when the job starts or moves here
	// Share is into how many equal parts each of the GPUs is divided; the job
	// takes one part of each. 0 and 1 are the whole GPU, else 2, 4 or 8. Other
	// jobs may hold the rest.
	Share int `json:"share,omitempty"`
}

// Parts returns what s takes of its GPUs, in parts of 1/PartsPerGPU.
func (s *Strategy) Parts() int { return s.GPUs * PartsPerGPU / max(1, s.Share) }

// Held returns what s takes of its GPUs, in GPUs.
func (s *Strategy) Held() float64 {
	if s.Share <= 1 {
		return float64(s.GPUs)
	}
	return float64(s.GPUs) / float64(s.Share)
}

// Validate reports everything that is wrong with s on cluster c.
func (s *Strategy) Validate(c *Cluster) error {
	switch {
	case s.Type < 0 || s.Type >= len(c.Types):
		return fmt.Errorf("type is %d, want 0 to %d", s.Type, len(c.Types)-1)
	case s.GPUs < 1 || s.GPUs > MaxNodes*MaxGPUsPerNode:
		return fmt.Errorf("gpus is %d, want >= 1", s.GPUs)
	case s.Nodes < 1 || s.Nodes > s.GPUs:
		return fmt.Errorf("nodes is %d, want 1 to gpus (%d)", s.Nodes, s.GPUs)
	case !finiteAtLeast(s.Throughput, 0) || s.Throughput == 0:
		return fmt.Errorf("throughput is %v, want finite and > 0 steps/s", s.Throughput)
	case s.Restart < 0:
		return fmt.Errorf("restart_ns is %d, want >= 0", int64(s.Restart))
	case s.Share < 0 || s.Share > PartsPerGPU || s.Share&(s.Share-1) != 0:
		return fmt.Errorf("share is %d, want 0, 1, 2, 4 or %d", s.Share, PartsPerGPU)
	}
	return nil
}
