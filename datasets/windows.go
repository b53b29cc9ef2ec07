package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// Windows draws episodes from a table of jobs: runs of consecutive jobs,
// rebased to time 0. Arrivals are stretched by one factor, fixed for the whole
// table, so that quiet and busy times stay quiet and busy. It is immutable and
// safe for concurrent use.
type Windows struct {
	jobs   []env.Job
	size   int
	factor float64
	load   Load // before stretching
	meter  loadMeter
}

// NewWindows returns windows of size jobs each, with arrivals stretched so that
// the load offered over all of jobs is load × the capacity of the cluster (see
// [Load]); load 0 leaves arrivals as they are. jobs are ordered by (Submit, ID)
// with distinct IDs, as [Resolve] returns them, and are not copied.
func NewWindows(jobs []env.Job, size int, load float64, cluster env.Cluster, t Throughputs) (*Windows, error) {
	if size < 1 || size > len(jobs) {
		return nil, fmt.Errorf("datasets: windows: size is %d, want 1 to %d, the number of jobs", size, len(jobs))
	}
	if !(load >= 0) || math.IsInf(load, 1) {
		return nil, fmt.Errorf("datasets: windows: load is %v, want finite and >= 0", load)
	}
	if err := checkJobs(jobs); err != nil {
		return nil, err
	}
	if err := cluster.Validate(); err != nil {
		return nil, err
	}
	w := &Windows{jobs: jobs, size: size, factor: 1}
	w.meter = loadMeter{cluster: &cluster, t: t, speeds: make(map[class][]float64)}
	var err error
	if w.load, err = w.meter.measure(jobs); err != nil {
		return nil, err
	}
	if load == 0 {
		return w, nil
	}
	if w.load.Span == 0 {
		return nil, errors.New("datasets: windows: all jobs arrive at once, so no stretch of time gives a load; use load 0")
	}
	w.factor = w.load.Offered / load
	if last := w.factor * float64(w.load.Span); last > float64(MaxTime) {
		return nil, fmt.Errorf("datasets: windows: load %v stretches the trace by %.3g beyond 100 years; use a higher load", load, w.factor)
	}
	return w, nil
}

// checkJobs returns an error unless every job is valid and they are ordered by
// (Submit, ID) with distinct IDs.
func checkJobs(jobs []env.Job) error {
	seen := make(map[int64]struct{}, len(jobs))
	for i := range jobs {
		if err := jobs[i].Validate(); err != nil {
			return fmt.Errorf("datasets: %w", err)
		}
		if i > 0 && compareJobs(jobs[i-1], jobs[i]) >= 0 {
			return fmt.Errorf("datasets: job %d comes after job %d, want jobs ordered by (submit, id)", jobs[i].ID, jobs[i-1].ID)
		}
		if _, twice := seen[jobs[i].ID]; twice {
			return fmt.Errorf("datasets: job id %d occurs twice", jobs[i].ID)
		}
		seen[jobs[i].ID] = struct{}{}
	}
	return nil
}

func compareJobs(a, b env.Job) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
}

// Size returns the number of jobs of a window.
func (w *Windows) Size() int { return w.size }

// Factor returns what the time between arrivals is multiplied by.
func (w *Windows) Factor() float64 { return w.factor }

// Load returns the load of the whole table before its arrivals are stretched.
func (w *Windows) Load() Load { return w.load }

// Jobs returns the window that starts at a job drawn with seed. Windows of
// different seeds may overlap. The caller owns the result.
func (w *Windows) Jobs(seed uint64) ([]env.Job, error) {
	start := rng.New(seed, "datasets/window").IntN(len(w.jobs) - w.size + 1)
	return w.at(start), nil
}

// Disjoint returns how many windows fit the table without sharing a job.
func (w *Windows) Disjoint() int { return len(w.jobs) / w.size }

// Window returns window i of k evenly spaced ones that share no job. The
// caller owns the result.
func (w *Windows) Window(i, k int) ([]env.Job, error) {
	if k < 1 || k > w.Disjoint() {
		return nil, fmt.Errorf("datasets: windows: %d windows of %d jobs do not fit %d jobs without overlap, want 1 to %d", k, w.size, len(w.jobs), w.Disjoint())
	}
	if i < 0 || i >= k {
		return nil, fmt.Errorf("datasets: windows: window %d of %d, want 0 to %d", i, k, k-1)
	}
	return w.at(i * len(w.jobs) / k), nil
}

// at returns the window that starts at job start, rebased and stretched. A job
// keeps its slack, the time from submission to deadline, and its patience, the
// time until it is withdrawn.
func (w *Windows) at(start int) []env.Job {
	jobs := slices.Clone(w.jobs[start : start+w.size])
	zero := jobs[0].Submit
	for i := range jobs {
		j := &jobs[i]
		submit := time.Duration(math.Round(float64(j.Submit-zero) * w.factor))
		if j.Deadline != 0 {
			j.Deadline += submit - j.Submit
		}
		if j.Cancel != 0 {
			j.Cancel += submit - j.Submit
		}
		j.Submit = submit
	}
	// Shrinking may make submissions equal, which brings IDs into play.
	slices.SortFunc(jobs, compareJobs)
	return jobs
}

// Loads returns the offered load of each of k evenly spaced windows on its own,
// after stretching, shape [k]; 0 where all jobs of a window arrive at once.
func (w *Windows) Loads(k int) ([]float64, error) {
	loads := make([]float64, k)
	m := loadMeter{cluster: w.meter.cluster, t: w.meter.t, speeds: make(map[class][]float64)}
	for i := range loads {
		jobs, err := w.Window(i, k)
		if err != nil {
			return nil, err
		}
		l, err := m.measure(jobs)
		if err != nil {
			return nil, err
		}
		loads[i] = l.Offered
	}
	return loads, nil
}
