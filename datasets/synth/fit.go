package synth

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/rng"
)

// FitConfig says what was observed. The zero value takes the window from the
// first submission to the last.
type FitConfig struct {
	// From and To bound the window in which the jobs were submitted, To
	// excluded. Default: first submission, and the last submission plus the
	// mean time between two.
	From, To time.Duration
	// Service measures a job's size, by which quantiles are taken: jobs of
	// nearly equal Service are exchangeable under a common random number.
	// Default: GPUs × Work.
	Service func(*env.Job) float64
	// Bandwidth is the standard deviation of the smoothing of log work.
	// Default 0: by Silverman's rule of thumb. Negative: no smoothing.
	Bandwidth float64
	// ProfileFrom is the shortest window from which an hour-of-day profile of
	// arrivals is taken. Default 48 h.
	ProfileFrom time.Duration
}

// Workload is a model of a window of jobs: a smoothed bootstrap of the jobs
// and Poisson arrivals. It is immutable and safe for concurrent use.
type Workload struct {
	jobs      []env.Job // ordered by service
	bandwidth float64   // of log work
	arrivals  profile
	firstID   int64
}

// maxGenerated bounds how many jobs one Generate may make.
const maxGenerated = 1 << 22

const defaultProfileFrom = 48 * time.Hour

// Fit models the jobs of a window, ordered by (Submit, ID).
func Fit(jobs []env.Job, cfg FitConfig) (*Workload, error) {
	if len(jobs) == 0 {
		return nil, errors.New("synth: fit: no jobs in the window, want at least one")
	}
	if err := cfg.fillDefaults(jobs); err != nil {
		return nil, err
	}
	w := &Workload{jobs: slices.Clone(jobs), bandwidth: max(0, cfg.Bandwidth)}
	for i := range jobs {
		j := &jobs[i]
		if err := j.Validate(); err != nil {
			return nil, fmt.Errorf("synth: fit: %w", err)
		}
		if j.Submit < cfg.From || j.Submit >= cfg.To {
			return nil, fmt.Errorf("synth: fit: job %d was submitted at %v, outside the window %v to %v", j.ID, j.Submit, cfg.From, cfg.To)
		}
		w.firstID = max(w.firstID, j.ID+1)
	}
	slices.SortStableFunc(w.jobs, func(a, b env.Job) int {
		return cmp.Or(cmp.Compare(cfg.Service(&a), cfg.Service(&b)), cmp.Compare(a.ID, b.ID))
	})
	if cfg.Bandwidth == 0 {
		w.bandwidth = silverman(w.jobs)
	}
	w.arrivals = fitProfile(jobs, cfg.From, cfg.To, cfg.To-cfg.From >= cfg.ProfileFrom)
	return w, nil
}

func (c *FitConfig) fillDefaults(jobs []env.Job) error {
	if c.From == 0 && c.To == 0 {
		c.From = jobs[0].Submit
		last := jobs[len(jobs)-1].Submit
		if last <= c.From {
			return errors.New("synth: fit: all jobs were submitted at once, so they say nothing of a rate; set From and To")
		}
		c.To = last + max(1, (last-c.From)/time.Duration(len(jobs)-1))
	}
	if c.To <= c.From {
		return fmt.Errorf("synth: fit: the window is %v to %v, want From < To", c.From, c.To)
	}
	if c.Service == nil {
		c.Service = func(j *env.Job) float64 { return float64(j.GPUs) * j.Work }
	}
	if c.ProfileFrom == 0 {
		c.ProfileFrom = defaultProfileFrom
	}
	return nil
}

// Rate returns the mean arrival rate of the window, jobs per hour.
func (w *Workload) Rate() float64 { return w.arrivals.mean() }

// Generate returns a future: the jobs that arrive in [from, from + horizon),
// on the clock of the observed jobs. IDs begin after the observed ones. Job k
// of every Workload takes number k of the streams of seed: two workloads get
// the same uniform numbers, so that a comparison of schedulers on both, or of
// two schedulers on one, is not blurred by luck. The caller owns the result.
func (w *Workload) Generate(seed uint64, from, horizon time.Duration) ([]env.Job, error) {
	if from < 0 || horizon < 0 {
		return nil, fmt.Errorf("synth: generate from %v for %v, want both >= 0", from, horizon)
	}
	if horizon > datasets.MaxTime || from > datasets.MaxTime {
		return nil, fmt.Errorf("synth: generate from %v for %v, want both at most 100 years", from, horizon)
	}
	if expected := w.Rate() * horizon.Hours(); expected > maxGenerated/2 {
		return nil, fmt.Errorf("synth: generate: about %.0f jobs in %v, want at most %d", expected, horizon, maxGenerated/2)
	}
	times := rng.New(seed, "synth/future/arrivals")
	picks := rng.New(seed, "synth/future/job")
	noise := rng.New(seed, "synth/future/work")
	var jobs []env.Job
	clock := w.arrivals.start(from)
	for len(jobs) < maxGenerated {
		at := clock.advance(exponential(times.Float64()))
		if at >= from+horizon {
			return jobs, nil
		}
		j := w.jobs[int(picks.Float64()*float64(len(w.jobs)))]
		z := normalQuantile(noise.Float64())
		// E[exp(hz − h²/2)] = 1: smoothing keeps the mean.
		j.Work *= math.Exp(w.bandwidth*z - w.bandwidth*w.bandwidth/2)
		if j.Deadline != 0 {
			j.Deadline = at + (j.Deadline - j.Submit)
		}
		j.Submit = at
		j.ID = w.firstID + int64(len(jobs))
		jobs = append(jobs, j)
	}
	return nil, fmt.Errorf("synth: generate: more than %d jobs in %v", maxGenerated, horizon)
}

// normalQuantile returns quantile u of the standard normal distribution,
// finite also for u = 0, which a generator may return.
func normalQuantile(u float64) float64 {
	u = min(max(u, 0x1p-54), 1-0x1p-53)
	return math.Sqrt2 * math.Erfinv(2*u-1)
}

// silverman returns a bandwidth for log work: 0.9·min(s, IQR/1.34)·n^(−1/5)
// (Silverman, Density Estimation, 1986, eq. 3.31), of the deviations from the
// mean of jobs of the same model, batch and GPUs, since steps of different
// models have no common scale.
func silverman(jobs []env.Job) float64 {
	type group struct {
		model       string
		batch, gpus int
	}
	sum, count := make(map[group]float64), make(map[group]float64)
	of := func(j *env.Job) group { return group{j.Model, j.Batch, j.GPUs} }
	for i := range jobs {
		sum[of(&jobs[i])] += math.Log(jobs[i].Work)
		count[of(&jobs[i])]++
	}
	var deviations []float64
	square := 0.0
	for i := range jobs {
		g := of(&jobs[i])
		if count[g] < 2 {
			continue
		}
		d := math.Log(jobs[i].Work) - sum[g]/count[g]
		deviations = append(deviations, d)
		square += d * d
	}
	n := len(deviations)
	if n < 2 {
		return 0
	}
	slices.Sort(deviations)
	spread := math.Sqrt(square / float64(n-1))
	if iqr := (deviations[n*3/4] - deviations[n/4]) / 1.34; iqr > 0 {
		spread = min(spread, iqr)
	}
	return 0.9 * spread * math.Pow(float64(n), -0.2)
}
