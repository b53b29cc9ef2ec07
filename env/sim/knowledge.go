package sim

import "github.com/yardmaster/yardmaster/env"

// overrun is the share of its finished work that a job that nears or outlives
// its estimate is still expected to do. A job that has outlived a guess is a
// long one, so its expected rest grows with what it has done, as it does under
// the heavy-tailed job lengths of real traces.
const overrun = 0.25

// remaining returns what a state tells of the steps that job i has left.
//
//	oracle:   work − done
//	estimate: max(expected − done, overrun · done), always > 0
//	none:     env.Unknown
func (s *Sim) remaining(i int) float64 {
	done, job := s.state.Jobs[i].Done, s.active[i].job
	switch s.cfg.Knowledge {
	case env.Oracle:
		return s.ep.jobs[job].Work - done
	case env.Estimate:
		return max(s.ep.expected[job]-done, float64(overrun*done))
	}
	return env.Unknown
}
