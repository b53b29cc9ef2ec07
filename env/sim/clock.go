package sim

import (
	"time"

	"github.com/yardmaster/yardmaster/env"
)

// elapse moves the clock to the round start to. On the way it integrates the
// number of jobs in the system, event by event, and takes in the jobs submitted
// until then. It returns the weighted time those spent in the system, in
// seconds.
func (s *Sim) elapse(to time.Duration) float64 {
	at, inSystem := s.state.Now, len(s.state.Jobs)
	before, flow := s.area, 0.0
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
			flow += s.arrive(to)
			inSystem++
		default:
			pass(to)
			s.recent.advance(s.roundIndex(to))
			if to > s.state.Now {
				s.recent.at(s.roundIndex(to) - 1).inSystem += s.area - before
			}
			s.state.Now = to
			return flow
		}
	}
}

// arrive takes in the next job, which joins at the round start to, and returns
// the weighted time until then, in seconds.
func (s *Sim) arrive(to time.Duration) float64 {
	job := &s.ep.jobs[s.next]
	s.state.Jobs = append(s.state.Jobs, env.JobState{
		ID: job.ID, Model: job.Model, Batch: job.Batch, GPUs: job.GPUs, Tenant: job.Tenant,
		Weight: job.Weight, Submit: job.Submit, Deadline: job.Deadline,
		Current: env.Idle, Waiting: to - job.Submit, Strategies: s.ep.strategies[s.next],
	})
	s.active = append(s.active, active{
		job: s.next, idleFrom: job.Submit, since: job.Submit, area: s.area, segment: none, fastest: s.fastest(s.ep.strategies[s.next]),
	})
	i := len(s.state.Jobs) - 1
	s.state.Jobs[i].Remaining = s.remaining(i)
	s.recent.advance(s.roundIndex(job.Submit))
	b := s.recent.at(s.roundIndex(job.Submit))
	b.arrivals++
	b.gpus += job.GPUs
	s.next++
	return job.Weight * (to - job.Submit).Seconds()
}

// retire records the jobs in s.finishes and removes them.
func (s *Sim) retire() {
	if len(s.finishes) == 0 {
		return
	}
	b := s.recent.at(s.roundIndex(s.state.Now) - 1)
	for f := range s.finishes {
		i := s.finishes[f].job
		service := s.state.Jobs[i].Service
		b.completed++
		b.service += service
		b.square += float64(service * service)
		s.finished = append(s.finished, s.record(&s.finishes[f]))
		s.recorder.stop(s, i, s.finishes[f].at, Finished)
		if !s.cfg.FreePlacement {
			s.placement.release(&s.active[i].segment)
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
}

// gone marks a finished job that is still in the active list.
const gone = -1
