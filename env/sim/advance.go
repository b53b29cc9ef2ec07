package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// Outcome is the result of one Advance.
type Outcome struct {
	Reward     float64       // that of Config.Objective, by default −∫ Σ weights of the jobs in the system dt, job-hours
	Elapsed    time.Duration // simulated time that passed, a jump over idle time included
	Terminated bool          // every job left
	Truncated  bool          // Config.MaxRounds was reached
}

// finish is the end of a job within a round.
type finish struct {
	at      time.Duration
	job     int     // index in state.Jobs
	area    float64 // trajectory.area at that time
	outcome metrics.Outcome
}

func finishOrder(a, b finish) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job))
}

// Advance applies a, one entry per job of State, and lets one round pass. If
// the cluster is empty at its end the clock jumps to the first round start at
// or after the next submission. It returns an error that wraps
// env.ErrInvalidAllocation, and changes nothing, where a does not fit the
// state, env.ErrNeedsReset where the episode is over, and another one where the clock
// is past MaxClock.
func (s *Sim) Advance(a env.Allocation) (Outcome, error) {
	if s.Done() {
		return Outcome{}, env.ErrNeedsReset
	}
	if err := s.check(a); err != nil {
		return Outcome{}, err
	}
	if s.state.Now > MaxClock {
		return Outcome{}, fmt.Errorf("sim: %d jobs are left after %.0f years of simulated time, job %d among them: the cluster does their work too slowly, or their policy never runs them; set MaxRounds, or drop them", len(s.state.Jobs), MaxClock.Hours()/24/365, s.state.Jobs[0].ID)
	}
	from, end := s.state.Now, s.state.Now+s.cfg.Round
	s.startJobs(a)
	struck := s.strike(end)
	cost := s.runJobs(a)
	cost.late = s.lateJobs()
	s.owed.add(s.elapse(end))
	cost.add(s.owed)
	s.owed = tally{}
	cost.rho += s.retire()
	if struck {
		s.healed()
	}
	s.decisions++
	cost.add(s.jump())
	s.truncated = !s.terminated && s.decisions == s.cfg.MaxRounds
	s.state.Round++
	s.update()
	return Outcome{
		Reward:     s.cfg.reward(cost),
		Elapsed:    s.state.Now - from,
		Terminated: s.terminated,
		Truncated:  s.truncated,
	}, nil
}

// check is a.Validate(&s.state) without its allocations.
func (s *Sim) check(a env.Allocation) error {
	if len(s.state.Quotas) > 0 {
		return s.checkQuotas(a)
	}
	ok := len(a) == len(s.state.Jobs)
	copy(s.free, s.parts)
	for i := 0; ok && i < len(a); i++ {
		k, strategies := a[i], s.state.Jobs[i].Strategies
		if k == env.Idle {
			continue
		}
		if ok = k >= 0 && k < len(strategies); ok {
			s.free[strategies[k].Type] -= strategies[k].Parts()
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

// checkQuotas is check where there are quotas.
func (s *Sim) checkQuotas(a env.Allocation) error {
	ok := len(a) == len(s.state.Jobs)
	s.budget.Reset(&s.state)
	for i := 0; ok && i < len(a); i++ {
		j := &s.state.Jobs[i]
		if ok = a[i] >= env.Idle && a[i] < len(j.Strategies); ok && a[i] != env.Idle {
			s.budget.Take(j, &j.Strategies[a[i]])
		}
	}
	if ok && !s.budget.Overdrawn() {
		return nil
	}
	return a.Validate(&s.state)
}

// startJobs takes the nodes of the jobs that stop or change their strategy,
// then places the jobs that start on one: those on whole GPUs before those on
// parts of them, large parts before small ones, those with most GPUs first,
// equals in the order of the state.
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
				s.placement.release(&s.active[i].segment, s.active[i].job)
			}
		}
		s.queueStarter(i, k)
	}
	slices.Sort(s.starters)
	for _, key := range s.starters {
		i := int(uint32(key))
		s.startJob(i, a[i])
	}
	if s.recorder != nil { // now, since placing one may have moved another
		for _, key := range s.starters {
			i := int(uint32(key))
			s.recorder.start(s, i, a[i])
		}
	}
	s.interfere()
}

// queueStarter notes that job i starts on its strategy k, if it is one. The
// keys sort by falling parts of a GPU, then by falling GPUs, then by index.
func (s *Sim) queueStarter(i, k int) {
	if k != env.Idle {
		st := &s.state.Jobs[i].Strategies[k]
		order := uint64(max(1, st.Share))<<28 | (1<<28 - 1 - uint64(st.GPUs)) // GPUs < 2^28
		s.starters = append(s.starters, order<<32|uint64(uint32(i)))
	}
}

// track notes what some switches need to know of the progress of job i.
func (s *Sim) track(i int, running time.Duration) {
	if len(s.more) > 0 {
		s.checkpoint(i, s.state.Jobs[i].Done, running)
	}
	if len(s.profiled) > 0 {
		s.profile(i, running)
	}
}

// startJob starts job i on its strategy k, at the cost of a restart.
func (s *Sim) startJob(i, k int) {
	s.placeJob(i, k)
	s.chargeRestart(i, k)
}

// chargeRestart makes job i lose the time of a start on its strategy k. What it
// has done is saved.
func (s *Sim) chargeRestart(i, k int) {
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
	if len(s.more) > 0 {
		s.more[x.job].saved, s.more[x.job].unsaved = j.Done, 0
	}
}

// placeJob gives job i the GPUs of its strategy k, which sets its speed: the
// true one, whatever policies see.
func (s *Sim) placeJob(i, k int) {
	x := &s.active[i]
	st := &s.ep.strategies[x.job][k]
	if s.cfg.FreePlacement {
		x.rate = st.Throughput
		return
	}
	if len(s.more) > 0 {
		s.more[x.job].strategy = int32(k)
	}
	if st.Share > 1 {
		if !s.placeShares(i, k) {
			s.makeRoom(st.Type, 0, i, k)
		}
	} else {
		if s.ep.unit < env.PartsPerGPU && s.freeGPUs(st.Type) < st.GPUs {
			s.makeRoom(st.Type, st.GPUs, i, k)
		}
		x.segment = s.placement.place(s.nodes[st.Type], st.GPUs, s.cfg.Placement)
	}
	s.setRate(i, k)
}

// setRate works out the speed of job i under its strategy k from its nodes: every
// doubling of them beyond those the strategy counts on slows it down.
func (s *Sim) setRate(i, k int) {
	x := &s.active[i]
	st := &s.ep.strategies[x.job][k]
	x.rate = st.Throughput
	if nodes := s.placement.nodesOf(x.segment); nodes > st.Nodes {
		x.rate *= math.Pow(s.cfg.SpreadSlowdown, math.Log2(float64(nodes)/float64(st.Nodes)))
	}
	if st.Share > 1 {
		s.more[x.job].base = x.rate // see interfere
	}
}

// runJobs lets every job run or wait for one round, notes those that leave in
// s.finishes, and returns what the jobs that were there cost by then.
func (s *Sim) runJobs(a env.Allocation) (cost tally) {
	s.finishes = s.finishes[:0]
	now, round := s.state.Now, s.cfg.Round
	end := now + round
	flow, ideal := 0.0, 0.0 // the loop is faster with these than with fields
	seconds := round.Seconds()
	b := s.recent.at(s.roundIndex(now))
	for i, k := range a {
		j, x := &s.state.Jobs[i], &s.active[i]
		j.Current = k
		if k == env.Idle {
			j.Waiting = end - x.idleFrom
			if x.until <= end {
				flow += s.withdraw(i)
				continue
			}
			flow += float64(j.Weight * seconds)
			continue
		}
		st := &j.Strategies[k]
		span := round
		if x.until < end {
			span = x.until - now
		}
		held, steps, finished := s.progress(i, span)
		ideal += float64(j.Weight * steps / x.fastest)
		heldSeconds := seconds
		if held != round {
			heldSeconds = held.Seconds()
		}
		if finished {
			s.finishes = append(s.finishes, finish{at: now + held, job: i, outcome: s.outcome(x.job)})
		} else {
			j.Remaining = s.remaining(i)
		}
		service := st.Held() * heldSeconds
		j.Service += service
		j.Ran += held
		j.Waiting = 0
		x.idleFrom = end
		b.running += heldSeconds
		b.busy += service
		s.busy += service
		s.cost += float64(service * (s.cfg.Cluster.Types[st.Type].PricePerHour / 3600))
		if x.until <= end && !finished {
			cost.add(s.cutShort(i))
			continue
		}
		flow += float64(j.Weight * heldSeconds)
	}
	slices.SortFunc(s.finishes, finishOrder)
	cost.add(tally{flow: flow, ideal: ideal})
	return cost
}

// progress pays restart time, then does steps, for this long, the round or what it
// has of it, or until job i finishes or fails. It returns for how long the job
// held its GPUs, the steps done, and whether it came to its end by itself.
//
// Done is summed with Kahan's compensation, so that its error does not grow
// with the number of rounds; a job is finished when no more of it is left than
// the rounding error of its work, which makes finish times exact to the
// nanosecond for jobs of days.
func (s *Sim) progress(i int, span time.Duration) (held time.Duration, steps float64, finished bool) {
	j, x := &s.state.Jobs[i], &s.active[i]
	paid := min(x.restart, span)
	x.restart -= paid
	running := span - paid
	if running == 0 {
		return span, 0, false
	}
	left := x.goal - j.Done - x.goal*0x1p-50
	steps = float64(x.rate * running.Seconds())
	if left <= steps {
		return paid + min(running, ceilSeconds(left/x.rate)), x.goal - j.Done, true
	}
	if s.tracking {
		s.track(i, running)
	}
	y := steps - x.lost
	done := j.Done + y
	x.lost = (done - j.Done) - y
	j.Done = done
	return span, steps, false
}
