package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Start describes a simulation that begins with a cluster at work: the state of
// a real or simulated cluster and what is to come.
type Start struct {
	// State is where it begins: its clock, jobs and recent window. Its cluster
	// must be that of the Config. It is copied; its strategies are shared.
	State *env.State
	// Remaining holds the true steps left of State.Jobs, all > 0, shape
	// [len(State.Jobs)]. Where they are unknown the caller samples them.
	Remaining []float64
	// Future holds the jobs still to come, ordered by (Submit, ID), not before
	// State.Now. The simulator owns it from then on.
	Future []env.Job
}

// ResetTo starts an episode from the middle. Rounds begin at start.State.Now and
// whole rounds after it; rewards and the schedule's span begin there too, while
// completion times still count from the submission.
//
// What a State does not tell is filled in as follows. Running jobs keep their
// strategies, while there are GPUs in service for them, and are placed anew, as
// tightly as they fit; restarts under way
// are over. Their start in the schedule is State.Now, and they saved all they have
// done. Their throughputs are known. Nodes that are out of service return as
// Config.Failures says at random; otherwise at the end of their Outage, or never
// if the script has none. Quotas hold until Config.Quotas changes them. Where
// Config.Knowledge is
// estimate, jobs keep the estimates that State holds, and the others draw
// theirs from seed. State.Recent is spread evenly over the whole rounds it covers.
//
// An error leaves no episode.
func (s *Sim) ResetTo(seed uint64, start Start) error {
	s.ep = nil
	if err := s.checkStart(start); err != nil {
		return fmt.Errorf("sim: reset to a state: %w", err)
	}
	ep := s.continued(start)
	if err := s.prepare(ep, seed); err != nil {
		return fmt.Errorf("sim: reset to a state: %w", err)
	}
	s.ep = ep
	s.begin(start.State.Now)
	s.state.Round = start.State.Round
	ep.eras = eras(start.State.Now, start.State.Quotas, after(start.State.Now, s.cfg.Quotas))
	s.resetOutages(seed)
	s.resumeNodes(start.State.Down)
	past := s.recent.fill(s.cfg.windowRounds(), &start.State.Recent, s.cfg.Round)
	s.grid -= time.Duration(past) * s.cfg.Round
	for i := range start.State.Jobs {
		s.resume(i, &start.State.Jobs[i])
	}
	s.stopUnplaceable()
	s.placeRunning()
	s.next = len(start.State.Jobs)
	s.owed = s.elapse(s.state.Now)
	s.owed.add(s.jump())
	if s.terminated {
		s.ep = nil
		return errors.New("sim: reset to a state: every job is withdrawn before the first decision")
	}
	s.update()
	return nil
}

func (s *Sim) checkStart(start Start) error {
	if start.State == nil {
		return errors.New("no state")
	}
	if err := start.State.Validate(); err != nil {
		return err
	}
	if start.State.Now > MaxClock {
		return fmt.Errorf("its clock is at %v, want at most %v", start.State.Now, MaxClock)
	}
	c := &start.State.Cluster
	if !slices.Equal(c.Types, s.cfg.Cluster.Types) || !slices.Equal(c.Nodes, s.cfg.Cluster.Nodes) {
		return errors.New("the state's cluster is not that of the config")
	}
	if len(start.Remaining) != len(start.State.Jobs) {
		return fmt.Errorf("true remaining work of %d jobs for %d jobs", len(start.Remaining), len(start.State.Jobs))
	}
	if len(start.State.Jobs)+len(start.Future) == 0 {
		return errors.New("neither jobs nor future jobs")
	}
	for i, x := range start.Remaining {
		if !(x > 0) || math.IsInf(x, 1) {
			return fmt.Errorf("job %d: true remaining work is %v, want finite and > 0", start.State.Jobs[i].ID, x)
		}
	}
	if len(start.Future) > 0 && start.Future[0].Submit < start.State.Now {
		return fmt.Errorf("future job %d is submitted at %v, before now (%v)", start.Future[0].ID, start.Future[0].Submit, start.State.Now)
	}
	running := env.NewAllocation(len(start.State.Jobs))
	for i := range running {
		running[i] = start.State.Jobs[i].Current
	}
	whole := *start.State // what fails or is cut stops jobs at the next decision only
	whole.Down, whole.Quotas = nil, nil
	if err := running.Validate(&whole); err != nil {
		return fmt.Errorf("the jobs that run: %w", err)
	}
	return nil
}

// stopUnplaceable idles the jobs that there are no GPUs in service for, the last
// ones first: their nodes must be among those that are down.
func (s *Sim) stopUnplaceable() {
	if len(s.state.Down) == 0 {
		return
	}
	whole := s.state
	whole.Quotas = nil
	s.budget.Reset(&whole)
	for i := range s.state.Jobs {
		j := &s.state.Jobs[i]
		if j.Current == env.Idle {
			continue
		}
		if st := &j.Strategies[j.Current]; s.budget.Fits(j, st) {
			s.budget.Take(j, st)
		} else {
			j.Current = env.Idle
		}
	}
}

// continued returns the episode of the state's jobs followed by the future
// ones.
func (s *Sim) continued(start Start) *episode {
	n := len(start.State.Jobs)
	jobs := make([]env.Job, n, n+len(start.Future))
	ep := newEpisode(append(jobs, start.Future...))
	ep.begun = n
	known := s.cfg.Knowledge == env.Estimate && start.State.Knowledge != env.None
	if known {
		ep.expected = make([]float64, len(ep.jobs))
	}
	for i := range start.State.Jobs {
		j := &start.State.Jobs[i]
		ep.jobs[i] = env.Job{
			ID: j.ID, Model: j.Model, Batch: j.Batch, GPUs: j.GPUs, Work: j.Done + start.Remaining[i],
			Submit: j.Submit, Deadline: j.Deadline, Tenant: j.Tenant, Weight: j.Weight,
		}
		ep.strategies[i] = j.Strategies
		if known {
			ep.expected[i] = j.Done + j.Remaining
		}
	}
	return ep
}

// resume takes in job i as j describes it.
func (s *Sim) resume(i int, j *env.JobState) {
	now := s.state.Now
	s.state.Jobs = append(s.state.Jobs, *j)
	s.active = append(s.active, active{
		job: i, goal: s.ep.leaves(i), until: s.ep.cancels(i),
		idleFrom: now - j.Waiting, first: now, since: now, segment: none, fastest: s.fastest(i),
	})
	if len(s.more) > 0 {
		s.more[i].saved = j.Done
	}
	s.state.Jobs[i].Remaining = s.remaining(i)
}

// placeRunning places the jobs that run at the start of an episode.
func (s *Sim) placeRunning() {
	s.starters = s.starters[:0]
	for i := range s.state.Jobs {
		s.queueStarter(i, s.state.Jobs[i].Current)
	}
	slices.Sort(s.starters)
	for _, key := range s.starters {
		i := int(uint32(key))
		s.placeJob(i, s.state.Jobs[i].Current)
	}
	for _, key := range s.starters {
		i := int(uint32(key))
		s.active[i].restart = 0 // see makeRoom
		s.recorder.start(s, i, s.state.Jobs[i].Current)
	}
	s.interfere()
}

// after returns the changes later than now.
func after(now time.Duration, changes []QuotaChange) []QuotaChange {
	for i := range changes {
		if changes[i].At > now {
			return changes[i:]
		}
	}
	return nil
}

// resumeNodes takes these nodes out of service at the start of an episode. At
// random they return as late as if they had failed just then: times without
// memory.
func (s *Sim) resumeNodes(down []int) {
	o := &s.outages
	if len(o.nodes) == 0 && len(down) > 0 { // no failures: they stay away
		for range s.cfg.Cluster.Nodes {
			o.nodes = append(o.nodes, nodeOutage{from: never, to: never})
		}
	}
	for _, n := range down {
		x := &o.nodes[n]
		if x.from <= s.state.Now {
			continue
		}
		x.from = s.state.Now
		if s.cfg.Failures.MTBF > 0 {
			x.to = later(s.state.Now, x.draw(s.cfg.Failures.MTTR))
		} else {
			x.to = never
		}
	}
	o.next = s.state.Now // have them looked at
	s.updateNodes()
}
