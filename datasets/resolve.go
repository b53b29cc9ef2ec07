package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/perf"
)

// Throughputs is what this package needs to know of the hardware.
// [perf.Performance] implements it.
type Throughputs interface {
	// Throughput returns the steps/s, summed over the workers, of a model on
	// some GPUs of one type. Errors wrap perf.ErrUnknownModel,
	// perf.ErrUnknownGPU or, where the model does not fit, perf.ErrNoStrategy.
	Throughput(model string, batch int, gpuType string, gpus, nodes int) (float64, error)
	// Strategies returns the ways to run j on c, or an error that wraps
	// perf.ErrNoStrategy.
	Strategies(j *env.Job, c *env.Cluster) ([]env.Strategy, error)
}

// ModelChoice is a model and a batch size (samples per step and worker).
type ModelChoice struct {
	Model string `json:"model"`
	Batch int    `json:"batch"`
}

// ResolveConfig says what a table does not. The zero value lacks a Cluster.
type ResolveConfig struct {
	Cluster env.Cluster // the jobs are to run on
	// Models are drawn from for rows without a model, and for the batch size
	// of rows with a model but none; each fitting entry is equally likely.
	Models []ModelChoice
	// ReferenceGPU is the GPU type on which the durations of rows without a
	// reference_gpu were measured. Default: the cluster's first type.
	ReferenceGPU string
	// MaxDuration drops rows whose time on the reference GPU is longer: a job
	// that outlasts any episode only adds noise to it. 0 keeps all.
	MaxDuration time.Duration
	Seed        uint64 // of the draws of Models
}

func (c *ResolveConfig) fillDefaults() {
	if c.ReferenceGPU == "" && len(c.Cluster.Types) > 0 {
		c.ReferenceGPU = c.Cluster.Types[0].Name
	}
}

func (c *ResolveConfig) validate() error {
	errs := []error{c.Cluster.Validate()}
	for i, m := range c.Models {
		if m.Model == "" || m.Batch < 1 || m.Batch > MaxBatch {
			errs = append(errs, fmt.Errorf("datasets: resolve: Models[%d] is %q with batch %d, want a name and 1 to %d", i, m.Model, m.Batch, MaxBatch))
		}
	}
	if c.MaxDuration < 0 {
		errs = append(errs, fmt.Errorf("datasets: resolve: MaxDuration is %v, want >= 0", c.MaxDuration))
	}
	return errors.Join(errs...)
}

// Reasons for which [Resolve] drops a row.
const (
	dropNoStrategy = "fits no GPU type of the cluster"
	dropReference  = "does not fit the reference GPU type"
	dropTooLong    = "longer than the maximum duration"
)

// Resolve turns the rows of j into jobs for a simulator, in the same order.
//
// A row without a model gets one of cfg.Models, drawn by a hash of (seed, job
// id) among those that fit the requested GPUs: so a job has the same model
// whatever part of the trace is loaded. Its work is its steps or, where only
// the duration is known, duration × the throughput of the requested GPUs on
// its reference GPU type, packed onto as few nodes as the cluster's nodes
// allow. Rows that cannot run are dropped and counted. An unknown model or GPU
// type is a [*RowError]: it is a mistake in the table, not a property of a job.
func Resolve(j *Jobs, t Throughputs, cfg ResolveConfig) ([]env.Job, Report, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, Report{}, err
	}
	if err := j.Validate(); err != nil {
		return nil, Report{}, err
	}
	res := newResolver(t, &cfg)
	jobs := make([]env.Job, 0, len(j.Rows))
	var dropped Tally
	for i := range j.Rows {
		job, reason, err := res.resolve(&j.Rows[i])
		if err != nil {
			if rowErr, ok := errors.AsType[*RowError](err); ok {
				rowErr.File, rowErr.Row = j.Name, int64(i)+1
			}
			return nil, Report{}, err
		}
		if reason != "" {
			dropped.Add(reason)
			continue
		}
		jobs = append(jobs, job)
	}
	return jobs, Report{Read: len(j.Rows), Kept: len(jobs), Dropped: dropped.Counts()}, nil
}

// class is what decides whether and how fast a job runs.
type class struct {
	ModelChoice
	gpus      int
	reference string
}

// speed is what is known of a class: its throughput on the reference GPU type,
// or why it cannot run.
type speed struct {
	throughput float64 // steps/s
	reason     string
	err        error
}

// resolver remembers the speeds of classes. It is not safe for concurrent use.
type resolver struct {
	t      Throughputs
	cfg    *ResolveConfig
	speeds map[class]speed
	fits   map[class][]ModelChoice // key without ModelChoice, or with Model only
}

func newResolver(t Throughputs, cfg *ResolveConfig) *resolver {
	return &resolver{t: t, cfg: cfg, speeds: make(map[class]speed), fits: make(map[class][]ModelChoice)}
}

// resolve returns the job of a row, or the reason to drop it.
func (r *resolver) resolve(row *Row) (env.Job, string, error) {
	c := class{
		ModelChoice: ModelChoice{row.Model, int(row.Batch)},
		gpus:        int(row.GPUs),
		reference:   cmp.Or(row.ReferenceGPU, r.cfg.ReferenceGPU),
	}
	if c.Model == "" || c.Batch == 0 {
		choice, reason, err := r.draw(row, c)
		if reason != "" || err != nil {
			return env.Job{}, reason, err
		}
		c.ModelChoice = choice
	}
	s := r.speed(c)
	if s.reason != "" || s.err != nil {
		return env.Job{}, s.reason, s.err
	}
	work := row.Steps
	if work == 0 {
		work = seconds(row.Duration) * s.throughput
	}
	if limit := r.cfg.MaxDuration; limit > 0 && work > seconds(limit)*s.throughput {
		return env.Job{}, dropTooLong, nil
	}
	return env.Job{
		ID: row.ID, Model: c.Model, Batch: c.Batch, GPUs: c.gpus, Work: work,
		Submit: row.Submit, Deadline: row.Deadline, Tenant: row.Tenant, Weight: row.weight(),
	}, "", nil
}

// draw picks one of the configured models for a row that does not say.
func (r *resolver) draw(row *Row, c class) (ModelChoice, string, error) {
	key := c
	key.Batch = 0
	if c.Batch != 0 {
		key.Batch = c.Batch // a row with a batch but no model: only models of that batch
	}
	fits, known := r.fits[key]
	if !known {
		candidates, err := r.candidates(c)
		if err != nil {
			return ModelChoice{}, "", err
		}
		for _, m := range candidates {
			s := r.speed(class{m, c.gpus, c.reference})
			if s.err != nil {
				return ModelChoice{}, "", s.err
			}
			if s.reason == "" {
				fits = append(fits, m)
			}
		}
		r.fits[key] = fits
	}
	if len(fits) == 0 {
		return ModelChoice{}, dropNoStrategy, nil
	}
	return fits[mix(r.cfg.Seed, uint64(row.ID))%uint64(len(fits))], "", nil
}

// candidates returns the configured models that agree with what a row says.
func (r *resolver) candidates(c class) ([]ModelChoice, error) {
	var out []ModelChoice
	for _, m := range r.cfg.Models {
		if (c.Model == "" || m.Model == c.Model) && (c.Batch == 0 || m.Batch == c.Batch) {
			out = append(out, m)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case c.Model != "":
		return nil, &RowError{Column: columnBatch, Value: "null", Fix: "set it, or configure batch sizes to draw from for model " + c.Model}
	case c.Batch != 0:
		return nil, &RowError{Column: columnModel, Value: "null", Fix: "set it, or configure models with batch " + strconv.Itoa(c.Batch) + " to draw from"}
	}
	return nil, &RowError{Column: columnModel, Value: "null", Fix: "set it, or configure models to draw from"}
}

// speed looks up how fast a class runs.
func (r *resolver) speed(c class) speed {
	if s, ok := r.speeds[c]; ok {
		return s
	}
	s := r.measure(c)
	r.speeds[c] = s
	return s
}

func (r *resolver) measure(c class) speed {
	throughput, err := r.t.Throughput(c.Model, c.Batch, c.reference, c.gpus, referenceNodes(&r.cfg.Cluster, c.reference, c.gpus))
	switch {
	case errors.Is(err, perf.ErrUnknownModel):
		return speed{err: &RowError{Column: columnModel, Value: Excerpt(c.Model), Fix: err.Error()}}
	case errors.Is(err, perf.ErrUnknownGPU):
		return speed{err: &RowError{Column: columnReferenceGPU, Value: Excerpt(c.reference), Fix: err.Error()}}
	case errors.Is(err, perf.ErrNoStrategy):
		return speed{reason: dropReference}
	case err != nil:
		return speed{err: fmt.Errorf("datasets: throughput of %s, batch %d, on %d × %s: %w", c.Model, c.Batch, c.gpus, c.reference, err)}
	case !(throughput > 0):
		return speed{reason: dropReference}
	}
	job := env.Job{Model: c.Model, Batch: c.Batch, GPUs: c.gpus, Work: 1, Weight: 1}
	strategies, err := r.t.Strategies(&job, &r.cfg.Cluster)
	if errors.Is(err, perf.ErrNoStrategy) || err == nil && len(strategies) == 0 {
		return speed{reason: dropNoStrategy}
	}
	if err != nil {
		return speed{err: fmt.Errorf("datasets: strategies of %s, batch %d, %d GPUs: %w", c.Model, c.Batch, c.gpus, err)}
	}
	return speed{throughput: throughput}
}

// referenceNodes returns the number of nodes that gpus GPUs of a type fill in
// c, taking the largest node of that type, or of any where c lacks the type.
func referenceNodes(c *env.Cluster, gpuType string, gpus int) int {
	index := c.TypeIndex(gpuType)
	perNode := 1
	for _, n := range c.Nodes {
		if index < 0 || n.Type == index {
			perNode = max(perNode, n.GPUs)
		}
	}
	return (gpus + perNode - 1) / perNode
}

// mix hashes two words into one (the finalizer of SplitMix64, applied to each;
// Steele, Lea and Flood, OOPSLA 2014).
func mix(a, b uint64) uint64 { return splitMix(splitMix(a) ^ b) }

func splitMix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
