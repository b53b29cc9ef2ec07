package synth

import (
	"math"
	"time"
)

// ModelVersion is the version of the workload file that [Model.Encode] writes.
// [ReadModel] takes this one.
const ModelVersion = 1

// Model is a generative model of a trace: who submits, when, and what. It is what
// a workload.yaml holds; datasets/synth/README.md documents it with its formulas.
// A Model that [ReadModel] or [FitModel] returned is valid. It is not modified by
// anything here and may be used by many goroutines.
type Model struct {
	Version int        `yaml:"version"`
	Source  Provenance `yaml:"source"`
	Clock   Clock      `yaml:"clock"`
	Streams []Stream   `yaml:"streams"`
}

// Provenance says what a model was made from.
type Provenance struct {
	Title   string `yaml:"title"`                   // what the jobs are and where they come from, or where the figures are from
	Licence string `yaml:"licence,omitempty"`       // of the source
	Table   string `yaml:"table_sha256,omitempty"`  // hash of the rows of the table that was fitted ([datasets.Jobs.Hash])
	File    string `yaml:"source_sha256,omitempty"` // hash of the file that table was imported from
	Epoch   string `yaml:"epoch,omitempty"`         // instant of time 0, RFC 3339; "" where there is none
	Zone    string `yaml:"zone,omitempty"`          // of hours and weekdays, as in a table's metadata
	From    string `yaml:"from,omitempty"`          // window of the fit: RFC 3339, or a duration since the start where there is no epoch
	To      string `yaml:"to,omitempty"`            // end of the window, excluded; where generation starts by default
	Jobs    int    `yaml:"jobs,omitempty"`          // in the window
	// HalfLives, in days: of what was observed of the times of submission, and of
	// sizes and durations. 0 is no forgetting.
	ArrivalsHalfLife float64 `yaml:"arrivals_half_life_days,omitempty"`
	JobsHalfLife     float64 `yaml:"jobs_half_life_days,omitempty"`
}

// Clock says how time passes.
type Clock struct {
	// Resolution is what submissions are rounded to, seconds.
	Resolution float64 `yaml:"resolution_s"`
	// ByHour [24] is the activity of each hour of the day, 1 on average.
	ByHour []float64 `yaml:"by_hour,omitempty"`
	// ByWeekday [7] is the activity of Monday to Sunday, 1 on average; empty
	// where weekdays are not known.
	ByWeekday []float64 `yaml:"by_weekday,omitempty"`
}

// Stream is an independent source of jobs: a tenant, or several small ones.
//
// Its gaps, the times between successive submissions, are a Markov renewal
// process: gaps fall into classes, from short to long, and the class of the next
// one depends on that of the last and on how busy the stream is.
type Stream struct {
	Name string `yaml:"name"`
	// SteadyFor is the part of a gap, seconds, that passes at the same speed at
	// all hours. What a gap is longer than that passes at the speed of the
	// activity of the hour: nights are skipped, a submission every ten minutes
	// by a program is not stretched.
	SteadyFor float64 `yaml:"steady_for_s"`
	// Gaps are the classes.
	Gaps []GapClass `yaml:"gaps"`
	// Busy holds the bounds between levels of activity, seconds, ascending: a
	// stream whose recent gaps had a geometric mean of at most Busy[0] is at
	// level 0, and so on. Recent: each gap counts 0.9 times as much as the next.
	Busy []float64 `yaml:"busy_s,omitempty"`
	// Next [(len(Busy)+1) × len(Gaps)][len(Gaps)] has the weights of the class of
	// the next gap, by level and, within a level, class of the last gap.
	Next [][]float64 `yaml:"next,omitempty"`
	// Kinds are the jobs, with shares that are weights.
	Kinds []Kind `yaml:"kinds"`
}

// GapClass is a class of gaps.
type GapClass struct {
	Seconds Quantiles `yaml:"seconds"`
	// Repeat is the probability that a job after such a gap is one more of the
	// same: of the same kind, and about as long.
	Repeat float64 `yaml:"repeat,omitempty"`
}

// Kind is a kind of job and the distribution of its length.
type Kind struct {
	Share        float64   `yaml:"share"`
	Tenant       string    `yaml:"tenant,omitempty"`
	GPUs         int32     `yaml:"gpus"`
	Model        string    `yaml:"model,omitempty"`
	Batch        int32     `yaml:"batch,omitempty"`
	ReferenceGPU string    `yaml:"reference_gpu,omitempty"`
	Seconds      Quantiles `yaml:"duration_s,omitempty"` // of the duration
	Steps        Quantiles `yaml:"steps,omitempty"`      // instead of a duration, or beside it, at the same quantile
}

const (
	// memory is the weight of the past in how busy a stream is.
	memory = 0.9
	// alike is the correlation of the normal scores of the lengths of a job and
	// of one more of the same: about as long, not equally long.
	alike = 0.95
	// finest is the smallest grain of times, seconds, for logarithms.
	finest = 1e-3
)

// grain is what is added to seconds before a logarithm is taken.
func (c *Clock) grain() float64 { return max(finest, c.Resolution/2) }

// level returns the level of activity at a mean log gap.
func (s *Stream) level(logGap, grain float64) int {
	for i, bound := range s.Busy {
		if logGap <= math.Log(bound+grain) {
			return i
		}
	}
	return len(s.Busy)
}

func seconds(x float64) time.Duration { return time.Duration(math.Round(x * float64(time.Second))) }
