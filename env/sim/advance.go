package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// Outcome is the result of one Advance.
type Outcome struct {
	Reward     float64       // that of Config.Objective, by default −∫ Σ weights of the jobs in the system dt, job-hours
	Elapsed    time.Duration // simulated time that passed, a jump over idle time included
	Terminated bool          // every job finished
	Truncated  bool          // Config.MaxRounds was reached
}

// finish is the end of a job within a round.
type finish struct {
	at   time.Duration
	job  int     // index in state.Jobs
	area float64 // trajectory.area at that time
}

// Advance applies a, one entry per job of State, and lets one round pass. If
// the cluster is empty at its end the clock jumps to the first round start at
// or after the next submission. It returns an error that wraps
// env.ErrInvalidAllocation, and changes nothing, where a does not fit the
// state, and env.ErrNeedsReset where the episode is over.
func (s *Sim) Advance(a env.Allocation) (Outcome, error) {
	if s.Done() {
		return Outcome{}, env.ErrNeedsReset
	}
	if err := s.check(a); err != nil {
		return Outcome{}, err
	}
	from, end := s.state.Now, s.state.Now+s.cfg.Round
	s.startJobs(a)
	flow, ideal := s.runJobs(a)
	flow += s.owed + s.elapse(end)
	s.owed = 0
	s.retire()
	s.decisions++
	if len(s.state.Jobs) == 0 {
		if s.next == len(s.ep.jobs) {
			s.terminated = true
		} else {
			flow += s.elapse(s.roundAtOrAfter(s.ep.jobs[s.next].Submit))
		}
	}
	s.truncated = !s.terminated && s.decisions == s.cfg.MaxRounds
	s.state.Round++
	s.state.Recent = s.recent.summary(s.roundIndex(s.state.Now), s.cfg.Round)
	return Outcome{
		Reward:     s.cfg.Objective.reward(flow, ideal),
		Elapsed:    s.state.Now - from,
		Terminated: s.terminated,
		Truncated:  s.truncated,
	}, nil
}

// check is a.Validate(&s.state) without its allocations.
func (s *Sim) check(a env.Allocation) error {
	ok := len(a) == len(s.state.Jobs)
	copy(s.free, s.capacity)
	for i := 0; ok && i < len(a); i++ {
		k, strategies := a[i], s.state.Jobs[i].Strategies
		if k == env.Idle {
			continue
		}
		if ok = k >= 0 && k < len(strategies); ok {
			s.free[strategies[k].Type] -= strategies[k].GPUs
		}
	}
	for _, n := range s.free {
		ok = ok && n >= 0
	}
	if ok {
		return nil
	}
	return a.Validate(&s.state)
}

// startJobs takes the nodes of the jobs that stop or change their strategy,
// then places the jobs that start on one: those with most GPUs first, equals in
// the order of the state.
func (s *Sim) startJobs(a env.Allocation) {
	s.starters = s.starters[:0]
	for i, k := range a {
		j := &s.state.Jobs[i]
		if k == j.Current {
			continue
		}
		if j.Current != env.Idle {
			s.recorder.stop(s, i, s.state.Now, stopReason(k))
			if !s.cfg.FreePlacement {
				s.placement.release(&s.active[i].segment)
			}
		}
		s.queueStarter(i, k)
	}
	slices.Sort(s.starters)
	for _, key := range s.starters {
		i := int(uint32(key))
		s.startJob(i, a[i])
	}
}

// queueStarter notes that job i starts on its strategy k, if it is one. The
// keys sort by falling GPUs, then by index.
func (s *Sim) queueStarter(i, k int) {
	if k != env.Idle {
		gpus := uint32(s.state.Jobs[i].Strategies[k].GPUs)
		s.starters = append(s.starters, uint64(math.MaxUint32-gpus)<<32|uint64(uint32(i)))
	}
}

// startJob starts job i on its strategy k, at the cost of a restart.
func (s *Sim) startJob(i, k int) {
	s.placeJob(i, k)
	j, x := &s.state.Jobs[i], &s.active[i]
	x.restart = j.Strategies[k].Restart
	if s.cfg.FreeRestarts {
		x.restart = 0
	}
	if j.Ran == 0 {
		x.first = s.state.Now
	} else {
		j.Restarts++
	}
	s.recorder.start(s, i, k)
}

// placeJob gives job i the GPUs of its strategy k, which sets its speed: every
// doubling of the nodes beyond those the strategy counts on slows it down.
func (s *Sim) placeJob(i, k int) {
	x, st := &s.active[i], &s.state.Jobs[i].Strategies[k]
	x.rate = st.Throughput
	if s.cfg.FreePlacement {
		return
	}
	var nodes int
	x.segment, nodes = s.placement.place(s.nodes[st.Type], st.GPUs)
	if nodes > st.Nodes {
		x.rate *= math.Pow(s.cfg.SpreadSlowdown, math.Log2(float64(nodes)/float64(st.Nodes)))
	}
}

// runJobs lets every job run or wait for one round, notes those that finish in
// s.finishes, and returns the weighted time, in seconds, that the active jobs
// spent in the system, and that their fastest candidates would have needed for
// what they got done.
func (s *Sim) runJobs(a env.Allocation) (flow, ideal float64) {
	s.finishes = s.finishes[:0]
	now, round := s.state.Now, s.cfg.Round
	seconds := round.Seconds()
	b := s.recent.at(s.roundIndex(now))
	for i, k := range a {
		j, x := &s.state.Jobs[i], &s.active[i]
		j.Current = k
		if k == env.Idle {
			j.Waiting = now + round - x.idleFrom
			flow += float64(j.Weight * seconds)
			continue
		}
		st := &j.Strategies[k]
		held, steps, finished := s.progress(i)
		ideal += float64(j.Weight * steps / x.fastest)
		heldSeconds := seconds
		if held != round {
			heldSeconds = held.Seconds()
		}
		if finished {
			s.finishes = append(s.finishes, finish{at: now + held, job: i})
		} else {
			j.Remaining = s.remaining(i)
		}
		service := float64(st.GPUs) * heldSeconds
		j.Service += service
		j.Ran += held
		j.Waiting = 0
		x.idleFrom = now + round
		b.running += heldSeconds
		b.busy += service
		s.busy += service
		s.cost += float64(service * (s.cfg.Cluster.Types[st.Type].PricePerHour / 3600))
		flow += float64(j.Weight * heldSeconds)
	}
	slices.SortFunc(s.finishes, func(a, b finish) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
	})
	return flow, ideal
}

// progress pays restart time, then does steps, for one round or until job i
// finishes. It returns for how long the job held its GPUs and the steps done.
//
// Done is summed with Kahan's compensation, so that its error does not grow
// with the number of rounds; a job is finished when no more of it is left than
// the rounding error of its work, which makes finish times exact to the
// nanosecond for jobs of days.
func (s *Sim) progress(i int) (held time.Duration, steps float64, finished bool) {
	j, x := &s.state.Jobs[i], &s.active[i]
	paid := min(x.restart, s.cfg.Round)
	x.restart -= paid
	running := s.cfg.Round - paid
	if running == 0 {
		return s.cfg.Round, 0, false
	}
	work := s.ep.jobs[x.job].Work
	left := work - j.Done - work*0x1p-50
	steps = float64(x.rate * running.Seconds())
	if left <= steps {
		return paid + min(running, ceilSeconds(left/x.rate)), work - j.Done, true
	}
	y := steps - x.lost
	done := j.Done + y
	x.lost = (done - j.Done) - y
	j.Done = done
	return s.cfg.Round, steps, false
}
