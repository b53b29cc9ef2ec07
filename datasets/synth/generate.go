package synth

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/datasets"
	"github.com/yardmaster/yardmaster/env/rng"
)

// PresetGavel draws jobs as Gavel's generator does (Narayanan et al., OSDI
// 2020, section 7.1): GPUs 1, 2, 4, 8 with probability 0.70, 0.10, 0.15, 0.05;
// durations on V100 of 60·10^x seconds, x uniform on [1.5, 3) with probability
// 0.8 and on [3, 4) otherwise; 26 job types, equally likely (those that cannot
// be distributed only with one GPU); Poisson arrivals.
const PresetGavel = "gavel"

const (
	defaultJobs         = 1000
	defaultInterArrival = 15 * time.Minute
	referenceGPU        = "V100"
)

// Config says what to generate. The zero value is 1000 jobs of the preset
// gavel, one every 15 minutes, seed 0.
type Config struct {
	Preset string // default PresetGavel
	Jobs   int    // number of jobs, default 1000
	Seed   uint64
	// InterArrival is the mean time between arrivals, default 15 min.
	InterArrival time.Duration
	// Diurnal is the amplitude a of the arrival rate's daily cycle, 0 to 1:
	// rate(t) = mean × (1 + a·cos(2π(t − 15 h)/24 h)), highest at 15:00 of
	// the table's clock, which starts at midnight. Default 0: constant.
	Diurnal float64
	// MaxDuration leaves out longer durations: the distribution is cut there
	// and what is left scaled up. Default 0: uncut.
	MaxDuration time.Duration
	// MaxGPUs leaves out larger jobs in the same way. Default 0: uncut.
	MaxGPUs int
	// Types are drawn from, each equally likely. Default GavelTypes.
	Types []JobType
}

func (c *Config) fillDefaults() {
	if c.Preset == "" {
		c.Preset = PresetGavel
	}
	if c.Jobs == 0 {
		c.Jobs = defaultJobs
	}
	if c.InterArrival == 0 {
		c.InterArrival = defaultInterArrival
	}
	if c.Types == nil {
		c.Types = GavelTypes()
	}
}

func (c *Config) validate() error {
	var errs []error
	bad := func(field string, value any, want string) {
		errs = append(errs, fmt.Errorf("synth: config: %s is %v, want %s", field, value, want))
	}
	if c.Preset != PresetGavel {
		bad("Preset", fmt.Sprintf("%q", c.Preset), PresetGavel)
	}
	if c.Jobs < 1 || c.Jobs > datasets.MaxRows {
		bad("Jobs", c.Jobs, fmt.Sprintf("1 to %d", datasets.MaxRows))
	}
	if c.InterArrival < 0 || c.Jobs > 0 && c.InterArrival > datasets.MaxTime/time.Duration(4*c.Jobs) {
		bad("InterArrival", c.InterArrival, "> 0 and all jobs well within 100 years")
	}
	if !(c.Diurnal >= 0 && c.Diurnal <= 1) {
		bad("Diurnal", c.Diurnal, "0 to 1")
	}
	if c.MaxDuration != 0 && c.MaxDuration.Seconds() <= gavelMinimum {
		bad("MaxDuration", c.MaxDuration, fmt.Sprintf("more than the shortest duration, %.0f s", gavelMinimum))
	}
	if c.MaxGPUs < 0 {
		bad("MaxGPUs", c.MaxGPUs, ">= 0")
	}
	single := 0
	for i, t := range c.Types {
		if t.Model == "" || t.Batch < 1 || t.Batch > datasets.MaxBatch {
			bad(fmt.Sprintf("Types[%d]", i), t, "a model and a batch size")
		}
		if t.Distributed {
			single++
		}
	}
	if single == 0 && c.MaxGPUs != 1 {
		bad("Types", c.Types, "at least one that is distributed, or MaxGPUs 1")
	}
	if len(c.Types) == 0 {
		bad("Types", c.Types, "at least one")
	}
	return errors.Join(errs...)
}

// Generate makes a table of jobs: a pure function of cfg. Rows have a
// duration, a model, a batch size and the reference GPU V100; the steps follow
// from the throughput of that model when the table is resolved.
func Generate(cfg Config) (*datasets.Jobs, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	j := &datasets.Jobs{
		Name: "synth:" + cfg.Preset,
		Meta: datasets.Meta{
			SchemaVersion: datasets.SchemaVersion,
			Source:        "generated after Gavel's generator (Narayanan et al., OSDI 2020)",
			Licence:       "Apache-2.0",
			RowsIn:        int64(cfg.Jobs),
			Generator:     cfg.describe(),
			Seed:          cfg.Seed,
		},
		Rows: make([]datasets.Row, cfg.Jobs),
	}
	cfg.draw(j.Rows)
	if err := j.Validate(); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	return j, nil
}

// draw fills rows. Job i takes number i of every stream.
func (c *Config) draw(rows []datasets.Row) {
	arrivals := rng.New(c.Seed, "synth/arrivals")
	sizes := rng.New(c.Seed, "synth/gpus")
	durations := rng.New(c.Seed, "synth/duration")
	types := rng.New(c.Seed, "synth/type")

	longest := math.Inf(1)
	if c.MaxDuration > 0 {
		longest = c.MaxDuration.Seconds()
	}
	largest := c.sizeCut()
	distributed := c.distributed()
	cycle := dayCycle{amplitude: c.Diurnal}
	unit := 0.0 // arrivals of a Poisson process with one arrival per InterArrival
	for i := range rows {
		unit += exponential(arrivals.Float64())
		gpus := gavelGPUs(sizes.Float64() * largest)
		choices := c.Types
		if gpus > 1 {
			choices = distributed
		}
		choice := choices[int(types.Float64()*float64(len(choices)))]
		rows[i] = datasets.Row{
			ID:           int64(i) + 1,
			Submit:       cycle.invert(time.Duration(unit * float64(c.InterArrival))),
			GPUs:         gpus,
			Duration:     time.Duration(gavelSeconds(durations.Float64(), longest) * float64(time.Second)),
			Model:        choice.Model,
			Batch:        int32(choice.Batch),
			ReferenceGPU: referenceGPU,
		}
	}
}

// sizeCut returns the probability of a job with at most MaxGPUs GPUs.
func (c *Config) sizeCut() float64 {
	switch {
	case c.MaxGPUs == 0 || c.MaxGPUs >= 8:
		return 1
	case c.MaxGPUs >= 4:
		return 0.95
	case c.MaxGPUs >= 2:
		return 0.80
	}
	return 0.70
}

func (c *Config) distributed() []JobType {
	var out []JobType
	for _, t := range c.Types {
		if t.Distributed {
			out = append(out, t)
		}
	}
	return out
}

// describe returns the settings for the provenance of a table.
func (c *Config) describe() string {
	parts := []string{"preset " + c.Preset, fmt.Sprintf("%d jobs", c.Jobs), "inter-arrival " + c.InterArrival.String()}
	if c.Diurnal > 0 {
		parts = append(parts, fmt.Sprintf("diurnal %g", c.Diurnal))
	}
	if c.MaxDuration > 0 {
		parts = append(parts, "max duration "+c.MaxDuration.String())
	}
	if c.MaxGPUs > 0 {
		parts = append(parts, fmt.Sprintf("max GPUs %d", c.MaxGPUs))
	}
	return strings.Join(parts, ", ")
}
