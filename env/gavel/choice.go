package gavel

import "slices"

// choice is which jobs run on which types. There are two ways to the same one:
// where every type has GPUs for all jobs with a share of it, they all run,
// whatever their order; elsewhere queues decide.
type choice struct {
	picks    []pick // in order, type by type
	number   int64  // of choices so far
	changed  bool   // the last choice may no longer be right
	crowded  bool   // some type has too few GPUs for the jobs with a share of it
	order    []int  // [K], the types as they are filled in this round
	shuffler *shuffler
	queues   []queue // [K]
	queued   int     // jobs below this one were put into the queues when they arrived
	scratch  []entry
}

// pick is a job that was chosen to run on a type.
type pick struct{ job, typ int32 }

func (c *choice) init(s *Sim) {
	c.changed = true
	c.picks = make([]pick, 0, cap(s.running))
	c.order = make([]int, s.k)
	c.queues = make([]queue, s.k)
	c.scratch = make([]entry, 0, len(s.jobs))
	for t := range c.queues {
		c.queues[t] = make(queue, 0, len(s.jobs))
	}
	if s.rules.Shuffle {
		c.shuffler = newShuffler(s.cfg.Seed + shufflerSeed)
	}
}

// choose makes the choice of the next round, unless the last one stands.
func (s *Sim) choose() {
	c := &s.choice
	for t := range c.order {
		c.order[t] = t
	}
	if c.shuffler != nil {
		c.shuffler.shuffle(c.order)
	}
	if c.changed {
		c.crowded = s.crowded()
	}
	if !c.changed && !c.crowded && c.shuffler == nil {
		return
	}
	c.number++
	c.picks = c.picks[:0]
	if c.changed && c.crowded {
		s.refill()
	}
	c.changed = false
	for _, t := range c.order {
		if c.crowded {
			s.prioritize(t)
			s.serve(t)
		} else {
			s.serveAll(t)
		}
	}
}

// crowded reports whether some type has too few GPUs for all jobs with a share
// of it.
func (s *Sim) crowded() bool {
	for t := range s.types {
		need := 0
		for _, j := range s.active {
			if c := s.cell(j, t); c.share > 0 && c.rate > 0 {
				need += int(s.jobs[j].gpus)
			}
		}
		if need > s.types[t].GPUs {
			return true
		}
	}
	return false
}

// serveAll chooses all jobs with a share of type t, and fills what is left, by
// deficit, with those that have none.
func (s *Sim) serveAll(t int) {
	c := &s.choice
	left := int32(s.types[t].GPUs)
	rest := c.scratch[:0]
	for _, j := range s.active {
		switch cell := s.cell(j, t); {
		case cell.rate == 0 || s.jobs[j].picked == c.number:
		case cell.share > 0:
			left = s.pick(j, t, left)
		case !s.rules.SharedOnly:
			rest = append(rest, entry{job: j})
		}
	}
	if left == 0 || len(rest) == 0 {
		return
	}
	s.sort(rest, t)
	for _, e := range rest {
		if s.jobs[e.job].gpus <= left {
			left = s.pick(e.job, t, left)
		}
	}
}

// serve chooses jobs for type t in the order of its queue.
func (s *Sim) serve(t int) {
	c := &s.choice
	left := int32(s.types[t].GPUs)
	for _, e := range c.queues[t] {
		if left == 0 || s.rules.SharedOnly && e.priority <= 0 {
			return
		}
		if j := &s.jobs[e.job]; j.picked != c.number && j.gpus <= left {
			left = s.pick(e.job, t, left)
		}
	}
}

// pick gives job j its GPUs of type t and returns how many are left. A job that
// arrived since the last reset blocks them without running.
func (s *Sim) pick(j int32, t int, left int32) int32 {
	c, job := &s.choice, &s.jobs[j]
	job.picked = c.number
	if job.shared {
		c.picks = append(c.picks, pick{j, int32(t)})
		s.cell(j, t).ran = c.number
	}
	return left - job.gpus
}

// refill brings the members of the queues up to date: jobs that left go, jobs
// that arrived come.
func (s *Sim) refill() {
	c := &s.choice
	fresh, _ := slices.BinarySearch(s.active, int32(c.queued))
	for t := range c.queues {
		q := slices.DeleteFunc(c.queues[t], func(e entry) bool { return s.jobs[e.job].gone })
		for _, j := range s.active[fresh:] {
			if s.cell(j, t).rate > 0 {
				q = append(q, entry{job: j})
			}
		}
		c.queues[t] = q
	}
	c.queued = s.next
}
