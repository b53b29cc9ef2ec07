package sim

import (
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/env"
	"github.com/yardmaster/yardmaster/env/metrics"
)

// jump moves the clock of an empty cluster to the round start at which there are
// jobs again, or ends the episode where none are to come. It returns what the
// jobs submitted until then cost.
func (s *Sim) jump() (cost tally) {
	for len(s.state.Jobs) == 0 {
		if s.next == len(s.ep.jobs) {
			s.terminated = true
			break
		}
		cost.add(s.elapse(s.roundAtOrAfter(s.ep.jobs[s.next].Submit)))
		cost.rho += s.retire() // some may have been withdrawn before they joined
	}
	return cost
}

// elapse moves the clock to the round start to. On the way it integrates the
// number of jobs in the system, event by event, and takes in the jobs submitted
// until then. It returns what those cost.
func (s *Sim) elapse(to time.Duration) (cost tally) {
	at, inSystem := s.state.Now, len(s.state.Jobs)
	before := s.area
	pass := func(event time.Duration) {
		s.area += float64(inSystem) * (event - at).Seconds()
		at = event
	}
	f := 0
	for {
		arrives := s.next < len(s.ep.jobs) && s.ep.jobs[s.next].Submit <= to
		switch {
		case f < len(s.finishes) && (!arrives || s.finishes[f].at <= s.ep.jobs[s.next].Submit):
			pass(s.finishes[f].at)
			s.finishes[f].area = s.area
			inSystem--
			f++
		case arrives:
			pass(s.ep.jobs[s.next].Submit)
			cost.add(s.arrive(to, f))
			inSystem++
		default:
			pass(to)
			s.recent.advance(s.roundIndex(to))
			if to > s.state.Now {
				s.recent.at(s.roundIndex(to) - 1).inSystem += s.area - before
			}
			s.state.Now = to
			return cost
		}
	}
}

// arrive takes in the next job, which joins at the round start to, and returns
// what it costs until then. The first f of s.finishes are over: if it is
// withdrawn before it joins, that is one more of the others.
func (s *Sim) arrive(to time.Duration, f int) tally {
	job := &s.ep.jobs[s.next]
	s.state.Jobs = append(s.state.Jobs, env.JobState{
		ID: job.ID, Model: job.Model, Batch: job.Batch, GPUs: job.GPUs, Tenant: job.Tenant,
		Weight: job.Weight, Submit: job.Submit, Deadline: job.Deadline,
		Current: env.Idle, Waiting: to - job.Submit, Strategies: s.ep.visible(s.next),
	})
	s.active = append(s.active, active{
		job: s.next, goal: s.ep.leaves(s.next), until: s.ep.cancels(s.next),
		idleFrom: job.Submit, since: job.Submit, area: s.area, segment: none, fastest: s.fastest(s.next),
	})
	i := len(s.state.Jobs) - 1
	s.state.Jobs[i].Remaining = s.remaining(i)
	s.recent.advance(s.roundIndex(job.Submit))
	b := s.recent.at(s.roundIndex(job.Submit))
	b.arrivals++
	b.gpus += job.GPUs
	s.next++
	if cancel := s.active[i].until; cancel <= to {
		out := finish{at: cancel, job: i, outcome: metrics.Cancelled}
		n, _ := slices.BinarySearchFunc(s.finishes[f:], out, finishOrder)
		s.finishes = slices.Insert(s.finishes, f+n, out)
		to = cancel
	}
	return tally{
		flow: job.Weight * (to - job.Submit).Seconds(),
		late: s.cfg.late(job.Weight, job.Deadline, job.Submit, to),
	}
}

// retire records the jobs in s.finishes and removes them. It returns what
// unfairness of theirs counts.
func (s *Sim) retire() (rho float64) {
	if len(s.finishes) == 0 {
		return 0
	}
	b := s.recent.at(s.roundIndex(s.state.Now) - 1)
	for f := range s.finishes {
		i := s.finishes[f].job
		if j := &s.state.Jobs[i]; j.Ran > 0 { // one withdrawn while it waited tells nothing of how long jobs are
			b.completed++
			b.service += j.Service
			b.square += float64(j.Service * j.Service)
		}
		s.finished = append(s.finished, s.record(&s.finishes[f]))
		if s.cfg.Objective == FairJCT {
			rho += unfair(&s.finished[len(s.finished)-1])
		}
		if s.recorder != nil {
			s.recorder.stop(s, i, s.finishes[f].at, endReason(s.finishes[f].outcome))
		}
		if !s.cfg.FreePlacement {
			s.placement.release(&s.active[i].segment, s.active[i].job)
		}
		s.active[i].job = gone
	}
	s.finishes = s.finishes[:0]
	kept := 0
	for i := range s.active {
		if s.active[i].job == gone {
			continue
		}
		if kept != i {
			s.active[kept], s.state.Jobs[kept] = s.active[i], s.state.Jobs[i]
		}
		kept++
	}
	s.active, s.state.Jobs = s.active[:kept], s.state.Jobs[:kept]
	return rho
}

// gone marks a finished job that is still in the active list.
const gone = -1
