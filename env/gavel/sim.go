package gavel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ErrStalled is returned by Step where nothing runs, nothing will arrive and
// nothing can change: a job has no GPU type it could ever run on.
var ErrStalled = errors.New("gavel: the jobs left cannot run")

// maxFailures is the number of failed rounds in a row after which a job is
// given up (MAX_FAILED_ATTEMPTS of scheduler.py).
const maxFailures = 5

// shufflerSeed is what the original adds to its seed for the order of types.
const shufflerSeed = 5

// Sim is a simulation in progress. It is not safe for concurrent use.
type Sim struct {
	cfg   Config
	rules Rules
	types []GPUType // [K], those with GPUs
	k     int

	jobs   []jobState
	cells  []cell    // [jobs·K], row-major
	jct    []float64 // [jobs] s; NaN until it finishes, and for ever if it is given up
	worked []float64 // [K], s received by all jobs since the last reset, as the original counts it
	active []int32   // the jobs that arrived and have not left, ascending
	next   int       // the next job to arrive
	left   int       // jobs of the window that have not left
	// departures counts the jobs that have left.
	departures int

	now        float64
	roundStart float64
	roundEnd   float64 // of the round before the next; < 0 before the first
	latest     float64 // latest finish of the running jobs
	lastReset  float64
	stale      bool // the shares are out of date

	choice  choice
	running []run
	view    View
	x       []float64 // [N·K], what the policy writes to

	busy              float64 // GPU-seconds
	rounds, jobRounds int64
}

// jobState is what changes of a job, and what is read along with it.
type jobState struct {
	steps, done float64
	arrival     float64 // s
	picked      int64   // the last choice that gave it GPUs
	gpus        int32
	failures    uint8 // failed rounds in a row
	shared      bool  // had a share, if only 0, at the last reset
	gone        bool
}

// cell is a job on a GPU type: 56 bytes, so that it costs one cache line.
type cell struct {
	rate      float64 // steps/s
	fullSteps float64 // steps of a whole round
	fullTime  float64 // s that they take
	share     float64 // of the job's time, as of the last reset
	received  float64 // s since the last reset, and half a round
	deficit   float64 // s owed by earlier resets
	ran       int64   // the last choice in which the job ran here
}

// run is a job in a round.
type run struct {
	job, typ int32
	steps    float64
	finish   float64 // s
}

// New returns a simulation at time 0.
func New(cfg Config) (*Sim, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, rules: cfg.Policy.Rules(), roundEnd: -1, stale: true}
	total := 0
	for _, t := range cfg.Types {
		if t.GPUs > 0 {
			s.types = append(s.types, t)
			total += t.GPUs
		}
	}
	s.k = len(s.types)
	s.left = cfg.Window.End - cfg.Window.First
	s.jct = slices.Repeat([]float64{math.NaN()}, len(cfg.Jobs))
	s.worked = make([]float64, s.k)
	s.active = make([]int32, 0, len(cfg.Jobs))
	s.running = make([]run, 0, min(len(cfg.Jobs), total))
	s.fillJobs()
	s.choice.init(s)
	s.makeView()
	return s, nil
}

func (s *Sim) fillJobs() {
	s.jobs = make([]jobState, len(s.cfg.Jobs))
	s.cells = make([]cell, 0, len(s.cfg.Jobs)*s.k)
	for j := range s.cfg.Jobs {
		job := &s.cfg.Jobs[j]
		s.jobs[j] = jobState{steps: job.Steps, arrival: job.Arrival, gpus: int32(job.GPUs)}
		for t, r := range job.Rates {
			if s.cfg.Types[t].GPUs == 0 {
				continue
			}
			c := cell{rate: r, fullSteps: math.Trunc(r * s.cfg.Round), received: s.cfg.Round / 2}
			if r > 0 {
				c.fullTime = c.fullSteps / r
			}
			s.cells = append(s.cells, c)
		}
	}
}

// byName returns the indices of types in ascending order of their names.
func byName(types []GPUType) []int {
	order := make([]int, len(types))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(types[a].Name, types[b].Name) })
	return order
}

// cell returns job j on type t.
func (s *Sim) cell(j int32, t int) *cell { return &s.cells[int(j)*s.k+t] }

// Step ends the round in progress and starts the next one. It returns false
// once the jobs of the window have left; the simulation then stands still.
func (s *Sim) Step() (bool, error) {
	if s.left == 0 {
		return false, nil
	}
	s.tick()
	s.complete()
	s.arrive()
	if err := s.reset(); err != nil {
		return false, err
	}
	s.choose()
	s.start()
	if len(s.running) == 0 && s.next == len(s.jobs) && s.left > 0 && !s.stale {
		return false, fmt.Errorf("%w: %d of the window, at %v s", ErrStalled, s.left, s.now)
	}
	return true, nil
}

// Run steps to the end.
func (s *Sim) Run() (*Result, error) {
	for {
		more, err := s.Step()
		if err != nil {
			return nil, err
		}
		if !more {
			return s.Result(), nil
		}
	}
}

// tick moves the clock to the end of the round or, where nothing runs, to the
// next arrival.
func (s *Sim) tick() {
	switch {
	case len(s.running) > 0:
		if s.roundEnd >= 0 {
			s.roundStart = s.roundEnd
		}
		s.roundEnd = s.latest
		s.now = s.latest
	case s.next < len(s.jobs):
		s.now = s.jobs[s.next].arrival
	default:
		s.lastReset = 0 // lets shares be asked for at once
	}
}
