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
	capacity []int     // GPUs of each type, nodes out of service included, [T]
	nodes    [][]int32 // nodes of each type in ascending order, [T][nodes of the type]

	ep *episode // nil before the first Reset
	trajectory
	recorder *recorder // nil: nothing is recorded

	// Scratch memory of Advance.
	parts    []int // of GPUs of each type in service, [T]
	free     []int // of them, not allocated, [T]
	budget   env.Budget
	starters []uint64 // see startJobs
	finishes []finish // jobs that leave in the round, ordered by time
}

// trajectory is everything that changes while an episode runs.
type trajectory struct {
	state     env.State // Jobs holds the active jobs
	active    []active  // [len(state.Jobs)], what states do not tell
	more      []more    // [len(episode.jobs)], nil where no switch needs it
	placement placement
	outages   outages
	down      []int // that of state, which is nil where it is empty
	recent    recent
	profiled  []time.Duration // [len(episode.jobs)][T], time of progress on each GPU type; nil without noise
	finished  []metrics.Job   // in order of finish

	next      int           // index in episode.jobs of the next job to arrive
	era       int           // index in episode.eras of the next one
	decisions int64         // rounds simulated
	grid      time.Duration // a round start; all others are whole rounds from it
	start     time.Duration // beginning of the simulated span
	area      float64       // ∫ number of jobs in the system dt since start, job-seconds
	owed      tally         // of before the first decision, not yet in a reward
	busy      float64       // GPU-seconds
	cost      float64       // US dollars

	tracking              bool // more or profiled are used
	terminated, truncated bool
}

// active is what the simulator knows about an active job beyond its JobState.
type active struct {
	job      int           // index in episode.jobs
	goal     float64       // steps after which it leaves
	lost     float64       // rounding error of JobState.Done, see progress
	rate     float64       // steps/s as placed; meaningful while it runs
	until    time.Duration // when it is withdrawn, or a node under it fails in this round
	restart  time.Duration // restart time still to pay before it makes progress
	fastest  float64       // steps/s on its fastest candidate
	idleFrom time.Duration // when it last ran, or was submitted
	first    time.Duration // when it first held GPUs
	since    time.Duration // submission, or start of the simulated span if later
	area     float64       // trajectory.area at since
	segment  int32         // first segment of its placement, or none
}

// more is what some switches need to know about a job.
type more struct {
	base          float64       // steps/s as placed if its GPUs were its own
	saved         float64       // steps at the last checkpoint
	unsaved       time.Duration // progress since then
	strategy      int32         // that its pieces are for
	interruptions int32         // failures of nodes under it
}

// New returns a simulator that needs a Reset.
func New(cfg Config) (*Sim, error) {
	cfg.fillDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Sim{cfg: cfg, capacity: cfg.Cluster.Capacity()}
	s.free = make([]int, len(s.capacity))
	s.parts = make([]int, len(s.capacity))
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

// Remaining appends the true steps left of State().Jobs, until they are done or
// fail, to dst and returns it.
// It is for searches and tests; policies see State only.
func (s *Sim) Remaining(dst []float64) []float64 {
	for i := range s.active {
		dst = append(dst, s.active[i].goal-s.state.Jobs[i].Done)
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
	s.ep.eras = eras(s.state.Now, nil, s.cfg.Quotas)
	s.resetOutages(seed)
	s.owed = s.jump()
	if s.terminated {
		s.ep = nil
		return fmt.Errorf("sim: reset with seed %d: every job is withdrawn before the first decision", seed)
	}
	s.update()
	return nil
}

// update brings what states say of the cluster up to the clock.
func (s *Sim) update() {
	s.updateNodes()
	s.updateQuotas()
	s.state.Recent = s.recent.summary(s.roundIndex(s.state.Now), s.cfg.Round)
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
		more:      t.more[:0],
		profiled:  t.profiled[:0],
		placement: t.placement,
		outages:   t.outages,
		down:      t.down[:0],
		recent:    t.recent,
		finished:  t.finished[:0],
		grid:      now,
		start:     now,
	}
	if n := len(s.ep.jobs); cap(t.finished) < n {
		t.finished = make([]metrics.Job, 0, n)
	}
	n := len(s.ep.jobs)
	t.more, t.profiled = clearTo(t.more, 0), clearTo(t.profiled, 0)
	if s.cfg.Failures.any() || s.ep.unit < env.PartsPerGPU {
		t.more = clearTo(t.more, n)
	}
	if s.cfg.ThroughputSigma > 0 {
		t.profiled = clearTo(t.profiled, n*len(s.capacity))
	}
	t.tracking = len(t.more)+len(t.profiled) > 0
	s.countParts()
	s.recorder.begin(len(s.ep.jobs), now)
}

// clearTo returns a slice of n zeros in the memory of list, if it is enough.
func clearTo[T any](list []T, n int) []T {
	list = slices.Grow(list[:0], n)[:n]
	clear(list)
	return list
}

// countParts counts the parts of GPUs of nodes in service.
func (s *Sim) countParts() {
	for t, gpus := range s.capacity {
		s.parts[t] = gpus * env.PartsPerGPU
	}
	for _, n := range s.state.Down {
		node := s.cfg.Cluster.Nodes[n]
		s.parts[node.Type] -= node.GPUs * env.PartsPerGPU
	}
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
