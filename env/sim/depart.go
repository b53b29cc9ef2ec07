package sim

import (
	"github.com/yardmaster/yardmaster/env/metrics"
)

// outcome returns how a job (index in episode.jobs) ends that came to its end by
// itself.
func (s *Sim) outcome(job int) metrics.Outcome {
	if j := &s.ep.jobs[job]; j.Fails > 0 && j.Fails < j.Work {
		return metrics.Failed
	}
	return metrics.Completed
}

// withdraw notes that job i, which waits, is withdrawn in this round, and returns
// the weighted seconds that it was in the system in it.
func (s *Sim) withdraw(i int) float64 {
	at := s.active[i].until
	s.finishes = append(s.finishes, finish{at: at, job: i, outcome: metrics.Cancelled})
	return s.state.Jobs[i].Weight * (at - s.state.Now).Seconds()
}

// cutShort ends the run of job i: it is withdrawn, or a node failed under it. It
// returns what the job cost in the
// round: steps that are lost count against those done.
func (s *Sim) cutShort(i int) (cost tally) {
	j, x := &s.state.Jobs[i], &s.active[i]
	end := s.state.Now + s.cfg.Round
	withdrawn := s.ep.cancels(x.job)
	if x.until < withdrawn { // a node failed
		s.recorder.stop(s, i, x.until, Interrupted)
		x.idleFrom = x.until
		j.Waiting = end - x.until
		cost.ideal -= float64(j.Weight * s.kill(i) / x.fastest)
	}
	if withdrawn > end {
		cost.flow += float64(j.Weight * s.cfg.Round.Seconds())
		return cost
	}
	s.finishes = append(s.finishes, finish{at: withdrawn, job: i, outcome: metrics.Cancelled})
	cost.flow += float64(j.Weight * (withdrawn - s.state.Now).Seconds())
	return cost
}
