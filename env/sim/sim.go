package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// Sim is a simulated cluster. It is not safe for concurrent use.
type Sim struct {
	cfg      Config
	capacity []int     // GPUs of each type, [T]
	nodes    [][]int32 // nodes of each type in ascending order, [T][nodes of the type]

	ep *episode // nil before the first Reset
	trajectory
	recorder *recorder // nil: nothing is recorded

	// Scratch memory of Advance.
	free     []int    // [T]
	starters []uint64 // see start
	finishes []finish // jobs that finish in the round, ordered by time
}

// trajectory is everything that changes while an episode runs.
type trajectory struct {
	state     env.State // Jobs holds the active jobs
	active    []active  // [len(state.Jobs)], what states do not tell
	placement placement
	recent    recent
	finished  []metrics.Job // in order of finish

	next      int           // index in episode.jobs of the next job to arrive
	decisions int64         // rounds simulated
	grid      time.Duration // a round start; all others are whole rounds from it
	start     time.Duration // beginning of the simulated span
	area      float64       // ∫ number of jobs in the system dt since start, job-seconds
	owed      float64       // weighted job-seconds from before the first decision, not yet in a reward
	busy      float64       // GPU-seconds
	cost      float64       // US dollars

	terminated, truncated bool
}

// active is what the simulator knows about an active job beyond its JobState.
type active struct {
	job      int           // index in episode.jobs
	lost     float64       // rounding error of JobState.Done, see progress
	rate     float64       // steps/s as placed; meaningful while it runs
	restart  time.Duration // restart time still to pay before it makes progress
	fastest  float64       // steps/s on its fastest candidate
	idleFrom time.Duration // when it last ran, or was submitted
	first    time.Duration // when it first held GPUs
	since    time.Duration // submission, or start of the simulated span if later
	area     float64       // trajectory.area at since
	segment  int32         // first segment of its placement, or none
}

// New returns a simulator that needs a Reset.
func New(cfg Config) (*Sim, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, capacity: cfg.Cluster.Capacity()}
	s.free = make([]int, len(s.capacity))
	s.nodes = make([][]int32, len(s.capacity))
	for i, n := range cfg.Cluster.Nodes {
		s.nodes[n.Type] = append(s.nodes[n.Type], int32(i))
	}
	return s, nil
}

// State returns the state at the current decision point, borrowed until the
// next Advance, Reset, ResetTo or Restore. It has at least one job unless the
// episode is done. Before the first Reset it is the zero State.
func (s *Sim) State() *env.State { return &s.state }

// Done reports whether the episode is over, or none has begun.
func (s *Sim) Done() bool { return s.ep == nil || s.terminated || s.truncated }

// Schedule returns the finished jobs and the totals of the episode so far. The
// span is from the first submission (or the start that ResetTo gave) to the
// last finish, or to now while jobs are left. The caller owns the result.
func (s *Sim) Schedule() metrics.Schedule {
	schedule := metrics.Schedule{
		Jobs:           slices.Clone(s.finished),
		GPUs:           s.cfg.Cluster.GPUs(),
		Start:          s.start,
		End:            s.state.Now,
		BusyGPUSeconds: s.busy,
		Cost:           s.cost,
		Rounds:         s.decisions,
	}
	if s.terminated {
		schedule.End = s.start
		for i := range s.finished {
			schedule.End = max(schedule.End, s.finished[i].Finish)
		}
	}
	slices.SortFunc(schedule.Jobs, func(a, b metrics.Job) int { return cmp.Compare(a.ID, b.ID) })
	return schedule
}

// Remaining appends the true steps left of State().Jobs to dst and returns it.
// It is for searches and tests; policies see State only.
func (s *Sim) Remaining(dst []float64) []float64 {
	for i := range s.active {
		dst = append(dst, s.ep.jobs[s.active[i].job].Work-s.state.Jobs[i].Done)
	}
	return dst
}

// Reset starts the episode with this seed: an empty cluster at the first round
// start at or after the first submission. An error leaves no episode.
func (s *Sim) Reset(seed uint64) error {
	s.ep = nil
	if s.cfg.Workload == nil {
		return errors.New("sim: reset: the config has no Workload, only ResetTo can start an episode")
	}
	jobs, err := s.cfg.Workload(seed)
	if err != nil {
		return fmt.Errorf("sim: reset with seed %d: workload: %w", seed, err)
	}
	if len(jobs) == 0 {
		return fmt.Errorf("sim: reset with seed %d: the workload has no jobs", seed)
	}
	ep := newEpisode(jobs)
	if err := s.prepare(ep, seed); err != nil {
		return fmt.Errorf("sim: reset with seed %d: %w", seed, err)
	}
	s.ep = ep
	first := jobs[0].Submit
	s.begin(first - first%s.cfg.Round)
	s.start = first
	s.recent.reset(s.cfg.windowRounds())
	s.owed = s.elapse(s.roundAtOrAfter(first))
	s.state.Recent = s.recent.summary(s.roundIndex(s.state.Now), s.cfg.Round)
	return nil
}

// begin clears the trajectory: no jobs, idle nodes, the clock at now, which is
// a round start.
func (s *Sim) begin(now time.Duration) {
	t := &s.trajectory
	t.placement.reset(s.cfg.Cluster.Nodes)
	*t = trajectory{
		state: env.State{
			Cluster:   s.cfg.Cluster,
			Now:       now,
			RoundLen:  s.cfg.Round,
			Knowledge: s.cfg.Knowledge,
			Jobs:      t.state.Jobs[:0],
		},
		active:    t.active[:0],
		placement: t.placement,
		recent:    t.recent,
		finished:  t.finished[:0],
		grid:      now,
		start:     now,
	}
	if n := len(s.ep.jobs); cap(t.finished) < n {
		t.finished = make([]metrics.Job, 0, n)
	}
	s.recorder.begin(len(s.ep.jobs))
}

// roundAtOrAfter returns the first round start at or after t.
func (s *Sim) roundAtOrAfter(t time.Duration) time.Duration {
	late := (t - s.grid) % s.cfg.Round
	if late == 0 {
		return t
	}
	return t - late + s.cfg.Round
}

// roundIndex returns the number of the round that t lies in, counted from grid.
func (s *Sim) roundIndex(t time.Duration) int64 {
	return int64((t - s.grid) / s.cfg.Round)
}
