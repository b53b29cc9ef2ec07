package gavel

import "slices"

// complete accounts for the round that ended.
func (s *Sim) complete() {
	left := false
	for i := range s.running {
		r := &s.running[i]
		j := &s.jobs[r.job]
		took := r.finish - s.roundStart
		if r.steps <= 0 || took <= 0 || r.steps < float64(j.gpus) && j.gpus > 1 {
			left = s.fail(r.job) || left
			continue
		}
		j.failures = 0
		j.done += r.steps
		s.cell(r.job, int(r.typ)).received += took
		s.worked[r.typ] += took
		s.busy += float64(took * float64(j.gpus))
		if j.steps-j.done <= 0 {
			s.jct[r.job] = r.finish - j.arrival
			s.leave(r.job)
			left = true
		}
	}
	s.running = s.running[:0]
	if left {
		s.active = slices.DeleteFunc(s.active, func(j int32) bool { return s.jobs[j].gone })
	}
}

// fail counts a failed round and reports whether the job is given up.
func (s *Sim) fail(j int32) bool {
	s.stale = true
	s.jobs[j].failures++
	if s.jobs[j].failures < maxFailures {
		return false
	}
	s.leave(j)
	return true
}

func (s *Sim) leave(j int32) {
	s.jobs[j].gone = true
	s.departures++
	s.stale, s.choice.changed = true, true
	if int(j) >= s.cfg.Window.First && int(j) < s.cfg.Window.End {
		s.left--
	}
}

func (s *Sim) arrive() {
	for s.next < len(s.jobs) && s.jobs[s.next].arrival <= s.now {
		s.active = append(s.active, int32(s.next))
		s.stale, s.choice.changed = true, true
		s.next++
	}
}

// start begins the round of the chosen jobs.
func (s *Sim) start() {
	s.latest = s.now
	first := 0
	for _, p := range s.choice.picks {
		j, c := &s.jobs[p.job], s.cell(p.job, int(p.typ))
		steps, took := c.fullSteps, c.fullTime
		if rest := j.steps - j.done; rest < steps {
			steps, took = rest, rest/c.rate
		}
		finish := s.now + took
		s.latest = max(s.latest, finish)
		s.running = append(s.running, run{p.job, p.typ, steps, finish})
		if n := len(s.running); s.running[first].typ != p.typ {
			first = n - 1
		}
		if s.choice.crowded {
			sift(s.running[first:])
		}
	}
	s.rounds++
	s.jobRounds += int64(len(s.running))
}

// sift moves the last of runs, which are otherwise sorted, to its place in the
// order in which the original ends them: latest finish first, then by ID. The
// time received by the jobs of a type is summed in that order, and priorities
// depend on how the sum is rounded.
func sift(runs []run) {
	i := len(runs) - 1
	last := runs[i]
	for ; i > 0; i-- {
		if p := &runs[i-1]; p.finish > last.finish || p.finish == last.finish && p.job < last.job {
			break
		}
		runs[i] = runs[i-1]
	}
	runs[i] = last
}
