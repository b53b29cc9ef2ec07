package gavel

// choice is which jobs run on which types. There are three ways to the same
// one: where a type has GPUs for all jobs that may run on it, or every type has
// them for all jobs with a share of it, these run, whatever their order;
// elsewhere queues decide.
type choice struct {
	picks    []pick // in order, type by type
	number   int64  // of choices so far
	changed  bool   // the last choice may no longer be right
	crowded  bool   // some type has too few GPUs for the jobs with a share of it
	waiting  int    // jobs that this choice gave no GPUs yet
	order    []int  // [K], the types as they are filled in this round
	shuffler *mersenne
	queues   []queue // [K]
	scratch  []entry // entries set apart
	spare    []entry // for sorting
}

// pick is a job that was chosen to run on a type.
type pick struct{ job, typ int32 }

func (c *choice) init(s *Sim) {
	c.changed = true
	c.picks = make([]pick, 0, cap(s.running))
	c.order = make([]int, s.k)
	c.queues = make([]queue, s.k)
	c.scratch = make([]entry, 0, len(s.jobs))
	c.spare = make([]entry, 0, len(s.jobs))
	for t := range c.queues {
		c.queues[t].entries = make([]entry, 0, len(s.jobs))
		c.queues[t].slow = make([]int32, 0, len(s.jobs))
	}
	if s.rules.Shuffle {
		c.shuffler = newMersenne(s.cfg.Seed + shufflerSeed)
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
	c.changed = false
	c.waiting = len(s.active)
	for _, t := range c.order {
		switch {
		case c.waiting == 0:
		case s.fits(t):
			s.serveAll(t)
		case c.crowded:
			s.refill(t)
			s.prioritize(t)
			s.serve(t)
		default:
			s.serveShared(t)
		}
	}
	if c.crowded {
		s.arrange()
	}
}

// arrange puts the picks into the order in which they will most likely finish,
// last first.
func (s *Sim) arrange() {
	c := &s.choice
	all := len(c.picks)
	c.picks = c.picks[:0]
	for _, t := range c.order {
		if len(c.picks) == all {
			return
		}
		for _, j := range s.slowest(t) {
			if s.cell(j, t).ran == c.number {
				c.picks = append(c.picks, pick{j, int32(t)})
			}
		}
	}
}

// eligible reports whether job j, if it has no GPUs yet, may run on type t.
func (s *Sim) eligible(j int32, t int) bool {
	c := s.cell(j, t)
	return s.jobs[j].picked != s.choice.number && c.rate > 0 && (c.share > 0 || !s.rules.SharedOnly)
}

// fits reports whether type t has GPUs for all jobs that may run on it.
func (s *Sim) fits(t int) bool {
	left := int32(s.types[t].GPUs)
	for _, j := range s.active {
		if s.eligible(j, t) {
			if left -= s.jobs[j].gpus; left < 0 {
				return false
			}
		}
	}
	return true
}

// serveAll chooses all jobs that may run on type t.
func (s *Sim) serveAll(t int) {
	left := int32(s.types[t].GPUs)
	for _, j := range s.active {
		if s.eligible(j, t) {
			left = s.pick(j, t, left)
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

// serveShared chooses all jobs with a share of type t, and fills what is left,
// by deficit, with those that have none.
func (s *Sim) serveShared(t int) {
	left := int32(s.types[t].GPUs)
	rest := s.choice.scratch[:0]
	for _, j := range s.active {
		switch c := s.cell(j, t); {
		case !s.eligible(j, t):
		case c.share > 0:
			left = s.pick(j, t, left)
		default:
			rest = append(rest, entry{deficit: c.deficit, job: j})
		}
	}
	if left == 0 {
		return
	}
	s.choice.spare = sortEntries(rest, s.choice.spare)
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
	for _, e := range c.queues[t].entries {
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
	c.waiting--
	if job.shared {
		c.picks = append(c.picks, pick{j, int32(t)})
		s.cell(j, t).ran = c.number
	}
	return left - job.gpus
}
